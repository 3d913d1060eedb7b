// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_CODER_H
#define HWSIM_CODER_H

#include "coder/cabac.h"
#include "coder/frame.h"
#include "bitstream/headers.h"

// The encoder proper: slices of one picture to slice data, and the picture they reconstruct. It knows nothing of VA-API.

// What is kept about each 8x8 block of the picture.
struct block {
    uint8_t depth;  // of the coding quadtree
    bool skip, intra, coded;  // coded: part of a luma transform block with coefficients
    bool left_edge, top_edge;  // a transform block begins here
    int8_t qp;  // QpY
};

// What the samples of an 8x8 block say about how to code it.
struct statistics {
    uint32_t sum;       // of luma samples
    uint32_t squares;
    uint32_t error;     // squared differences of luma from the prediction by zero motion
    bool still;         // that prediction is as good as coding the block
};

struct slice_setting {
    struct slice header;
    int qp;         // SliceQpY
    int target_qp;  // what its coding units have, wherever cu_qp_delta can be sent
    int end;        // the CTB behind its last
    const struct frame *references[2];  // entry 0 of each list
    int reference_pocs[2];
};

enum { MAX_SLICES = 600 };

struct coder {
    // Set for each picture.
    const struct sps *sps;
    const struct pps *pps;
    struct frame source, reconstruction;
    struct slice_setting *slices;
    int slice_count;

    // Set by coder_begin.
    int depth, ctbs_wide, ctbs_high, blocks_wide, blocks_high;
    struct block *blocks;
    uint16_t *slice_of;  // of each CTB
    int allocated_blocks, allocated_ctbs;

    // The slice being coded.
    struct slice_setting *slice;
    struct cabac cabac;
    bool uni_prediction;

    // The quantisation group being coded: 8.6.1.
    int group_qp, last_qp;
    bool group_coded;
    int chroma_qp[2];  // Qp′Cb and Qp′Cr of the target QP
    double still_limit[2];  // squared error, luma and chroma, of an 8x8 block below which nothing is coded
    double small_limit;  // and a sample, in blocks that are coded
    double mean_limit;   // what the sum of differences, by the block's side, may be then
    struct statistics statistics[8][8];  // of the CTB

    // The coding unit being coded: its levels, transform block after transform block, and its coded block flags (bit 0
    // luma, 1 Cb, 2 Cr) by depth and place.
    int16_t levels[3][64 * 64];
    uint8_t flags[4][8][8];
};

// Refuses sizes only for want of memory.
bool coder_begin(struct coder *);
// Appends the slice's data, CTB by CTB from its address to its end.
void coder_slice(struct coder *, int index, struct bytes *);
// Once all slices are coded.
void coder_deblock(struct coder *);
void coder_free(struct coder *);

enum cu_mode { CU_INTRA, CU_MERGE, CU_SKIP };

// coder_units.c: a coding unit at luma (x, y).
void code_unit(struct coder *, int x, int y, int log2, enum cu_mode);
bool block_available(const struct coder *, int ctb, int x, int y);

// coder_choice.c: looks at a CTB, and chooses for its blocks.
void look_at_ctb(struct coder *, int x, int y);
// Whether the block should be split; if not, how it should be coded.
bool choose_split(const struct coder *, int x, int y, int log2, enum cu_mode *);

// predict.c
void predict_dc(struct coder *, int component, int x, int y, int log2);
void predict_still(const struct coder *, int component, int x, int y, int size);

// residual.c
void code_residual(struct cabac *, const int16_t *levels, int log2, bool luma, bool sign_hiding, bool transform_skip);

int chroma_qp_of(int index);  // table 8-10, for 4:2:0

#endif
