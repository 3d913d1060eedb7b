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
    int from;  // NumDeltaPocs of the set that it is predicted from; 0 where it is from none
    int delta[32];
    bool used[32];
};

// Scaling lists (7.3.4) by size (4x4 to 32x32) and matrix, in the order of the scan; 32x32 has the matrices 0 and 3.
struct scaling_lists {
    uint8_t list[4][6][64];
    uint8_t dc[2][6];  // of 16x16 and 32x32
};

// What the video usability information says about a picture; 0 or 2 (unspecified) where it says nothing.
struct vui {
    bool is_present;
    int aspect_width, aspect_height;
    bool full_range;
    int video_format, primaries, transfer, matrix;
    uint32_t tick, time_scale;
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
    int pcm_depth[2], log2_min_pcm, log2_max_pcm;
    bool pcm_loop_filter_disabled;
    struct scaling_lists scaling;
    int rps_count;
    struct rps rps[65];
    // Instead of the sets' contents, for who knows only what a decoder's hardware gets: how many bits a set in a slice
    // header has, and how many pictures the current one may refer to.
    bool rps_hidden;
    int hidden_rps_bits, hidden_total;
    int long_term_count;
    int long_term_lsb[32];
    bool long_term_used[32];
    struct vui vui;
};

enum { MAX_TILE_COLUMNS = 20, MAX_TILE_ROWS = 22 };

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
    bool tiles_uniform, across_tiles;
    int tile_columns, tile_rows;
    int tile_widths[MAX_TILE_COLUMNS], tile_heights[MAX_TILE_ROWS];  // in CTBs
    struct scaling_lists scaling;
};

enum { MAX_REFERENCES = 16 };

// pred_weight_table( ) (7.3.6.3), as it is coded.
struct weights {
    int luma_denominator, chroma_delta;
    int luma[2][MAX_REFERENCES], luma_offset[2][MAX_REFERENCES];
    int chroma[2][MAX_REFERENCES][2], chroma_offset[2][MAX_REFERENCES][2];
};

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
    int long_term_poc[MAX_REFERENCES];     // the low bits
    int long_term_cycles[MAX_REFERENCES];  // with long_term_msb, by how many of their cycles it is back
    bool long_term_used[MAX_REFERENCES], long_term_msb[MAX_REFERENCES];
    int total;  // NumPicTotalCurr
    bool temporal_mvp, sao_luma, sao_chroma;
    int active[2];
    bool active_override;
    int list_entries[2][MAX_REFERENCES];
    bool modified[2];
    bool mvd_l1_zero, cabac_init, collocated_l0;
    int collocated_ref;
    int max_merge;
    struct weights weights;
    int qp_delta, cb_offset, cr_offset;
    bool deblocking_disabled, across_slices;
    int beta_offset_div2, tc_offset_div2;
    size_t header_bytes;  // from the NAL unit header to the slice's data, without emulation prevention
};

// What was parsed last, by id.
struct parameter_sets {
    bool any_tool;  // for a decoder: tools that the encoder here lacks are parsed, too, and slices' data may follow their headers
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
bool parse_vui(struct bit_reader *, int sub_layers, struct vui *);
// scaling_list_data( ); the default lists (7.3.4).
void parse_scaling_lists(struct bit_reader *, struct scaling_lists *);
void default_scaling_lists(struct scaling_lists *);
// The slice segment header after its NAL unit header, byte_alignment() included. A dependent one takes what it does not say
// from the slice that is given.
bool parse_slice(struct bit_reader *, const struct parameter_sets *, struct nal_header, struct slice *, char *message);

// The reference lists of a P or B slice (8.3.4) as POCs; false when the set has none.
bool slice_lists(const struct slice *, int poc, int lists[2][MAX_REFERENCES]);

// Append whole NAL units with start codes. Parameter sets are the plain ones of what was parsed: no extension, no reference
// picture sets in the SPS.
void write_vps(struct bytes *, const struct sps *);
void write_sps(struct bytes *, const struct sps *);
void write_pps(struct bytes *, const struct pps *);
// A slice header with its own reference picture set, in RBSP form behind a NAL unit header, byte_alignment() included.
void write_slice(struct bytes *, const struct sps *, const struct pps *, const struct slice *);
// A start code and a NAL unit, escaped. `zeros` continues in what follows of the NAL unit.
void append_nal(struct bytes *, const struct bytes *rbsp, int *zeros);

bool refuse(char *message, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
