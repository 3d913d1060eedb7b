// SPDX-License-Identifier: GPL-2.0-or-later
#include "decoder/decoder_references.h"

#include <stdlib.h>
#include <string.h>

// One of ReferenceFrames while the set is being made.
struct candidate {
    struct decoder_reference reference;
    bool held;
    int index;
};

static const unsigned used_flags =
    VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE | VA_PICTURE_HEVC_RPS_ST_CURR_AFTER | VA_PICTURE_HEVC_RPS_LT_CURR;

static bool is_held(const struct decoder_holdings *holdings, const VAPictureHEVC *picture) {
    for (int i = 0; i < holdings->count; i++) {
        const struct decoder_held *held = &holdings->list[i];
        if (held->surface == picture->picture_id && held->order == picture->pic_order_cnt) return true;
    }
    return false;
}

static bool is_listed(const struct hwsim_slice *slices, int count, int index) {
    for (int i = 0; i < count; i++) {
        const VASliceParameterBufferHEVC *slice = slices[i].parameters;
        int lists = decoder_lists(slice->LongSliceFlags.fields.slice_type);
        for (int list = 0; list < lists; list++)
            for (int j = 0; j < decoder_list_length(slice, list); j++)
                if (slice->RefPicList[list][j] == index) return true;
    }
    return false;
}

static bool needs_reference(const struct hwsim_slice *slices, int count) {
    for (int i = 0; i < count; i++)
        if (decoder_lists(slices[i].parameters->LongSliceFlags.fields.slice_type)) return true;
    return false;
}

// Before, after, long-term; the nearest first, and long-term ones as they came.
static int compare(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    int group_a = a->reference.long_term ? 2 : a->reference.delta > 0;
    int group_b = b->reference.long_term ? 2 : b->reference.delta > 0;
    if (group_a != group_b) return group_a - group_b;
    if (group_a == 2) return a->index - b->index;
    return abs(a->reference.delta) - abs(b->reference.delta);
}

// Puts into `candidates` what ReferenceFrames name, without doubles and what a header cannot say.
static int collect(
    struct candidate *candidates, int *doubles, const struct decoder_holdings *holdings,
    const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slices, int count) {
    int total = 0;
    for (int i = 0; i < DECODER_MAXIMUM_REFERENCES; i++) {
        const VAPictureHEVC *frame = &picture->ReferenceFrames[i];
        doubles[i] = -1;
        if (frame->picture_id == VA_INVALID_SURFACE || frame->flags & VA_PICTURE_HEVC_INVALID) continue;
        int64_t delta = (int64_t)frame->pic_order_cnt - picture->CurrPic.pic_order_cnt;
        if (delta == 0 || delta < -32768 || delta > 32767) continue;
        bool listed = is_listed(slices, count, i), held = is_held(holdings, frame);
        if (!held && !listed) continue;
        for (int j = 0; j < total; j++)
            if (candidates[j].reference.delta == delta) doubles[i] = candidates[j].index;
        if (doubles[i] >= 0) continue;
        candidates[total++] = (struct candidate){
            {.delta = (int)delta, .long_term = frame->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE,
             .used = listed || frame->flags & used_flags},
            .held = held,
            .index = i,
        };
    }
    return total;
}

int decoder_references_make(
    struct decoder_references *references, struct decoder_holdings *holdings,
    const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slices, int count) {
    struct candidate candidates[DECODER_MAXIMUM_REFERENCES];
    int doubles[DECODER_MAXIMUM_REFERENCES];
    int total = collect(candidates, doubles, holdings, picture, slices, count);
    qsort(candidates, (size_t)total, sizeof candidates[0], compare);

    memset(references, 0, sizeof *references);
    for (int i = 0; i < DECODER_MAXIMUM_REFERENCES; i++) references->place[i] = -1;
    int missing = 0;
    holdings->count = 0;
    for (int i = 0; i < total; i++) {
        const struct candidate *candidate = &candidates[i];
        const VAPictureHEVC *frame = &picture->ReferenceFrames[candidate->index];
        references->list[i] = candidate->reference;
        references->place[candidate->index] = i;
        if (candidate->reference.long_term) references->long_term++;
        else if (candidate->reference.delta < 0) references->before++;
        else references->after++;
        if (candidate->reference.used) references->used++;
        if (candidate->held)
            holdings->list[holdings->count++] = (struct decoder_held){frame->picture_id, frame->pic_order_cnt};
        else missing++;
    }
    for (int i = 0; i < DECODER_MAXIMUM_REFERENCES; i++)
        if (doubles[i] >= 0) references->place[i] = references->place[doubles[i]];
    if (references->used > 0 || !needs_reference(slices, count)) return missing;

    // Nothing to refer to: the nearest one kept will do, else one that nobody has.
    if (total == 0) {
        references->list[0] = (struct decoder_reference){.delta = -1};
        references->before = 1;
    }
    references->list[0].used = true;
    references->used = 1;
    return missing + 1;
}

int decoder_references_entry(
    const struct decoder_references *references, const VASliceParameterBufferHEVC *slice, int list, int index) {
    int frame = slice->RefPicList[list][index];
    int wanted = frame < DECODER_MAXIMUM_REFERENCES ? references->place[frame] : -1;
    if (wanted < 0 || !references->list[wanted].used) return 0;
    int before = 0, after = 0, earlier = 0;
    for (int i = 0; i < references->before; i++) before += references->list[i].used;
    for (int i = 0; i < references->after; i++) after += references->list[references->before + i].used;
    for (int i = 0; i < wanted; i++) earlier += references->list[i].used;
    // List 1 has what comes after before what comes before.
    if (list == 0 || references->list[wanted].long_term) return earlier;
    return wanted < references->before ? after + earlier : earlier - before;
}
