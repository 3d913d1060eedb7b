// SPDX-License-Identifier: GPL-2.0-or-later
// The deblocking filter (H.265, 8.7.2) over a whole picture: all vertical edges, then all horizontal ones.
#include <stdlib.h>

#include "coder/coder.h"

static const uint8_t beta_table[52] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24,
    26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64,
};
static const uint8_t tc_table[54] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3,
    3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 11, 13, 14, 16, 18, 20, 22, 24,
};

static int clip(int low, int high, int value) { return value < low ? low : value > high ? high : value; }

// An edge between samples p (before) and q (from `q` on): `across` steps over the edge, `along` along it.
struct edge {
    uint16_t *q;
    ptrdiff_t across, along;
    int beta, tc, most;
};

static int bend(const uint16_t *a, ptrdiff_t step) { return abs(a[2 * step] - 2 * a[step] + a[0]); }

static bool smooth(const struct edge *edge, int line, int bends) {
    const uint16_t *q = edge->q + line * edge->along;
    ptrdiff_t s = edge->across;
    return 2 * bends < edge->beta >> 2 && abs(q[-4 * s] - q[-s]) + abs(q[0] - q[3 * s]) < edge->beta >> 3 &&
           abs(q[-s] - q[0]) < (5 * edge->tc + 1) >> 1;
}

// Four lines of luma (8.7.2.5.3, 8.7.2.5.6 and 8.7.2.5.7).
static void filter_luma(const struct edge *edge) {
    ptrdiff_t s = edge->across;
    uint16_t *q = edge->q, *far = q + 3 * edge->along;
    int p0 = bend(q - s, -s), p3 = bend(far - s, -s), q0 = bend(q, s), q3 = bend(far, s), tc = edge->tc;
    if (p0 + q0 + p3 + q3 >= edge->beta) return;
    bool strong = smooth(edge, 0, p0 + q0) && smooth(edge, 3, p3 + q3);
    int side = (edge->beta + (edge->beta >> 1)) >> 3;
    bool wide_p = p0 + p3 < side, wide_q = q0 + q3 < side;
    for (int line = 0; line < 4; line++, q += edge->along) {
        int P0 = q[-s], P1 = q[-2 * s], P2 = q[-3 * s], P3 = q[-4 * s];
        int Q0 = q[0], Q1 = q[s], Q2 = q[2 * s], Q3 = q[3 * s];
        if (strong) {
            q[-s] = (uint16_t)clip(P0 - 2 * tc, P0 + 2 * tc, (P2 + 2 * P1 + 2 * P0 + 2 * Q0 + Q1 + 4) >> 3);
            q[-2 * s] = (uint16_t)clip(P1 - 2 * tc, P1 + 2 * tc, (P2 + P1 + P0 + Q0 + 2) >> 2);
            q[-3 * s] = (uint16_t)clip(P2 - 2 * tc, P2 + 2 * tc, (2 * P3 + 3 * P2 + P1 + P0 + Q0 + 4) >> 3);
            q[0] = (uint16_t)clip(Q0 - 2 * tc, Q0 + 2 * tc, (P1 + 2 * P0 + 2 * Q0 + 2 * Q1 + Q2 + 4) >> 3);
            q[s] = (uint16_t)clip(Q1 - 2 * tc, Q1 + 2 * tc, (P0 + Q0 + Q1 + Q2 + 2) >> 2);
            q[2 * s] = (uint16_t)clip(Q2 - 2 * tc, Q2 + 2 * tc, (P0 + Q0 + Q1 + 3 * Q2 + 2 * Q3 + 4) >> 3);
            continue;
        }
        int delta = (9 * (Q0 - P0) - 3 * (Q1 - P1) + 8) >> 4;
        if (abs(delta) >= 10 * tc) continue;
        delta = clip(-tc, tc, delta);
        q[-s] = (uint16_t)clip(0, edge->most, P0 + delta);
        q[0] = (uint16_t)clip(0, edge->most, Q0 - delta);
        if (wide_p) {
            int change = clip(-(tc >> 1), tc >> 1, (((P2 + P0 + 1) >> 1) - P1 + delta) >> 1);
            q[-2 * s] = (uint16_t)clip(0, edge->most, P1 + change);
        }
        if (wide_q) {
            int change = clip(-(tc >> 1), tc >> 1, (((Q2 + Q0 + 1) >> 1) - Q1 - delta) >> 1);
            q[s] = (uint16_t)clip(0, edge->most, Q1 + change);
        }
    }
}

// Four lines of a chroma plane (8.7.2.5.8).
static void filter_chroma(const struct edge *edge) {
    ptrdiff_t s = edge->across;
    uint16_t *q = edge->q;
    for (int line = 0; line < 4; line++, q += edge->along) {
        int delta = clip(-edge->tc, edge->tc, (4 * (q[0] - q[-s]) + q[-2 * s] - q[s] + 4) >> 3);
        q[-s] = (uint16_t)clip(0, edge->most, q[-s] + delta);
        q[0] = (uint16_t)clip(0, edge->most, q[0] - delta);
    }
}

static const struct slice_setting *slice_at(const struct coder *coder, int bx, int by) {
    int shift = coder->sps->log2_ctb - 3;
    return &coder->slices[coder->slice_of[(by >> shift) * coder->ctbs_wide + (bx >> shift)]];
}

// Whether inter blocks of the two slices are predicted from different pictures.
static bool other_motion(const struct slice_setting *a, const struct slice_setting *b) {
    if (a == b) return false;
    bool both = a->header.type == SLICE_B;
    if (both != (b->header.type == SLICE_B)) return true;
    const int *x = a->reference_pocs, *y = b->reference_pocs;
    if (!both) return x[0] != y[0];
    return !((x[0] == y[0] && x[1] == y[1]) || (x[0] == y[1] && x[1] == y[0]));
}

// The edge before the 8x8 block at (bx, by).
static void filter_edge(struct coder *coder, int bx, int by, bool vertical) {
    int wide = coder->blocks_wide, extra = coder->depth - 8;
    const struct block *q = &coder->blocks[by * wide + bx], *p = vertical ? q - 1 : q - wide;
    if (!(vertical ? q->left_edge : q->top_edge)) return;
    const struct slice_setting *slice = slice_at(coder, bx, by);
    const struct slice_setting *before = slice_at(coder, vertical ? bx - 1 : bx, vertical ? by : by - 1);
    if (slice->header.deblocking_disabled || (slice != before && !slice->header.across_slices)) return;
    int strength = p->intra || q->intra ? 2 : p->coded || q->coded || other_motion(slice, before) ? 1 : 0;
    if (!strength) return;

    struct edge edge = {.most = (1 << coder->depth) - 1};
    int qp = (p->qp + q->qp + 1) >> 1, stride = coder->reconstruction.strides[0];
    edge.beta = beta_table[clip(0, 51, qp + 2 * slice->header.beta_offset_div2)] << extra;
    edge.tc = tc_table[clip(0, 53, qp + 2 * (strength - 1) + 2 * slice->header.tc_offset_div2)] << extra;
    edge.across = vertical ? 1 : stride;
    edge.along = vertical ? stride : 1;
    edge.q = coder->reconstruction.planes[0] + (ptrdiff_t)by * 8 * stride + bx * 8;
    if (edge.beta) {
        filter_luma(&edge);
        edge.q += 4 * edge.along;
        filter_luma(&edge);
    }
    if (strength < 2 || (vertical ? bx : by) & 1) return;
    stride = coder->reconstruction.strides[1];
    edge.across = vertical ? 1 : stride;
    edge.along = vertical ? stride : 1;
    for (int i = 0; i < 2; i++) {
        int chroma = chroma_qp_of(qp + (i ? coder->pps->cr_offset : coder->pps->cb_offset));
        edge.tc = tc_table[clip(0, 53, chroma + 2 + 2 * slice->header.tc_offset_div2)] << extra;
        edge.q = coder->reconstruction.planes[1 + i] + (ptrdiff_t)by * 4 * stride + bx * 4;
        if (edge.tc) filter_chroma(&edge);
    }
}

void coder_deblock(struct coder *coder) {
    for (int by = 0; by < coder->blocks_high; by++)
        for (int bx = 1; bx < coder->blocks_wide; bx++) filter_edge(coder, bx, by, true);
    for (int by = 1; by < coder->blocks_high; by++)
        for (int bx = 0; bx < coder->blocks_wide; bx++) filter_edge(coder, bx, by, false);
}
