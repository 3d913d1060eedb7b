// SPDX-License-Identifier: GPL-2.0-or-later
// The simulated memory of a GPU as its firmware sees it.
#ifndef HWD_VENDOR_MEMORY_H
#define HWD_VENDOR_MEMORY_H

#include <stdint.h>

struct shim_bo;

/// The bytes of a buffer; null without a buffer or if its memory cannot be mapped.
__attribute__((visibility("hidden"))) uint8_t *memory_of(const struct shim_bo *buffer);

/// Looks a handle up without keeping a reference.
__attribute__((visibility("hidden"))) struct shim_bo *buffer_of(int file, uint32_t handle);

#endif
