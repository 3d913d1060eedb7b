// SPDX-License-Identifier: GPL-2.0-or-later
//
// Conversion of sample rows between pixel formats, in loops that compilers vectorise.
#ifndef CLIBAV_SAMPLES_H
#define CLIBAV_SAMPLES_H

#include <stdint.h>

/// The memory layout of a sample.
enum clibav_sample {
    CLIBAV_SAMPLE_8 = 0,    ///< one byte
    CLIBAV_SAMPLE_LOW10 = 1, ///< 10 bits at the low end of a little-endian word
    CLIBAV_SAMPLE_HIGH10 = 2 ///< 10 bits at the high end of a little-endian word
};

/// Reads `count` samples `step` samples apart (1 or 2), as 10-bit values if `deep`, else as 8-bit values.
static inline void clibav_load(const void *source, enum clibav_sample kind, int step, int deep, int count, uint16_t *out) {
    if (kind == CLIBAV_SAMPLE_8) {
        const uint8_t *bytes = (const uint8_t *)source;
        const int shift = deep ? 2 : 0;
        if (step == 1)
            for (int i = 0; i < count; i++) out[i] = (uint16_t)(bytes[i] << shift);
        else
            for (int i = 0; i < count; i++) out[i] = (uint16_t)(bytes[2 * i] << shift);
        return;
    }
    const uint16_t *words = (const uint16_t *)source;
    const int shift = kind == CLIBAV_SAMPLE_HIGH10 ? 6 : 0;
    if (step == 1)
        for (int i = 0; i < count; i++) out[i] = (uint16_t)((words[i] >> shift) & 1023);
    else
        for (int i = 0; i < count; i++) out[i] = (uint16_t)((words[2 * i] >> shift) & 1023);
    if (!deep)
        // To the nearest 8-bit value; the highest would round up to 256.
        for (int i = 0; i < count; i++) {
            const unsigned value = (out[i] + 2u) >> 2;
            out[i] = (uint16_t)(value > 255 ? 255 : value);
        }
}

/// Writes `count` samples `step` samples apart (1 or 2): 8-bit values for CLIBAV_SAMPLE_8, else 10-bit values.
static inline void clibav_store(void *target, enum clibav_sample kind, int step, int count, const uint16_t *in) {
    if (kind == CLIBAV_SAMPLE_8) {
        uint8_t *bytes = (uint8_t *)target;
        if (step == 1)
            for (int i = 0; i < count; i++) bytes[i] = (uint8_t)in[i];
        else
            for (int i = 0; i < count; i++) bytes[2 * i] = (uint8_t)in[i];
        return;
    }
    uint16_t *words = (uint16_t *)target;
    const int shift = kind == CLIBAV_SAMPLE_HIGH10 ? 6 : 0;
    if (step == 1)
        for (int i = 0; i < count; i++) words[i] = (uint16_t)(in[i] << shift);
    else
        for (int i = 0; i < count; i++) words[2 * i] = (uint16_t)(in[i] << shift);
}

#endif
