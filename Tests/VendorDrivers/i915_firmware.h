// SPDX-License-Identifier: GPL-2.0-or-later
// Intel's HuC firmware: reports the memory that a batch hands to it.
#ifndef HWD_VENDOR_I915_FIRMWARE_H
#define HWD_VENDOR_I915_FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

/// Reads one batch of commands.
///
/// `memory` returns the bytes at the address that words `index` and `index + 1` of the batch hold, of which `size`
/// must exist, or null.
__attribute__((visibility("hidden"))) void huc_run(
    const uint32_t *words, size_t count, const void *state,
    const uint8_t *(*memory)(const void *state, size_t index, uint64_t size));

#endif
