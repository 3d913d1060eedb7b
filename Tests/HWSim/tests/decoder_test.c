// SPDX-License-Identifier: GPL-2.0-or-later
// The decoder without a driver around it: reference lists against a second implementation of H.265 8.3.4, and clients that send
// rubbish. decoder-check builds it with sanitizers; what is decoded is compared with another decoder's by decode-check.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/decoder.h"
#include "decoder/decoder_headers.h"
#include "decoder/decoder_references.h"

static int failures;

#define EXPECT(condition, ...) \
    do { \
        if (!(condition)) { \
            failures++; \
            fprintf(stderr, "decoder_test: %s:%d: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
        } \
    } while (0)

// xorshift64*, so that every run sends the same rubbish.
static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t random_below(uint32_t limit) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1d) >> 33) % limit;
}

enum { SIDE = 128, GUARD = 64 };

static VAPictureParameterBufferHEVC plain_picture(int depth) {
    VAPictureParameterBufferHEVC picture = {
        .CurrPic = {.picture_id = 100},
        .pic_width_in_luma_samples = SIDE,
        .pic_height_in_luma_samples = SIDE,
        .bit_depth_luma_minus8 = (uint8_t)(depth - 8),
        .bit_depth_chroma_minus8 = (uint8_t)(depth - 8),
        .log2_diff_max_min_luma_coding_block_size = 2,
        .log2_diff_max_min_transform_block_size = 3,
        .max_transform_hierarchy_depth_inter = 1,
        .max_transform_hierarchy_depth_intra = 1,
    };
    picture.pic_fields.bits.chroma_format_idc = 1;
    picture.pic_fields.bits.cu_qp_delta_enabled_flag = 1;
    for (int i = 0; i < 15; i++)
        picture.ReferenceFrames[i] = (VAPictureHEVC){VA_INVALID_SURFACE, 0, VA_PICTURE_HEVC_INVALID, {0}};
    return picture;
}

// --- Lists

// RefPicListTempX as (8-8) and (8-9) build it, as differences of picture order counts.
static int temporary_list(const struct decoder_references *references, int list, int *deltas) {
    const struct decoder_reference *after = references->list + references->before;
    const struct decoder_reference *groups[3] = {references->list, after, after + references->after};
    int counts[3] = {references->before, references->after, references->long_term}, total = 0;
    int order[2][3] = {{0, 1, 2}, {1, 0, 2}};
    for (int group = 0; group < 3; group++) {
        int which = order[list][group];
        for (int i = 0; i < counts[which]; i++)
            if (groups[which][i].used) deltas[total++] = groups[which][i].delta;
    }
    return total;
}

static void lists_come_out_as_the_client_has_them(void) {
    for (int round = 0; round < 2000; round++) {
        VAPictureParameterBufferHEVC picture = plain_picture(8);
        VASliceParameterBufferHEVC slice = {0};
        struct decoder_holdings holdings = {0};
        int count = 1 + (int)random_below(15), current = (int)random_below(1000);
        picture.CurrPic.pic_order_cnt = current;
        for (int i = 0; i < count; i++) {
            // All different: 15 steps of 3 around the current picture.
            int delta = (i - count / 2) * 3 - 1;
            picture.ReferenceFrames[i] = (VAPictureHEVC){(VASurfaceID)i, current + delta, 0, {0}};
            if (random_below(8) == 0) picture.ReferenceFrames[i].flags = VA_PICTURE_HEVC_LONG_TERM_REFERENCE;
            if (random_below(4) == 0) picture.ReferenceFrames[i].flags |= VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE;
            if (random_below(4) == 0) continue;
            holdings.list[holdings.count++] = (struct decoder_held){(VASurfaceID)i, current + delta};
        }
        for (int i = count - 1; i > 0; i--) {
            int j = (int)random_below((uint32_t)i + 1);
            VAPictureHEVC swap = picture.ReferenceFrames[i];
            picture.ReferenceFrames[i] = picture.ReferenceFrames[j];
            picture.ReferenceFrames[j] = swap;
        }
        slice.num_ref_idx_l0_active_minus1 = (uint8_t)random_below(15);
        slice.num_ref_idx_l1_active_minus1 = (uint8_t)random_below(15);
        for (int list = 0; list < 2; list++)
            for (int i = 0; i < 15; i++) slice.RefPicList[list][i] = (uint8_t)random_below((uint32_t)count);
        struct hwsim_slice sent = {&slice, NULL, 0};
        struct decoder_references references;
        decoder_references_make(&references, &holdings, &picture, &sent, 1);

        for (int list = 0; list < 2; list++) {
            int deltas[15], total = temporary_list(&references, list, deltas);
            EXPECT(total == references.used, "round %d: %d entries, not %d", round, total, references.used);
            for (int i = 0; i < decoder_list_length(&slice, list); i++) {
                int entry = decoder_references_entry(&references, &slice, list, i);
                int wanted = picture.ReferenceFrames[slice.RefPicList[list][i]].pic_order_cnt - current;
                EXPECT(
                    entry < total && deltas[entry] == wanted, "round %d: list %d entry %d is %d, not %d", round, list,
                    i, entry < total ? deltas[entry] : 0, wanted);
            }
        }
    }
}

static void what_was_never_decoded_is_told(void) {
    VAPictureParameterBufferHEVC picture = plain_picture(8);
    VASliceParameterBufferHEVC slice = {0};
    struct hwsim_slice sent = {&slice, NULL, 0};
    struct decoder_references references;
    picture.CurrPic.pic_order_cnt = 8;
    picture.ReferenceFrames[0] = (VAPictureHEVC){5, 4, VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE, {0}};
    slice.LongSliceFlags.fields.slice_type = 1;

    struct decoder_holdings held = {{{5, 4}, {6, 0}}, 2};
    EXPECT(decoder_references_make(&references, &held, &picture, &sent, 1) == 0, "surface 5 was decoded");
    EXPECT(held.count == 1 && held.list[0].surface == 5, "surface 6 is in no set any more");

    struct decoder_holdings reused = {{{5, 3}}, 1};
    EXPECT(decoder_references_make(&references, &reused, &picture, &sent, 1) == 1, "surface 5 has another picture");
    EXPECT(references.used == 1 && references.list[0].delta == -4, "its place is kept");

    picture.ReferenceFrames[0].flags = VA_PICTURE_HEVC_INVALID;
    EXPECT(decoder_references_make(&references, &reused, &picture, &sent, 1) == 1, "there is no reference at all");
    EXPECT(references.used == 1, "a P slice has one all the same");

    slice.LongSliceFlags.fields.slice_type = 2;
    EXPECT(decoder_references_make(&references, &reused, &picture, &sent, 1) == 0, "an I slice needs none");
    EXPECT(references.used == 0 && references.before == 0, "an I slice gets none");
}

// --- Rubbish

// Surfaces with guards around their planes.
struct surface {
    struct hwsim_picture picture;
    uint8_t memory[2][GUARD + SIDE * (SIDE * 2 + GUARD) + GUARD];
};

static void clear(struct surface *surface, int depth) {
    int stride = SIDE * (depth > 8 ? 2 : 1) + GUARD;
    memset(surface->memory, 0xa5, sizeof surface->memory);
    surface->picture = (struct hwsim_picture){
        SIDE, SIDE, depth, {surface->memory[0] + GUARD, surface->memory[1] + GUARD}, {stride, stride}};
}

static bool guards_stand(const struct surface *surface) {
    for (int plane = 0; plane < 2; plane++) {
        int rows = plane ? SIDE / 2 : SIDE, stride = surface->picture.strides[plane], used = stride - GUARD;
        const uint8_t *memory = surface->memory[plane];
        for (size_t i = 0; i < sizeof surface->memory[plane]; i++) {
            bool inside = i >= GUARD && i < GUARD + (size_t)(rows * stride)
                && (i - GUARD) % (size_t)stride < (size_t)used;
            if (!inside && memory[i] != 0xa5) return false;
        }
    }
    return true;
}

static void scramble(void *bytes, size_t size, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) ((uint8_t *)bytes)[random_below((uint32_t)size)] = (uint8_t)random_below(256);
}

static void random_slice(VASliceParameterBufferHEVC *slice, uint8_t *data, size_t size, int index, bool intra) {
    *slice = (VASliceParameterBufferHEVC){.slice_data_size = (uint32_t)size, .slice_data_byte_offset = 6};
    slice->slice_segment_address = index ? (uint32_t)index * 2 : 0;
    slice->LongSliceFlags.value = random_below(1u << 14) << 6;
    slice->LongSliceFlags.fields.slice_type = intra ? 2 : random_below(3);
    slice->LongSliceFlags.fields.dependent_slice_segment_flag = index && random_below(2);
    slice->num_ref_idx_l0_active_minus1 = (uint8_t)random_below(4);
    slice->num_ref_idx_l1_active_minus1 = (uint8_t)random_below(4);
    for (int i = 0; i < 30; i++) slice->RefPicList[i / 15][i % 15] = (uint8_t)random_below(5);
    slice->luma_log2_weight_denom = (uint8_t)random_below(8);
    scramble(slice->delta_luma_weight_l0, 15, 3);
    scramble(slice->delta_chroma_weight_l1, 30, 3);
    scramble(slice->ChromaOffsetL0, 30, 3);
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)random_below(256);
    data[0] = 2;
    data[1] = 1;
    data[2] = (uint8_t)(index == 0) << 7;
    data[5] = 0x80;
}

struct outcomes {
    int good, refused, undecodable;
};

static VAPictureParameterBufferHEVC random_picture(const VAPictureParameterBufferHEVC *sequence, int number) {
    VAPictureParameterBufferHEVC picture = *sequence;
    picture.CurrPic = (VAPictureHEVC){(VASurfaceID)number, number, 0, {0}};
    for (int i = 0; i < 4 && i < number; i++)
        picture.ReferenceFrames[i] = (VAPictureHEVC){
            (VASurfaceID)(number - 1 - i), number - 1 - i, VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE, {0}};
    if (random_below(4) == 0) picture.ReferenceFrames[2].flags |= VA_PICTURE_HEVC_LONG_TERM_REFERENCE;
    return picture;
}

// Decodes one picture of random slices from buffers that are scrambled at times.
static void decode_rubbish(
    struct hwsim_decoder *decoder, const VAPictureParameterBufferHEVC *sequence, int number, int depth,
    struct outcomes *outcomes) {
    static struct surface surface;
    static uint8_t data[4][4096];
    VAPictureParameterBufferHEVC picture = random_picture(sequence, number);
    VAIQMatrixBufferHEVC matrix;
    memset(&matrix, 16, sizeof matrix);
    VASliceParameterBufferHEVC parameters[4];
    struct hwsim_slice slices[4];
    int count = 1 + (int)random_below(4);
    for (int i = 0; i < count; i++) {
        size_t size = 16 + random_below(sizeof data[i] - 16);
        random_slice(&parameters[i], data[i], size, i, number == 0);
        // In memory of its own size, so that the address sanitizer sees an access one byte too far.
        uint8_t *copy = malloc(size);
        memcpy(copy, data[i], size);
        slices[i] = (struct hwsim_slice){&parameters[i], copy, size};
    }
    if (random_below(3) == 0) scramble(&picture, sizeof picture, random_below(4));
    if (random_below(3) == 0) scramble(&matrix, sizeof matrix, random_below(4));
    if (random_below(3) == 0) scramble(&parameters[0], sizeof parameters[0], random_below(4));

    char message[200] = "?";
    clear(&surface, depth);
    VAStatus status = hwsim_decoder_decode(
        decoder, &picture, random_below(2) ? &matrix : NULL, slices, count, &surface.picture, message, sizeof message);
    for (int i = 0; i < count; i++) free((void *)slices[i].data);
    EXPECT(guards_stand(&surface), "picture %d: written outside the surface", number);
    EXPECT(memcmp(message, "?", 2) != 0, "picture %d: the message was left as it was", number);
    EXPECT(status == VA_STATUS_SUCCESS || message[0], "picture %d: status %d without a reason", number, status);
    if (status == VA_STATUS_SUCCESS) outcomes->good++;
    else if (status == VA_STATUS_ERROR_INVALID_PARAMETER) outcomes->refused++;
    else outcomes->undecodable++;
}

static void rubbish_does_no_harm(int seconds) {
    time_t end = time(NULL) + seconds;
    struct outcomes outcomes = {0};
    int rounds = 0;
    for (; time(NULL) < end; rounds++) {
        int depth = random_below(2) ? 10 : 8;
        struct hwsim_decoder *decoder = hwsim_decoder_create(SIDE, SIDE, depth);
        EXPECT(decoder, "no decoder");
        if (!decoder) return;
        VAPictureParameterBufferHEVC sequence = plain_picture(depth);
        // Every flag except those that hold for the whole picture; at times four tiles.
        if (random_below(2)) sequence.pic_fields.value = 1 | (random_below(1u << 30) & ~6u);
        sequence.num_tile_columns_minus1 = sequence.num_tile_rows_minus1 = 1;
        for (int number = 0; number < 8; number++) decode_rubbish(decoder, &sequence, number, depth, &outcomes);
        hwsim_decoder_destroy(decoder);
    }
    printf(
        "decoder_test: %d sequences: %d pictures decoded, %d refused, %d undecodable\n", rounds, outcomes.good,
        outcomes.refused, outcomes.undecodable);
    // A campaign whose pictures are all refused tests only the checks.
    EXPECT(
        outcomes.good > outcomes.refused && outcomes.refused > 0 && outcomes.good > outcomes.undecodable,
        "the rubbish is too good or too bad");
}

int main(int argc, char **argv) {
    lists_come_out_as_the_client_has_them();
    what_was_never_decoded_is_told();
    rubbish_does_no_harm(argc > 1 ? atoi(argv[1]) : 3);
    if (failures) fprintf(stderr, "decoder_test: %d failures\n", failures);
    return failures != 0;
}
