// SPDX-License-Identifier: GPL-2.0-or-later
// The slice segment header: H.265 7.3.6.
#include "decoder/decoder_headers.h"

static int minimum(int a, int b) { return a < b ? a : b; }
static int maximum(int a, int b) { return a > b ? a : b; }

// The number of bits of a u(v) with `values` values: Ceil( Log2( values ) ).
static int index_bits(uint32_t values) { return values < 2 ? 0 : 32 - __builtin_clz(values - 1); }

// One entry of a list's prediction weights, as the buffer has them.
struct weight {
    int luma, luma_offset;
    const int8_t *chroma, *chroma_offset;
};

static struct weight weight(const VASliceParameterBufferHEVC *slice, int list, int index) {
    if (list == 0)
        return (struct weight){slice->delta_luma_weight_l0[index], slice->luma_offset_l0[index],
                               slice->delta_chroma_weight_l0[index], slice->ChromaOffsetL0[index]};
    return (struct weight){slice->delta_luma_weight_l1[index], slice->luma_offset_l1[index],
                           slice->delta_chroma_weight_l1[index], slice->ChromaOffsetL1[index]};
}

// pred_weight_table(), 7.3.6.3. A reference without a flag has no entry, which is what an entry of zeros means.
static void write_weights(struct bit_writer *bits, const VASliceParameterBufferHEVC *slice, int lists) {
    int denominator = slice->luma_log2_weight_denom + slice->delta_chroma_log2_weight_denom;
    write_ue(bits, slice->luma_log2_weight_denom);
    write_se(bits, slice->delta_chroma_log2_weight_denom);
    for (int list = 0; list < lists; list++) {
        int length = decoder_list_length(slice, list);
        for (int i = 0; i < length; i++) {
            struct weight entry = weight(slice, list, i);
            write_bits(bits, 1, entry.luma || entry.luma_offset);
        }
        for (int i = 0; i < length; i++) {
            struct weight entry = weight(slice, list, i);
            const int8_t *weights = entry.chroma, *offsets = entry.chroma_offset;
            write_bits(bits, 1, weights[0] || weights[1] || offsets[0] || offsets[1]);
        }
        for (int i = 0; i < length; i++) {
            struct weight entry = weight(slice, list, i);
            if (entry.luma || entry.luma_offset) {
                write_se(bits, entry.luma);
                write_se(bits, entry.luma_offset);
            }
            const int8_t *weights = entry.chroma, *offsets = entry.chroma_offset;
            if (!(weights[0] || weights[1] || offsets[0] || offsets[1])) continue;
            for (int c = 0; c < 2; c++) {
                // The buffer has ChromaOffset, the stream what (7-56) makes it from. Clipped there, it is here too.
                int prediction = 128 - ((128 * ((1 << denominator) + weights[c])) >> denominator);
                write_se(bits, weights[c]);
                write_se(bits, maximum(-512, minimum(511, offsets[c] - prediction)));
            }
        }
    }
}

// The picture order count, and st_ref_pic_set( 0 ) with the long-term pictures (7.3.7).
static void write_references(
    struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture, const struct decoder_references *references) {
    write_bits(bits, 16, (uint32_t)picture->CurrPic.pic_order_cnt & 0xffff);
    write_bits(bits, 1, 0);
    write_ue(bits, (uint32_t)references->before);
    write_ue(bits, (uint32_t)references->after);
    const struct decoder_reference *next = references->list;
    int last = 0;
    for (int i = 0; i < references->before; i++, next++) {
        write_ue(bits, (uint32_t)(last - next->delta - 1));
        write_bits(bits, 1, next->used);
        last = next->delta;
    }
    last = 0;
    for (int i = 0; i < references->after; i++, next++) {
        write_ue(bits, (uint32_t)(next->delta - last - 1));
        write_bits(bits, 1, next->used);
        last = next->delta;
    }
    write_ue(bits, (uint32_t)references->long_term);
    for (int i = 0; i < references->long_term; i++, next++) {
        write_bits(bits, 16, ((uint32_t)picture->CurrPic.pic_order_cnt + (uint32_t)next->delta) & 0xffff);
        write_bits(bits, 1, next->used);
        write_bits(bits, 1, 0);
    }
}

// What P and B slices have more than I slices.
static void write_inter(
    struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture, const struct decoder_references *references,
    const VASliceParameterBufferHEVC *slice) {
    int lists = decoder_lists(slice->LongSliceFlags.fields.slice_type);
    write_bits(bits, 1, 1);
    for (int list = 0; list < lists; list++)
        write_ue(bits, (uint32_t)decoder_list_length(slice, list) - 1);
    if (references->used > 1)
        for (int list = 0; list < lists; list++) {
            write_bits(bits, 1, 1);
            for (int i = 0; i < decoder_list_length(slice, list); i++) {
                int entry = decoder_references_entry(references, slice, list, i);
                write_bits(bits, index_bits((uint32_t)references->used), (uint32_t)entry);
            }
        }
    if (lists == 2) write_bits(bits, 1, slice->LongSliceFlags.fields.mvd_l1_zero_flag);
    write_bits(bits, 1, slice->LongSliceFlags.fields.cabac_init_flag);
    if (slice->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag) {
        int list = lists == 2 && !slice->LongSliceFlags.fields.collocated_from_l0_flag;
        if (lists == 2) write_bits(bits, 1, !list);
        if (decoder_list_length(slice, list) > 1) write_ue(bits, slice->collocated_ref_idx);
    }
    if (lists == 2 ? picture->pic_fields.bits.weighted_bipred_flag : picture->pic_fields.bits.weighted_pred_flag)
        write_weights(bits, slice, lists);
    write_ue(bits, slice->five_minus_max_num_merge_cand);
}

static void write_independent(
    struct bit_writer *bits, const VAPictureParameterBufferHEVC *picture, const struct decoder_references *references,
    const VASliceParameterBufferHEVC *slice) {
    unsigned luma = slice->LongSliceFlags.fields.slice_sao_luma_flag;
    unsigned chroma = slice->LongSliceFlags.fields.slice_sao_chroma_flag;
    unsigned disabled = slice->LongSliceFlags.fields.slice_deblocking_filter_disabled_flag;
    write_ue(bits, slice->LongSliceFlags.fields.slice_type);
    write_references(bits, picture, references);
    write_bits(bits, 1, slice->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag);
    write_bits(bits, 1, luma);
    write_bits(bits, 1, chroma);
    if (decoder_lists(slice->LongSliceFlags.fields.slice_type)) write_inter(bits, picture, references, slice);
    write_se(bits, slice->slice_qp_delta);
    write_se(bits, slice->slice_cb_qp_offset);
    write_se(bits, slice->slice_cr_qp_offset);
    write_bits(bits, 1, 1);  // deblocking_filter_override_flag
    write_bits(bits, 1, disabled);
    if (!disabled) {
        write_se(bits, slice->slice_beta_offset_div2);
        write_se(bits, slice->slice_tc_offset_div2);
    }
    if (picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag && (luma || chroma || !disabled))
        write_bits(bits, 1, slice->LongSliceFlags.fields.slice_loop_filter_across_slices_enabled_flag);
}

void decoder_write_slice_header(
    struct bit_writer *bits, int type, const VAPictureParameterBufferHEVC *picture,
    const struct decoder_references *references, const VASliceParameterBufferHEVC *slice) {
    unsigned dependent = slice->LongSliceFlags.fields.dependent_slice_segment_flag;
    write_bits(bits, 1, slice->slice_segment_address == 0);
    if (type == NAL_BLA_N_LP) write_bits(bits, 1, 0);  // no_output_of_prior_pics_flag
    write_ue(bits, 0);
    if (slice->slice_segment_address != 0) {
        write_bits(bits, 1, dependent);
        write_bits(bits, index_bits(decoder_picture_blocks(picture)), slice->slice_segment_address);
    }
    if (!dependent) write_independent(bits, picture, references, slice);
    // One thread reads the substreams of tiles and rows one after the other and needs no entry points.
    if (picture->pic_fields.bits.tiles_enabled_flag || picture->pic_fields.bits.entropy_coding_sync_enabled_flag)
        write_ue(bits, 0);
    write_trailing_bits(bits);
}
