// SPDX-License-Identifier: GPL-2.0-or-later
// libnvcuvid.so.1: the parser of HEVC byte streams, which calls its client with what to decode where, and with what to show when.
// A packet ends where a NAL unit ends.
#include "nvidia/parser.h"

#include <stdlib.h>
#include <string.h>

enum { NAL_RADL_N = 6, NAL_RADL_R = 7, NAL_RASL_N = 8, NAL_EOS = 36, NAL_EOB = 37 };

static bool is_irap(int type) { return type >= NAL_BLA_W_LP && type <= NAL_IRAP_LAST; }
static bool is_idr(int type) { return type == NAL_IDR_W_RADL || type == NAL_IDR_N_LP; }

static bool is_same_format(const struct sps *a, const struct sps *b) {
    return a->width == b->width && a->height == b->height && !memcmp(a->crop, b->crop, sizeof a->crop) &&
           a->depth_luma == b->depth_luma && !memcmp(&a->vui, &b->vui, sizeof a->vui) &&
           !memcmp(a->ordering[a->sub_layers - 1], b->ordering[b->sub_layers - 1], sizeof a->ordering[0]);
}

// --- The client

static bool announce(struct stream_parser *parser) {
    const struct sps *sps = &parser->active;
    const struct vui *vui = &sps->vui;
    CUVIDEOFORMAT format = {
        .codec = cudaVideoCodec_HEVC,
        .frame_rate = {vui->time_scale, vui->tick},
        .progressive_sequence = 1,
        .bit_depth_luma_minus8 = (unsigned char)(sps->depth_luma - 8),
        .bit_depth_chroma_minus8 = (unsigned char)(sps->depth_chroma - 8),
        .min_num_decode_surfaces = (unsigned char)(sps->ordering[sps->sub_layers - 1][0] + 4),
        .coded_width = (unsigned)sps->width,
        .coded_height = (unsigned)sps->height,
        .display_area = {2 * sps->crop[0], 2 * sps->crop[2], sps->width - 2 * sps->crop[1], sps->height - 2 * sps->crop[3]},
        .chroma_format = cudaVideoChromaFormat_420,
    };
    format.display_aspect_ratio.x = format.display_area.right - format.display_area.left;
    format.display_aspect_ratio.y = format.display_area.bottom - format.display_area.top;
    if (vui->aspect_width && vui->aspect_height) {
        format.display_aspect_ratio.x *= vui->aspect_width;
        format.display_aspect_ratio.y *= vui->aspect_height;
    }
    format.video_signal_description.video_format = (unsigned char)(vui->video_format & 7);
    format.video_signal_description.video_full_range_flag = vui->full_range;
    format.video_signal_description.color_primaries = (unsigned char)vui->primaries;
    format.video_signal_description.transfer_characteristics = (unsigned char)vui->transfer;
    format.video_signal_description.matrix_coefficients = (unsigned char)vui->matrix;
    int answer = parser->parameters.pfnSequenceCallback(parser->parameters.pUserData, &format);
    if (answer > 1) parser->surface_count = answer > MOST_SURFACES ? MOST_SURFACES : (unsigned)answer;
    return answer > 0;
}

// Hands over the picture whose slices are complete.
static void finish_picture(struct stream_parser *parser) {
    struct collected *picture = &parser->picture;
    if (!picture->is_open) return;
    picture->is_open = false;
    CUVIDPICPARAMS parameters;
    parser_fill(parser, &parameters);
    if (!parser->parameters.pfnDecodePicture(parser->parameters.pUserData, &parameters)) parser->failed = true;
    else order_end(parser);
}

// --- Pictures

static int count_order(struct stream_parser *parser, const struct slice *slice) {
    if (is_idr(slice->nal.type)) return 0;
    int cycle = 1 << parser->active.log2_poc_lsb, before = parser->previous_poc & (cycle - 1);
    int high = parser->previous_poc - before;
    if (is_irap(slice->nal.type) && parser->skips_rasl) high = 0;
    else if (slice->poc_lsb < before && before - slice->poc_lsb >= cycle / 2) high += cycle;
    else if (slice->poc_lsb > before && slice->poc_lsb - before > cycle / 2) high -= cycle;
    return high + slice->poc_lsb;
}

// The first slice of a picture. Pictures that cannot be decoded from here on are left out.
static void begin_picture(struct stream_parser *parser, const struct slice *slice, CUvideotimestamp timestamp) {
    struct collected *picture = &parser->picture;
    const struct sps *sps = &parser->sets.sps[parser->sets.pps[slice->pps_id].sps_id];
    int type = slice->nal.type;
    if (is_irap(type)) {
        parser->skips_rasl = type != NAL_CRA || parser->begins;
        parser->has_irap = true;
    }
    if (!parser->has_irap || ((type == NAL_RASL_N || type == NAL_RASL_R) && parser->skips_rasl)) return;
    bool is_new = !parser->has_active || !is_same_format(&parser->active, sps);
    if (is_new) order_show_all(parser);
    parser->active = *sps;
    parser->has_active = true;
    if (is_new && !announce(parser)) {
        parser->has_active = false;
        parser->failed = true;
        return;
    }
    picture->nal = slice->nal;
    picture->slice = *slice;
    picture->timestamp = timestamp;
    picture->data.count = picture->count = 0;
    picture->poc = count_order(parser, slice);
    order_begin(parser);
    parser->begins = false;
    picture->surface = order_slot(parser);
    if (picture->surface < 0) {
        log_fault("the parser: %u surfaces do not suffice", parser->surface_count);
        parser->failed = true;
        return;
    }
    picture->is_open = true;
    bool is_leading = type >= NAL_RADL_N && type <= NAL_RASL_R, is_discardable = type < NAL_BLA_W_LP && !(type & 1);
    if (!slice->nal.temporal_id && !is_leading && !is_discardable) parser->previous_poc = picture->poc;
}

static void take_slice(struct stream_parser *parser, struct bit_reader *reader, struct nal_header nal, const uint8_t *data, size_t size,
    CUvideotimestamp timestamp) {
    static const uint8_t start_code[3] = {0, 0, 1};
    char message[MESSAGE_SIZE] = "";
    struct collected *picture = &parser->picture;
    struct slice slice = picture->slice;
    if (data[2] & 0x80) finish_picture(parser);
    if (!parse_slice(reader, &parser->sets, nal, &slice, message)) {
        log_fault("the parser: %s", message);
        return;
    }
    if (slice.first) begin_picture(parser, &slice, timestamp);
    if (!picture->is_open || picture->count == MOST_SLICES) return;
    picture->offsets[picture->count++] = (unsigned)picture->data.count;
    bytes_append(&picture->data, start_code, sizeof start_code);
    bytes_append(&picture->data, data, size);
}

static void take_nal_unit(struct stream_parser *parser, const uint8_t *data, size_t size, CUvideotimestamp timestamp) {
    char message[MESSAGE_SIZE] = "";
    struct nal_header nal;
    int id;
    parser->plain.count = 0;
    if (size < 3 || !bytes_reserve(&parser->plain, size)) return;
    struct bit_reader reader = bit_reader_of(parser->plain.data, 8 * unescape(parser->plain.data, data, size));
    if (!parse_nal_header(&reader, &nal, message) || nal.layer) return;
    if (nal.type <= NAL_RASL_R || is_irap(nal.type)) {
        take_slice(parser, &reader, nal, data, size, timestamp);
        return;
    }
    if (nal.type < NAL_VPS || nal.type == NAL_SEI_SUFFIX) return;
    finish_picture(parser);
    bool parsed = true;
    if (nal.type == NAL_VPS) parsed = parse_vps(&reader, &parser->sets, message);
    if (nal.type == NAL_SPS) parsed = parse_sps(&reader, &parser->sets, &id, message);
    if (nal.type == NAL_PPS) parsed = parse_pps(&reader, &parser->sets, &id, message);
    if (!parsed) log_fault("the parser: %s", message);
    if (nal.type == NAL_EOS || nal.type == NAL_EOB) parser->begins = true;
}

// Where the next start code begins, or the end.
static size_t find_start(const uint8_t *data, size_t size, size_t from) {
    for (size_t i = from; i + 3 <= size; i++)
        if (!data[i] && !data[i + 1] && data[i + 2] == 1) return i;
    return size;
}

EXPORT CUresult cuvidCreateVideoParser(CUvideoparser *handle, CUVIDPARSERPARAMS *parameters) {
    if (parameters->CodecType != cudaVideoCodec_HEVC) return CUDA_NOT_SUPPORTED;
    if (!parameters->pfnSequenceCallback || !parameters->pfnDecodePicture || !parameters->pfnDisplayPicture ||
        !parameters->ulMaxNumDecodeSurfaces)
        return CUDA_INVALID_VALUE;
    struct stream_parser *parser = calloc(1, sizeof *parser);
    if (!parser) return CUDA_OUT_OF_MEMORY;
    parser->parameters = *parameters;
    parser->surface_count = parameters->ulMaxNumDecodeSurfaces;
    if (parser->surface_count > MOST_SURFACES) parser->surface_count = MOST_SURFACES;
    parser->sets.any_tool = true;
    parser->begins = true;
    *handle = parser;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuvidParseVideoData(CUvideoparser handle, CUVIDSOURCEDATAPACKET *packet) {
    struct stream_parser *parser = handle;
    if (!parser) return CUDA_INVALID_HANDLE;
    parser->failed = false;
    const uint8_t *data = packet->payload;
    size_t size = data ? packet->payload_size : 0, start = find_start(data, size, 0);
    CUvideotimestamp timestamp = packet->flags & CUVID_PKT_TIMESTAMP ? packet->timestamp : 0;
    while (start < size && !parser->failed) {
        size_t next = find_start(data, size, start + 3), end = next;
        // Zeros in front of the next start code are no part of the NAL unit.
        while (end > start + 3 && !data[end - 1]) end--;
        take_nal_unit(parser, data + start + 3, end - start - 3, timestamp);
        start = next;
    }
    bool ends = packet->flags & CUVID_PKT_ENDOFSTREAM;
    if ((ends || packet->flags & CUVID_PKT_ENDOFPICTURE) && !parser->failed) finish_picture(parser);
    if (ends) {
        order_show_all(parser);
        parser->begins = true;
        if (packet->flags & CUVID_PKT_NOTIFY_EOS) parser->parameters.pfnDisplayPicture(parser->parameters.pUserData, NULL);
    }
    return parser->failed ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuvidDestroyVideoParser(CUvideoparser handle) {
    struct stream_parser *parser = handle;
    if (!parser) return CUDA_INVALID_HANDLE;
    bytes_free(&parser->plain);
    bytes_free(&parser->picture.data);
    free(parser);
    return CUDA_SUCCESS;
}
