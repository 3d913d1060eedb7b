// SPDX-License-Identifier: GPL-2.0-or-later
// What a slice refers to: the buffers' lists against the header's reference picture set, and against what the surfaces
// really hold.
#include <string.h>

#include "encoder/encoder.h"

static const VAPictureHEVC *frame_with(const struct encode_job *job, int poc, struct surface **surface) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    for (int i = 0; i < MAX_JOB_REFERENCES; i++)
        if (job->references[i] && picture->reference_frames[i].pic_order_cnt == poc) {
            *surface = job->references[i];
            return &picture->reference_frames[i];
        }
    return NULL;
}

static bool may_refer(const struct slice *slice, const struct surface *surface, int poc, char *message) {
    if (!surface->reconstructed) return refuse(message, "the reference with POC %d was never reconstructed", poc);
    if (surface->poc != poc) return refuse(message, "the reference with POC %d holds the picture with POC %d", poc, surface->poc);
    int here = slice->nal.temporal_id, there = surface->temporal_id;
    // Temporal sub-layer access pictures are numbers 2 to 5.
    bool access = slice->nal.type >= 2 && slice->nal.type <= 5;
    if (there > here || (access && there == here))
        return refuse(message, "TemporalId %d refers to POC %d, which has TemporalId %d", here, poc, there);
    if (surface->discardable && there == here)
        return refuse(message, "POC %d is a sub-layer non-reference picture and is referred to", poc);
    return true;
}

// The whole set, with what only later pictures need, against reference_frames.
static bool check_set(const struct encode_job *job, const struct slice *slice, char *message) {
    const VAEncPictureParameterBufferHEVC *picture = &job->context->submission->picture;
    int count = slice->rps.negative + slice->rps.positive;
    for (int i = 0; i < count; i++) {
        int poc = job->poc + slice->rps.delta[i];
        struct surface *surface;
        if (!frame_with(job, poc, &surface)) {
            if (!slice->rps.used[i]) continue;
            return refuse(message, "the reference picture set has POC %d, reference_frames has not", poc);
        }
        if (!may_refer(slice, surface, poc, message)) return false;
    }
    // Who writes the slice headers decides what is kept.
    const struct personality *personality = &DRIVER(job->driver_context)->personality;
    if (personality->own_headers && !personality->reads_headers) return true;
    for (int i = 0; i < MAX_JOB_REFERENCES; i++) {
        if (!job->references[i]) continue;
        int poc = picture->reference_frames[i].pic_order_cnt;
        bool found = false;
        for (int j = 0; j < count; j++) found = found || job->poc + slice->rps.delta[j] == poc;
        if (!found) return refuse(message, "reference_frames[%d] has POC %d, the reference picture set has not", i, poc);
    }
    return true;
}

bool find_references(const struct encode_job *job, const struct slice *slice, const VAEncSliceParameterBufferHEVC *buffer,
    struct slice_references *found, char *message) {
    const struct personality *personality = &DRIVER(job->driver_context)->personality;
    memset(found, 0, sizeof *found);
    bool idr = slice->nal.type == NAL_IDR_W_RADL || slice->nal.type == NAL_IDR_N_LP;
    if (!idr && !check_set(job, slice, message)) return false;
    if (slice->type == SLICE_I) return true;
    if (!slice_lists(slice, job->poc, found->pocs)) return refuse(message, "there is nothing to refer to");
    for (int list = 0; list < (slice->type == SLICE_B ? 2 : 1); list++) {
        if (slice->active[list] > personality->references[list])
            return refuse(message, "%d pictures in list %d; %d are supported", slice->active[list], list,
                personality->references[list]);
        const VAPictureHEVC *entries = list ? buffer->ref_pic_list1 : buffer->ref_pic_list0;
        for (int i = 0; i < slice->active[list]; i++) {
            int poc = found->pocs[list][i];
            struct surface *surface;
            const VAPictureHEVC *frame = frame_with(job, poc, &surface);
            if (!frame) return refuse(message, "POC %d of list %d is not in reference_frames", poc, list);
            if (entries[i].pic_order_cnt != poc || entries[i].picture_id != frame->picture_id)
                return refuse(message, "entry %d of list %d is POC %d in the header and POC %d (surface %x) in the buffer", i,
                    list, poc, entries[i].pic_order_cnt, entries[i].picture_id);
            if (!i) found->surfaces[list] = surface;
        }
    }
    if (slice->type == SLICE_P) found->surfaces[1] = found->surfaces[0];
    if (personality->no_p_slices && slice->type == SLICE_P)
        return refuse(message, "P slices are not supported: a B slice with two equal lists is");
    if (!personality->only_equal_lists) return true;
    bool equal = slice->active[0] == slice->active[1];
    for (int i = 0; equal && i < slice->active[0]; i++)
        equal = found->pocs[0][i] == found->pocs[1][i] && found->pocs[0][i] < job->poc;
    return equal || refuse(message, "B slices with different lists, or with later pictures, are not supported");
}
