// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_CABAC_H
#define HWSIM_CABAC_H

#include "bitstream/bits.h"

// The context variables of the syntax elements that this encoder writes, in one array.
enum {
    CONTEXT_SAO_MERGE = 0,
    CONTEXT_SAO_TYPE = CONTEXT_SAO_MERGE + 1,
    CONTEXT_SPLIT_CU = CONTEXT_SAO_TYPE + 1,
    CONTEXT_SKIP = CONTEXT_SPLIT_CU + 3,
    CONTEXT_QP_DELTA = CONTEXT_SKIP + 3,
    CONTEXT_PRED_MODE = CONTEXT_QP_DELTA + 2,
    CONTEXT_PART_MODE = CONTEXT_PRED_MODE + 1,
    CONTEXT_INTRA_MPM = CONTEXT_PART_MODE + 1,
    CONTEXT_INTRA_CHROMA = CONTEXT_INTRA_MPM + 1,
    CONTEXT_MERGE = CONTEXT_INTRA_CHROMA + 1,
    CONTEXT_MERGE_INDEX = CONTEXT_MERGE + 1,
    CONTEXT_SPLIT_TRANSFORM = CONTEXT_MERGE_INDEX + 1,
    CONTEXT_CBF_LUMA = CONTEXT_SPLIT_TRANSFORM + 3,
    CONTEXT_CBF_CHROMA = CONTEXT_CBF_LUMA + 2,
    CONTEXT_TRANSFORM_SKIP = CONTEXT_CBF_CHROMA + 4,
    CONTEXT_LAST_X = CONTEXT_TRANSFORM_SKIP + 2,
    CONTEXT_LAST_Y = CONTEXT_LAST_X + 18,
    CONTEXT_SUB_BLOCK = CONTEXT_LAST_Y + 18,
    CONTEXT_SIGNIFICANT = CONTEXT_SUB_BLOCK + 4,
    CONTEXT_GREATER1 = CONTEXT_SIGNIFICANT + 42,
    CONTEXT_GREATER2 = CONTEXT_GREATER1 + 24,
    CONTEXT_COUNT = CONTEXT_GREATER2 + 6,
};

// The initial values (H.265, tables 9-5 to 9-37) for initType 0, 1 and 2.
extern const uint8_t cabac_initial_values[3][CONTEXT_COUNT];

// CABAC's arithmetic encoder (9.3.4) and its contexts: (pStateIdx << 1) | valMps each.
struct cabac {
    struct bytes *bytes;
    uint32_t low, range;
    int free_bits;         // until the next byte leaves `low`
    int held;              // bytes held back because a carry may still change them
    uint8_t held_byte;
    uint8_t contexts[CONTEXT_COUNT];
};

void cabac_start(struct cabac *, struct bytes *, int init_type, int slice_qp);
void cabac_encode(struct cabac *, int context, int bin);
void cabac_bypass(struct cabac *, int bin);
void cabac_bypass_bits(struct cabac *, uint32_t value, int count);  // count <= 32
void cabac_terminate(struct cabac *, int bin);
// After end_of_slice_segment_flag: flushes, and writes the slice's trailing bits.
void cabac_finish(struct cabac *);

#endif
