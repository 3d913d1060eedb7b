// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_HEADERS_H
#define HWSIM_HEADERS_H

#include "bitstream/bits.h"

// HEVC's parameter sets and slice headers (H.265, 7.3), as far as a 4:2:0 encoder without tiles, scaling lists and
// weighted prediction needs them. Names are the standard's, shortened.

enum {
    NAL_RASL_R = 9,
    NAL_BLA_W_LP = 16,
    NAL_IDR_W_RADL = 19,
    NAL_IDR_N_LP = 20,
    NAL_CRA = 21,
    NAL_IRAP_LAST = 23,
    NAL_VPS = 32,
    NAL_SPS = 33,
    NAL_PPS = 34,
    NAL_AUD = 35,
    NAL_SEI_PREFIX = 39,
    NAL_SEI_SUFFIX = 40,
};

enum { SLICE_B = 0, SLICE_P = 1, SLICE_I = 2 };

struct nal_header {
    int type, layer, temporal_id;
};

// A short-term reference picture set (7.4.8): the negative ones first, each nearest first.
struct rps {
    int negative, positive;
    int delta[32];
    bool used[32];
};

struct sps {
    bool present;
    int id, sub_layers;
    int profile, tier, level;
    int ordering[7][3];  // by sub-layer: max_dec_pic_buffering_minus1, max_num_reorder_pics, max_latency_increase_plus1
    int chroma_format;
    int width, height;
    int crop[4];  // left, right, top, bottom, in chroma samples
    int depth_luma, depth_chroma;
    int log2_poc_lsb;
    int log2_min_cb, log2_ctb, log2_min_tb, log2_max_tb;
    int hierarchy_inter, hierarchy_intra;
    bool scaling_lists, amp, sao, pcm, long_term, temporal_mvp, strong_intra, extension;
    int rps_count;
    struct rps rps[65];
    int long_term_count;
};

struct pps {
    bool present;
    int id, sps_id;
    bool dependent_slices, output_flag_present, sign_hiding, cabac_init_present, constrained_intra, transform_skip;
    int extra_slice_header_bits;
    int default_active[2];  // num_ref_idx_lX_default_active_minus1 + 1
    int init_qp;
    bool cu_qp_delta;
    int cu_qp_delta_depth;
    int cb_offset, cr_offset;
    bool slice_chroma_offsets, weighted, weighted_bi, transquant_bypass, tiles, wavefront;
    bool across_slices, deblocking_override, deblocking_disabled;
    int beta_offset_div2, tc_offset_div2;
    bool scaling_lists, lists_modification, slice_header_extension, extension;
    int log2_merge_level;
};

enum { MAX_REFERENCES = 16 };

struct slice {
    struct nal_header nal;
    bool first, no_output_of_prior, dependent, output;
    int pps_id;
    int address;  // in CTBs
    int type;
    int poc_lsb;
    struct rps rps;
    size_t rps_bits;  // of st_ref_pic_set() when it is in the slice header
    int long_term_count;
    bool temporal_mvp, sao_luma, sao_chroma;
    int active[2];
    bool active_override;
    int list_entries[2][MAX_REFERENCES];
    bool modified[2];
    bool mvd_l1_zero, cabac_init, collocated_l0;
    int collocated_ref;
    int max_merge;
    int qp_delta, cb_offset, cr_offset;
    bool deblocking_disabled, across_slices;
    int beta_offset_div2, tc_offset_div2;
};

// What was parsed last, by id.
struct parameter_sets {
    bool vps[16];
    struct sps sps[16];
    struct pps pps[64];
};

// All of them write a sentence to `message` (of MESSAGE_SIZE bytes) and return false when they refuse.
enum { MESSAGE_SIZE = 256 };

bool parse_nal_header(struct bit_reader *, struct nal_header *, char *message);
bool parse_vps(struct bit_reader *, struct parameter_sets *, char *message);
// Parse, and put into `sets` under its id.
bool parse_sps(struct bit_reader *, struct parameter_sets *, int *id, char *message);
bool parse_pps(struct bit_reader *, struct parameter_sets *, int *id, char *message);
// Skips profile_tier_level( 1, sub_layers - 1 ), keeping the general profile, tier and level.
void parse_profile(struct bit_reader *, int sub_layers, struct sps *);
bool parse_rps(struct bit_reader *, int index, int count, const struct rps *before, struct rps *, char *message);
bool parse_vui(struct bit_reader *, int sub_layers);
// The slice segment header after its NAL unit header, byte_alignment() included.
bool parse_slice(struct bit_reader *, const struct parameter_sets *, struct nal_header, struct slice *, char *message);

// The reference lists of a P or B slice (8.3.4) as POCs; false when the set has none.
bool slice_lists(const struct slice *, int poc, int lists[2][MAX_REFERENCES]);

// Append whole NAL units with start codes. Parameter sets are the plain ones of what was parsed: no VUI, no extension,
// no reference picture sets in the SPS.
void write_vps(struct bytes *, const struct sps *);
void write_sps(struct bytes *, const struct sps *);
void write_pps(struct bytes *, const struct pps *);
// A slice header with its own reference picture set, in RBSP form behind a NAL unit header, byte_alignment() included.
void write_slice(struct bytes *, const struct sps *, const struct pps *, const struct slice *);
// A start code and a NAL unit, escaped. `zeros` continues in what follows of the NAL unit.
void append_nal(struct bytes *, const struct bytes *rbsp, int *zeros);

bool refuse(char *message, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
