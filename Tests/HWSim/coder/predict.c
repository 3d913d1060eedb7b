// SPDX-License-Identifier: GPL-2.0-or-later
// The two predictions: intra DC (H.265, 8.4.4.2.5), and the reference pictures' samples at the same place.
#include <string.h>

#include "coder/coder.h"

bool block_available(const struct coder *coder, int ctb, int x, int y) {
    if (x < 0 || y < 0) return false;
    int log2 = coder->sps->log2_ctb, other = (y >> log2) * coder->ctbs_wide + (x >> log2);
    return coder->slice_of[other] == coder->slice_of[ctb];
}

void predict_dc(struct coder *coder, int component, int x, int y, int log2) {
    int size = 1 << log2, scale = component ? 1 : 0, luma_log2 = coder->sps->log2_ctb;
    int stride = coder->reconstruction.strides[component];
    uint16_t *block = coder->reconstruction.planes[component] + (ptrdiff_t)y * stride + x;
    int ctb = ((y << scale) >> luma_log2) * coder->ctbs_wide + ((x << scale) >> luma_log2);
    bool left = block_available(coder, ctb, (x << scale) - 1, y << scale);
    bool top = block_available(coder, ctb, x << scale, (y << scale) - 1);
    uint16_t lefts[32], tops[32];
    // Substitution (8.4.4.2.2). The left side is missing only at the picture's edge when the upper is there, and then
    // nothing below it is there either; when the upper is missing, so is the corner.
    uint16_t grey = (uint16_t)(1 << (coder->depth - 1));
    if (top) memcpy(tops, block - stride, (size_t)size * sizeof *tops);
    if (left)
        for (int i = 0; i < size; i++) lefts[i] = block[i * stride - 1];
    uint16_t left_fill = top ? block[-stride] : grey, top_fill = left ? block[-1] : grey;
    for (int i = 0; i < size && !left; i++) lefts[i] = left_fill;
    for (int i = 0; i < size && !top; i++) tops[i] = top_fill;

    uint32_t sum = (uint32_t)size;
    for (int i = 0; i < size; i++) sum += lefts[i] + (uint32_t)tops[i];
    uint16_t value = (uint16_t)(sum >> (log2 + 1));
    for (int row = 0; row < size; row++)
        for (int i = 0; i < size; i++) block[row * stride + i] = value;
    if (component || size == 32) return;
    block[0] = (uint16_t)((lefts[0] + 2 * value + tops[0] + 2) >> 2);
    for (int i = 1; i < size; i++) {
        block[i] = (uint16_t)((tops[i] + 3 * value + 2) >> 2);
        block[i * stride] = (uint16_t)((lefts[i] + 3 * value + 2) >> 2);
    }
}

void predict_still(const struct coder *coder, int component, int x, int y, int size) {
    const struct frame *first = coder->slice->references[0], *second = coder->slice->references[1];
    int stride = coder->reconstruction.strides[component];
    ptrdiff_t offset = (ptrdiff_t)y * stride + x;
    uint16_t *out = coder->reconstruction.planes[component] + offset;
    const uint16_t *a = first->planes[component] + offset;
    if (coder->uni_prediction) {
        for (int row = 0; row < size; row++)
            memcpy(out + row * stride, a + row * stride, (size_t)size * sizeof *out);
        return;
    }
    const uint16_t *b = second->planes[component] + offset;
    for (int row = 0; row < size; row++)
        for (int i = 0; i < size; i++)
            out[row * stride + i] = (uint16_t)((a[row * stride + i] + b[row * stride + i] + 1) >> 1);
}
