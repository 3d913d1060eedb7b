// SPDX-License-Identifier: GPL-2.0-or-later
// Commands: Intel's programmer's reference manual, volume 2a, HUC_IMEM_STATE and HUC_DMEM_STATE. The memory of the rate
// control's kernels has the layout of media-driver's CODECHAL_VDENC_HEVC_HUC_BRC_INIT_DMEM_G11, whose first 60 bytes
// are the same on later chips.
#include "i915_firmware.h"

#include <string.h>

#include "journal.h"

enum {
    /// The commands' first words without their lengths.
    IMEM_STATE = 0x7581, DMEM_STATE = 0x7582,
    /// Bytes of the rate control's memory that are read.
    RATE_BYTES = 60,
};

static uint32_t word(const uint8_t *bytes, size_t offset) {
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static unsigned half(const uint8_t *bytes, size_t offset) { return bytes[offset] | bytes[offset + 1] << 8; }

/// Reports the memory of the kernel that starts or resets the rate control.
static void report(uint32_t kernel, const uint8_t *m) {
    journal(
        "{\"brc_init\":{\"kernel\":%u,\"reset\":%u,\"fullness\":%u,\"buffer\":%u,\"target\":%u,\"peak\":%u,\"least\":%u,"
        "\"rate\":[%u,%u],\"mode\":%u,\"width\":%u,\"height\":%u,\"min_qp\":%u,\"max_qp\":%u}}",
        kernel, word(m, 0), word(m, 8), word(m, 12), word(m, 16), word(m, 20), word(m, 24), word(m, 28), word(m, 32),
        m[44] & 0x7f, half(m, 50), half(m, 52), m[58], m[59]);
}

void huc_run(
    const uint32_t *words, size_t count, const void *state,
    const uint8_t *(*memory)(const void *, size_t, uint64_t)) {
    uint32_t kernel = 0;
    for (size_t i = 0; i + 6 <= count; i++) {
        if (words[i] >> 16 == IMEM_STATE && (words[i] & 0xfff) == 3) kernel = words[i + 4] & 0xff;
        if (words[i] >> 16 != DMEM_STATE || (words[i] & 0xfff) != 4) continue;
        const uint8_t *bytes = memory(state, i + 1, RATE_BYTES);
        if (!bytes) {
            journal("{\"huc\":{\"kernel\":%u,\"unreadable\":true}}", kernel);
            continue;
        }
        // Functions 0 and 2 of the rate control are initialization and reset; a frame rate distinguishes it from other kernels.
        uint32_t rate = word(bytes, 28), scale = word(bytes, 32);
        if (word(bytes, 0) <= 2 && rate && scale && half(bytes, 50) && half(bytes, 52)) report(kernel, bytes);
    }
}
