// SPDX-License-Identifier: MIT
// libdrm for Swift: what the kernel reports about DRM devices and their drivers.
#pragma once
#include <amdgpu_drm.h>
#include <i915_drm.h>
#include <xf86drm.h>
#include <xf86drmMode.h>
