// SPDX-License-Identifier: GPL-2.0-or-later
// Slices and coding quadtrees (H.265, 7.3.8.1 to 7.3.8.4).
#include "coder/coder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int chroma_qp_of(int index) {
    static const uint8_t table[14] = {29, 30, 31, 32, 33, 33, 34, 34, 35, 35, 36, 36, 37, 37};
    return index < 30 ? index : index < 44 ? table[index - 30] : index - 6;
}

bool coder_begin(struct coder *coder) {
    const struct sps *sps = coder->sps;
    int ctb = 1 << sps->log2_ctb;
    coder->depth = sps->depth_luma;
    coder->ctbs_wide = (sps->width + ctb - 1) / ctb;
    coder->ctbs_high = (sps->height + ctb - 1) / ctb;
    coder->blocks_wide = sps->width / 8;
    coder->blocks_high = sps->height / 8;
    int blocks = coder->blocks_wide * coder->blocks_high, ctbs = coder->ctbs_wide * coder->ctbs_high;
    if (!frame_allocate(&coder->source, sps->width, sps->height)) return false;
    if (!frame_allocate(&coder->reconstruction, sps->width, sps->height)) return false;
    if (blocks > coder->allocated_blocks) {
        free(coder->blocks);
        coder->allocated_blocks = 0;
        coder->blocks = malloc((size_t)blocks * sizeof *coder->blocks);
        if (!coder->blocks) return false;
        coder->allocated_blocks = blocks;
    }
    if (ctbs > coder->allocated_ctbs) {
        free(coder->slice_of);
        coder->allocated_ctbs = 0;
        coder->slice_of = malloc((size_t)ctbs * sizeof *coder->slice_of);
        if (!coder->slice_of) return false;
        coder->allocated_ctbs = ctbs;
    }
    memset(coder->blocks, 0, (size_t)blocks * sizeof *coder->blocks);
    for (int i = 0; i < ctbs; i++) coder->slice_of[i] = 0xffff;
    return true;
}

void coder_free(struct coder *coder) {
    frame_free(&coder->source);
    frame_free(&coder->reconstruction);
    free(coder->blocks);
    free(coder->slice_of);
    coder->blocks = NULL;
    coder->slice_of = NULL;
}

// A new quantisation group, and the QP that is expected of it (8.6.1).
static void begin_group(struct coder *coder, int x, int y) {
    const struct block *blocks = coder->blocks;
    int wide = coder->blocks_wide, mask = (1 << coder->sps->log2_ctb) - 1;
    // Left and above count only within the CTB, where everything before is available.
    int left = x & mask ? blocks[y / 8 * wide + (x - 1) / 8].qp : coder->last_qp;
    int top = y & mask ? blocks[(y - 1) / 8 * wide + x / 8].qp : coder->last_qp;
    coder->group_qp = (left + top + 1) >> 1;
    coder->group_coded = false;
}

static void code_quadtree(struct coder *coder, int ctb, int x, int y, int log2, int depth) {
    const struct sps *sps = coder->sps;
    int size = 1 << log2, wide = coder->blocks_wide;
    enum cu_mode mode = CU_INTRA;
    bool split = log2 > sps->log2_min_cb;
    if (coder->pps->cu_qp_delta && log2 >= sps->log2_ctb - coder->pps->cu_qp_delta_depth) begin_group(coder, x, y);
    if (x + size <= sps->width && y + size <= sps->height) {
        bool wanted = choose_split(coder, x, y, log2, &mode);
        if (split) {
            int context = 0;
            if (block_available(coder, ctb, x - 1, y)) context += coder->blocks[y / 8 * wide + x / 8 - 1].depth > depth;
            if (block_available(coder, ctb, x, y - 1)) context += coder->blocks[(y / 8 - 1) * wide + x / 8].depth > depth;
            cabac_encode(&coder->cabac, CONTEXT_SPLIT_CU + context, wanted);
        }
        split = split && wanted;
    }
    if (!split) {
        for (int row = 0; row < size / 8; row++)
            for (int i = 0; i < size / 8; i++) coder->blocks[(y / 8 + row) * wide + x / 8 + i].depth = (uint8_t)depth;
        code_unit(coder, x, y, log2, mode);
        return;
    }
    int half = size / 2;
    for (int i = 0; i < 4; i++) {
        int left = x + (i & 1) * half, top = y + (i >> 1) * half;
        if (left < sps->width && top < sps->height) code_quadtree(coder, ctb, left, top, log2 - 1, depth + 1);
    }
}

// sao(): no CTB has an offset.
static void code_no_offset(struct coder *coder, int ctb) {
    const struct slice *header = &coder->slice->header;
    if (!header->sao_luma && !header->sao_chroma) return;
    int wide = coder->ctbs_wide;
    if (ctb % wide && coder->slice_of[ctb - 1] == coder->slice_of[ctb]) cabac_encode(&coder->cabac, CONTEXT_SAO_MERGE, 0);
    if (ctb >= wide && coder->slice_of[ctb - wide] == coder->slice_of[ctb])
        cabac_encode(&coder->cabac, CONTEXT_SAO_MERGE, 0);
    if (header->sao_luma) cabac_encode(&coder->cabac, CONTEXT_SAO_TYPE, 0);
    if (header->sao_chroma) cabac_encode(&coder->cabac, CONTEXT_SAO_TYPE, 0);
}

void coder_slice(struct coder *coder, int index, struct bytes *bytes) {
    struct slice_setting *slice = &coder->slices[index];
    const struct slice *header = &slice->header;
    coder->slice = slice;
    if (!coder->pps->cu_qp_delta) slice->target_qp = slice->qp;
    coder->group_qp = coder->last_qp = slice->qp;
    coder->group_coded = false;
    coder->uni_prediction = header->type == SLICE_P || slice->references[0] == slice->references[1];
    int offsets[2] = {coder->pps->cb_offset + header->cb_offset, coder->pps->cr_offset + header->cr_offset};
    int extra = 6 * (coder->depth - 8);
    for (int i = 0; i < 2; i++) {
        int qp = slice->target_qp + offsets[i];
        qp = qp < -extra ? -extra : qp > 57 ? 57 : qp;
        coder->chroma_qp[i] = chroma_qp_of(qp) + extra;
    }
    // A sixteenth of the squared quantiser step is about the error that coding leaves.
    double step = exp2((slice->target_qp - 4) / 3.0) * (coder->depth == 10 ? 16 : 1);
    coder->still_limit[0] = 64 * step / 16;
    coder->still_limit[1] = 16 * step / 16;
    coder->small_limit = step / 32;
    // The DC coefficient, in quantiser steps: nothing is seen as easily as a mean that is off.
    coder->mean_limit = 0.5 * sqrt(step);

    int type = header->type == SLICE_I ? 0 : (header->type == SLICE_P) != header->cabac_init ? 1 : 2;
    cabac_start(&coder->cabac, bytes, type, slice->qp);
    for (int ctb = header->address; ctb < slice->end; ctb++) coder->slice_of[ctb] = (uint16_t)index;
    for (int ctb = header->address; ctb < slice->end; ctb++) {
        int x = ctb % coder->ctbs_wide << coder->sps->log2_ctb, y = ctb / coder->ctbs_wide << coder->sps->log2_ctb;
        code_no_offset(coder, ctb);
        look_at_ctb(coder, x, y);
        code_quadtree(coder, ctb, x, y, coder->sps->log2_ctb, 0);
        cabac_terminate(&coder->cabac, ctb + 1 == slice->end);
    }
    cabac_finish(&coder->cabac);
}
