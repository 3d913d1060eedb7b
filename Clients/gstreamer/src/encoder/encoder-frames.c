// SPDX-License-Identifier: MIT
// Frames on their way to the session.
#include <sched.h>
#include <string.h>

#include "encoder/encoder.h"
#include "video/formats.h"
#include "video/memory.h"

void hwd_encoder_forget_pools(HwdEncoder *encoder) {
    for (guint i = 0; i < encoder->pool_count; i++) hwd_pool_unref(encoder->pools[i].pool);
    encoder->pool_count = 0;
}

// The session's number of a pool, which is registered when it is new; 0 where that is not possible.
static guint32 pool_number(HwdEncoder *encoder, HwdStream *stream, hwd_pool *pool) {
    for (guint i = 0; i < encoder->pool_count; i++)
        if (encoder->pools[i].pool == pool) return (guint32)encoder->pools[i].number;
    // Decoders' arenas and pools of upstream come and go; those in use cannot be removed.
    for (guint i = 0; i < encoder->pool_count && encoder->pool_count == HWD_MAX_KNOWN_POOLS; i++) {
        if (hwd_remove_pool(stream->session, encoder->pools[i].number, HWD_DEFAULT_TIMEOUT) < 0) continue;
        hwd_pool_unref(encoder->pools[i].pool);
        encoder->pools[i] = encoder->pools[--encoder->pool_count];
    }
    if (encoder->pool_count == HWD_MAX_KNOWN_POOLS) return 0;
    int number = hwd_add_pool(stream->session, pool, HWD_DEFAULT_TIMEOUT);
    if (number < 0) return 0;
    encoder->pools[encoder->pool_count++] = (HwdKnownPool){hwd_pool_ref(pool), number};
    return (guint32)number;
}

// Lets the session read the buffer in place: FALSE where it has to be copied.
static gboolean use_in_place(HwdEncoder *encoder, HwdStream *stream, GstBuffer *input, hwd_frame *frame) {
    const GstVideoInfo *info = &encoder->input->info;
    const GstVideoMeta *meta = gst_buffer_get_video_meta(input);
    gsize start;
    if (gst_buffer_n_memory(input) != 1) return FALSE;
    hwd_pool *pool = hwd_memory_pool(gst_buffer_peek_memory(input, 0), &start);
    if (!pool) return FALSE;
    int count = hwd_layout(hwd_format(GST_VIDEO_INFO_FORMAT(info)), (guint)info->width, (guint)info->height, 0, frame->planes, NULL);
    if (count < 0 || (guint)count != GST_VIDEO_INFO_N_PLANES(info) || (meta && meta->n_planes != (guint)count)) return FALSE;
    for (int i = 0; i < count; i++) {
        gint stride = meta ? meta->stride[i] : info->stride[i];
        if (stride < (gint)frame->planes[i].row_bytes) return FALSE;
        frame->planes[i].offset = start + (meta ? meta->offset[i] : info->offset[i]);
        frame->planes[i].stride = (guint32)stride;
    }
    frame->plane_count = (guint32)count;
    frame->pool = pool_number(encoder, stream, pool);
    return frame->pool > 0;
}

static int copy(HwdEncoder *encoder, HwdStream *stream, GstBuffer *input, hwd_frame *frame) {
    GstVideoFrame mapped;
    int result = hwd_acquire_frame(stream->session, frame, HWD_DEFAULT_TIMEOUT);
    if (result < 0) return result;
    if (!gst_video_frame_map(&mapped, &encoder->input->info, input, GST_MAP_READ)) {
        hwd_discard_frame(stream->session, frame);
        return -EFAULT;
    }
    hwd_copy_to_planes(&mapped, frame->planes, frame->plane_count);
    gst_video_frame_unmap(&mapped);
    return 0;
}

// Closed captions as the payload of an SEI message (ATSC A/53 part 4, 6.2.3); TRUE if the frame has any.
static gboolean read_captions(HwdEncoder *encoder, GstBuffer *input, hwd_side_data *data) {
    static const guint8 head[] = {0xb5, 0x00, 0x31, 'G', 'A', '9', '4', 0x03};
    enum { TRIPLET = 3, MAX_TRIPLETS = 31, PROCESS_CC_DATA = 0xc0, FILL = 0xff };
    gpointer state = NULL;
    GByteArray *payload = encoder->caption;
    guint8 count = 0;
    g_byte_array_set_size(payload, 0);
    g_byte_array_append(payload, head, sizeof head);
    const guint8 counters[] = {PROCESS_CC_DATA, FILL}, marker = FILL;
    g_byte_array_append(payload, counters, sizeof counters);
    for (GstMeta *at; (at = gst_buffer_iterate_meta_filtered(input, &state, GST_VIDEO_CAPTION_META_API_TYPE));) {
        const GstVideoCaptionMeta *meta = (const GstVideoCaptionMeta *)at;
        if (meta->caption_type != GST_VIDEO_CAPTION_TYPE_CEA708_RAW) continue;
        gsize triplets = MIN(meta->size / TRIPLET, (gsize)MAX_TRIPLETS - count);
        g_byte_array_append(payload, meta->data, (guint)triplets * TRIPLET);
        count += (guint8)triplets;
    }
    payload->data[sizeof head] |= count;
    g_byte_array_append(payload, &marker, 1);
    *data = (hwd_side_data){HWD_CLOSED_CAPTIONS, payload->len, payload->data};
    return count > 0;
}

// Times rise from frame to frame: repeated ones move by a nanosecond, and absent ones follow by the frame rate.
static gint64 next_pts(HwdEncoder *encoder, GstVideoCodecFrame *frame) {
    enum { DEFAULT_RATE = 30 };
    const GstVideoInfo *info = &encoder->input->info;
    gboolean is_first = encoder->last_pts == G_MININT64;
    if (!GST_CLOCK_TIME_IS_VALID(frame->pts)) {
        GstClockTime step = info->fps_n > 0 ? gst_util_uint64_scale(GST_SECOND, (guint64)info->fps_d, (guint64)info->fps_n) : GST_SECOND / DEFAULT_RATE;
        frame->pts = is_first ? HWD_MIN_PTS : (GstClockTime)encoder->last_pts + step;
    }
    return is_first ? (gint64)frame->pts : MAX((gint64)frame->pts, encoder->last_pts + 1);
}

int hwd_encoder_send(HwdEncoder *encoder, HwdStream *stream, GstVideoCodecFrame *frame, GstBuffer *input) {
    hwd_frame sent;
    hwd_side_data captions;
    HWD_INIT(sent);
    gboolean in_place = use_in_place(encoder, stream, input, &sent);
    if (!in_place) {
        HWD_INIT(sent);
        int result = copy(encoder, stream, input, &sent);
        if (result < 0) return result;
    }
    GST_LOG_OBJECT(encoder, "frame %u is %s", frame->system_frame_number, in_place ? "read in place" : "copied");
    sent.pts = next_pts(encoder, frame);
    sent.duration = GST_CLOCK_TIME_IS_VALID(frame->duration) ? (gint64)frame->duration : 0;
    if (GST_VIDEO_CODEC_FRAME_IS_FORCE_KEYFRAME(frame)) sent.flags |= HWD_FORCE_KEY_FRAME;
    if (read_captions(encoder, input, &captions)) {
        sent.side_data = &captions;
        sent.side_data_count = 1;
    }
    hwd_stream_begin(stream);
    int result = hwd_encode(stream->session, &sent, HWD_DEFAULT_TIMEOUT);
    hwd_stream_sent(stream, result < 0 ? 0 : sent.number, frame->system_frame_number, in_place ? input : NULL);
    // The worker's thread that the message woke may wait for this CPU, and a live source makes its next frame first.
    if (result == 0 && encoder->is_live) sched_yield();
    if (result == 0) encoder->last_pts = sent.pts;
    else if (!in_place) hwd_discard_frame(stream->session, &sent);
    return result;
}
