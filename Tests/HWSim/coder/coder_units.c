// SPDX-License-Identifier: GPL-2.0-or-later
// Coding units and their transform trees (H.265, 7.3.8.5 to 7.3.8.10): first reconstructed, then written, because the
// syntax signals coefficients before it codes them.
#include <stdlib.h>
#include <string.h>

#include "coder/clones.h"
#include "coder/coder.h"
#include "coder/transform.h"

enum { FLAG_LUMA = 1, FLAG_CHROMA = 2 };  // FLAG_CHROMA << 1 is Cr's

struct unit {
    int x, y, log2;
    bool intra;
    size_t written[3];  // levels so far, while reconstructing and again while writing
};

static uint8_t *flags_at(struct coder *coder, const struct unit *unit, int x, int y, int depth) {
    return &coder->flags[depth][(y - unit->y) / 8][(x - unit->x) / 8];
}

// The difference of a block from its prediction; also its sum, and the sum of its squares.
CLONES static uint32_t subtract(
    const uint16_t *in, const uint16_t *out, int stride, int16_t *residual, int size, int32_t *sum) {
    uint32_t squares = 0;
    int32_t all = 0;
    for (int row = 0; row < size; row++)
        for (int i = 0; i < size; i++) {
            int32_t difference = in[row * stride + i] - out[row * stride + i];
            residual[row * size + i] = (int16_t)difference;
            squares += (uint32_t)(difference * difference);
            all += difference;
        }
    *sum = all;
    return squares;
}

CLONES static void add(uint16_t *out, int stride, const int16_t *residual, int size, int most) {
    for (int row = 0; row < size; row++)
        for (int i = 0; i < size; i++) {
            int32_t value = out[row * stride + i] + residual[row * size + i];
            out[row * stride + i] = (uint16_t)(value < 0 ? 0 : value > most ? most : value);
        }
}

// Predicts a transform block, codes what is left, and reconstructs it. Returns whether it has levels.
static bool reconstruct_block(struct coder *coder, struct unit *unit, int component, int x, int y, int log2) {
    int size = 1 << log2, stride = coder->reconstruction.strides[component];
    int16_t residual[MAX_TRANSFORM], coefficients[MAX_TRANSFORM];
    int16_t *levels = coder->levels[component] + unit->written[component];
    unit->written[component] += (size_t)size * (size_t)size;
    if (unit->intra) predict_dc(coder, component, x, y, log2);
    else predict_still(coder, component, x, y, size);

    const uint16_t *in = coder->source.planes[component] + (ptrdiff_t)y * stride + x;
    uint16_t *out = coder->reconstruction.planes[component] + (ptrdiff_t)y * stride + x;
    // A difference that small is about what coding would leave of any.
    int32_t sum;
    uint32_t squares = subtract(in, out, stride, residual, size, &sum);
    if (squares <= coder->small_limit * size * size && abs(sum) <= coder->mean_limit * size) return false;
    struct quantiser quantiser = {
        .qp = component ? coder->chroma_qp[component - 1] : coder->slice->target_qp + 6 * (coder->depth - 8),
        .depth = coder->depth,
        .intra = unit->intra,
        .sign_hiding = coder->pps->sign_hiding,
    };
    transform_forward(residual, coefficients, log2, coder->depth);
    if (!quantise(&quantiser, coefficients, levels, log2)) return false;

    int columns, rows;
    dequantise(&quantiser, levels, coefficients, log2, &columns, &rows);
    transform_inverse(coefficients, residual, log2, coder->depth, columns, rows);
    add(out, stride, residual, size, (1 << coder->depth) - 1);
    return true;
}

// The tree is as deep as the largest transform asks, and no deeper.
static uint8_t reconstruct_tree(struct coder *coder, struct unit *unit, int x, int y, int log2, int depth) {
    uint8_t flags = 0;
    if (log2 > coder->sps->log2_max_tb) {
        int half = 1 << (log2 - 1);
        for (int i = 0; i < 4; i++)
            flags |= reconstruct_tree(coder, unit, x + (i & 1) * half, y + (i >> 1) * half, log2 - 1, depth + 1);
    } else {
        if (reconstruct_block(coder, unit, 0, x, y, log2)) flags |= FLAG_LUMA;
        for (int i = 0; i < 2; i++)
            if (reconstruct_block(coder, unit, 1 + i, x / 2, y / 2, log2 - 1)) flags |= (uint8_t)(FLAG_CHROMA << i);
        int size = 1 << (log2 - 3), wide = coder->blocks_wide;
        struct block *corner = &coder->blocks[y / 8 * wide + x / 8];
        for (int i = 0; i < size; i++) {
            corner[i].top_edge = true;
            corner[i * wide].left_edge = true;
            for (int row = 0; row < size; row++) corner[row * wide + i].coded = flags & FLAG_LUMA;
        }
    }
    *flags_at(coder, unit, x, y, depth) = flags;
    return flags;
}

static void write_qp_delta(struct coder *coder) {
    int delta = coder->slice->target_qp - coder->group_qp, magnitude = abs(delta);
    struct cabac *cabac = &coder->cabac;
    for (int i = 0; i < (magnitude < 5 ? magnitude : 5); i++) cabac_encode(cabac, CONTEXT_QP_DELTA + (i > 0), 1);
    if (magnitude < 5) {
        cabac_encode(cabac, CONTEXT_QP_DELTA + (magnitude > 0), 0);
    } else {  // EG0
        int rest = magnitude - 5, length = 0;
        for (; rest >= 1 << length; length++) {
            cabac_bypass(cabac, 1);
            rest -= 1 << length;
        }
        cabac_bypass(cabac, 0);
        cabac_bypass_bits(cabac, (uint32_t)rest, length);
    }
    if (magnitude) cabac_bypass(cabac, delta < 0);
    coder->group_coded = true;
}

static void write_tree(
    struct coder *coder, struct unit *unit, int x, int y, int log2, int depth, uint8_t parent) {
    const struct sps *sps = coder->sps;
    struct cabac *cabac = &coder->cabac;
    bool split = log2 > sps->log2_max_tb;
    int most = unit->intra ? sps->hierarchy_intra : sps->hierarchy_inter;
    if (!split && log2 > sps->log2_min_tb && depth < most) cabac_encode(cabac, CONTEXT_SPLIT_TRANSFORM + 5 - log2, 0);
    uint8_t flags = *flags_at(coder, unit, x, y, depth);
    for (int i = 0; i < 2; i++)
        if (parent & FLAG_CHROMA << i) cabac_encode(cabac, CONTEXT_CBF_CHROMA + depth, (flags & FLAG_CHROMA << i) != 0);
    if (split) {
        int half = 1 << (log2 - 1);
        for (int i = 0; i < 4; i++)
            write_tree(coder, unit, x + (i & 1) * half, y + (i >> 1) * half, log2 - 1, depth + 1, flags);
        return;
    }
    if (unit->intra || depth || flags & ~FLAG_LUMA)
        cabac_encode(cabac, CONTEXT_CBF_LUMA + !depth, flags & FLAG_LUMA);
    if (flags && coder->pps->cu_qp_delta && !coder->group_coded) write_qp_delta(coder);
    for (int component = 0; component < 3; component++) {
        int block_log2 = component ? log2 - 1 : log2;
        if (flags & (component ? FLAG_CHROMA << (component - 1) : FLAG_LUMA))
            code_residual(cabac, coder->levels[component] + unit->written[component], block_log2, !component,
                coder->pps->sign_hiding, coder->pps->transform_skip);
        unit->written[component] += (size_t)1 << (2 * block_log2);
    }
}

static void write_skip_flag(struct coder *coder, int x, int y, bool skip) {
    const struct block *block = &coder->blocks[y / 8 * coder->blocks_wide + x / 8];
    int log2 = coder->sps->log2_ctb, ctb = (y >> log2) * coder->ctbs_wide + (x >> log2), context = 0;
    if (block_available(coder, ctb, x - 1, y)) context += block[-1].skip;
    if (block_available(coder, ctb, x, y - 1)) context += block[-coder->blocks_wide].skip;
    cabac_encode(&coder->cabac, CONTEXT_SKIP + context, skip);
}

static void write_unit(struct coder *coder, struct unit *unit, enum cu_mode mode) {
    struct cabac *cabac = &coder->cabac;
    bool inter_slice = coder->slice->header.type != SLICE_I;
    if (inter_slice) write_skip_flag(coder, unit->x, unit->y, mode == CU_SKIP);
    if (mode != CU_SKIP) {
        if (inter_slice) cabac_encode(cabac, CONTEXT_PRED_MODE, mode == CU_INTRA);
        if (mode == CU_MERGE || unit->log2 == coder->sps->log2_min_cb) cabac_encode(cabac, CONTEXT_PART_MODE, 1);
    }
    if (mode == CU_INTRA) {
        // With nothing but DC around, the most probable modes are planar, DC, vertical: DC is the second.
        cabac_encode(cabac, CONTEXT_INTRA_MPM, 1);
        cabac_bypass(cabac, 1);
        cabac_bypass(cabac, 0);
        cabac_encode(cabac, CONTEXT_INTRA_CHROMA, 0);
    } else {
        // All there is to merge with has no motion and the first references, and so have the candidates that stand in
        // where there is nothing: the first will always do.
        if (mode == CU_MERGE) cabac_encode(cabac, CONTEXT_MERGE, 1);
        if (coder->slice->header.max_merge > 1) cabac_encode(cabac, CONTEXT_MERGE_INDEX, 0);
    }
    if (mode == CU_SKIP) return;
    memset(unit->written, 0, sizeof unit->written);
    write_tree(coder, unit, unit->x, unit->y, unit->log2, 0, 2 * FLAG_CHROMA | FLAG_CHROMA);
}

void code_unit(struct coder *coder, int x, int y, int log2, enum cu_mode mode) {
    struct unit unit = {.x = x, .y = y, .log2 = log2, .intra = mode == CU_INTRA};
    uint8_t flags = 0;
    int size = 1 << (log2 - 3), wide = coder->blocks_wide;
    struct block *corner = &coder->blocks[y / 8 * wide + x / 8];
    if (mode == CU_SKIP) {
        for (int component = 0; component < 3; component++) {
            int shift = component ? 1 : 0;
            predict_still(coder, component, x >> shift, y >> shift, 8 * size >> shift);
        }
        for (int i = 0; i < size; i++) corner[i].top_edge = corner[i * wide].left_edge = true;
    } else {
        flags = reconstruct_tree(coder, &unit, x, y, log2, 0);
        // A merged unit without coefficients has no way to say so, but being skipped.
        if (mode == CU_MERGE && !flags) mode = CU_SKIP;
    }
    write_unit(coder, &unit, mode);
    int qp = coder->group_coded ? coder->slice->target_qp : coder->group_qp;
    for (int row = 0; row < size; row++)
        for (int i = 0; i < size; i++) {
            struct block *block = &corner[row * wide + i];
            block->skip = mode == CU_SKIP;
            block->intra = mode == CU_INTRA;
            block->qp = (int8_t)qp;
        }
    coder->last_qp = qp;
}
