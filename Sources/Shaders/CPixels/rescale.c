// SPDX-License-Identifier: GPL-2.0-or-later
// Rescales a plane's samples to another depth and range where siting and matrix do not change.
#include "CPixels.h"
#include <math.h>
#include <string.h>

static inline int value_at(const hwd_layout *form, const uint8_t *at) {
    if (!form->words) return *at;
    uint16_t word;
    memcpy(&word, at, sizeof word);
    return (word >> form->shift) & 0x3ff;
}

static inline void put(const hwd_layout *form, uint8_t *at, int value) {
    if (!form->words) {
        *at = (uint8_t)value;
        return;
    }
    const uint16_t word = (uint16_t)(value << form->shift);
    memcpy(at, &word, sizeof word);
}

/// The 8x8 Bayer pattern's threshold at a position, 0 … 63.
static int pattern(int x, int y) {
    int value = 0;
    for (int bit = 0; bit < 3; bit++) {
        const int a = x >> bit & 1, b = y >> bit & 1;
        value = value << 2 | (a ^ b) << 1 | b;
    }
    return value;
}

void hwd_rescale(const hwd_rescaling *plan, hwd_plane source, hwd_mutable_plane target) {
    // A table of all codes: one row, or with dithering one for each of the pattern's eight rows.
    enum { codes = 1024 };
    static const int phases = 64;
    uint16_t table[codes];
    const int top = (int)plan->target.top;
    const bool dithers = plan->dithers;
    for (int code = 0; code < codes; code++) {
        const float value = floorf(plan->factor * (float)code + plan->offset + 0.5f);
        table[code] = (uint16_t)(value < 0 ? 0 : value > (float)top ? top : (int)value);
    }
    for (int y = 0; y < plan->height; y++) {
        const uint8_t *from = source.base + (size_t)y * source.stride;
        uint8_t *to = target.base + (size_t)y * target.stride;
        for (int x = 0; x < plan->width; x++, from += plan->source_step, to += plan->target_step) {
            int value = table[value_at(&plan->source, from) & (codes - 1)];
            if (dithers) {
                const float exact = plan->factor * (float)value_at(&plan->source, from) + plan->offset;
                const float up = floorf(exact + ((float)pattern(x, y) + 0.5f) / (float)phases);
                value = up < 0 ? 0 : up > (float)top ? top : (int)up;
            }
            put(&plan->target, to, value);
        }
    }
}
