// SPDX-License-Identifier: GPL-2.0-or-later
// libva for Swift: the headers of the DRM back end, and what Swift cannot import from them.
#pragma once
#include <stddef.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_str.h>

/// `VA_ATTRIB_NOT_SUPPORTED`, whose value Swift would import as a signed one where it fits.
static inline uint32_t hwd_va_not_supported(void) { return VA_ATTRIB_NOT_SUPPORTED; }
