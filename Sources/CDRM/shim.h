// SPDX-License-Identifier: GPL-2.0-or-later
// libdrm for Swift: what the kernel reports about DRM devices and their drivers.
#pragma once
#include <xf86drm.h>
#include <xf86drmMode.h>
