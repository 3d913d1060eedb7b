// SPDX-License-Identifier: MIT
// Packets on their way from the session: hwd_encoder_convert runs in the receiving thread, the rest in the task.
#include <gst/pbutils/codec-utils.h>
#include <gst/video/video.h>

#include "encoder/encoder.h"

gboolean hwd_encoder_convert(HwdStream *stream, const hwd_event *event, HwdItem *item) {
    (void)stream;
    // Copied, so that the encoder's arena is never full.
    if (event->data) item->buffer = gst_buffer_new_memdup(event->data, event->data_size);
    return FALSE;
}

void hwd_encoder_report_latency(HwdEncoder *encoder, guint delay) {
    const GstVideoInfo *info = &encoder->input->info;
    encoder->delay = delay;
    if (info->fps_n <= 0) return;
    GstClockTime latency = gst_util_uint64_scale_ceil((guint64)delay * GST_SECOND, (guint64)info->fps_d, (guint64)info->fps_n);
    gst_video_encoder_set_latency(GST_VIDEO_ENCODER(encoder), latency, latency);
}

// HDR metadata of the input are the output's.
static void copy_light(const GstCaps *from, GstCaps *to) {
    static const char *const names[] = {"mastering-display-info", "content-light-level"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const GValue *value = gst_structure_get_value(gst_caps_get_structure(from, 0), names[i]);
        if (value) gst_caps_set_value(to, names[i], value);
    }
}

GstFlowReturn hwd_encoder_take_format(HwdEncoder *encoder, GstBuffer *record) {
    enum { PROFILE_TIER_LEVEL = 1, PROFILE_TIER_LEVEL_SIZE = 12 };
    GstVideoEncoder *base = GST_VIDEO_ENCODER(encoder);
    GstCaps *caps = gst_caps_new_simple("video/x-h265", "stream-format", G_TYPE_STRING, "hvc1", "alignment", G_TYPE_STRING, "au",
                                        "codec_data", GST_TYPE_BUFFER, record, NULL);
    GstMapInfo map;
    if (gst_buffer_map(record, &map, GST_MAP_READ)) {
        if (map.size > PROFILE_TIER_LEVEL + PROFILE_TIER_LEVEL_SIZE)
            gst_codec_utils_h265_caps_set_level_tier_and_profile(caps, map.data + PROFILE_TIER_LEVEL, PROFILE_TIER_LEVEL_SIZE);
        gst_buffer_unmap(record, &map);
    }
    GST_VIDEO_ENCODER_STREAM_LOCK(encoder);
    copy_light(encoder->input->caps, caps);
    gst_video_codec_state_unref(gst_video_encoder_set_output_state(base, caps, encoder->input));
    gboolean negotiated = gst_video_encoder_negotiate(base);
    GST_VIDEO_ENCODER_STREAM_UNLOCK(encoder);
    if (negotiated) return GST_FLOW_OK;
    return GST_PAD_IS_FLUSHING(base->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
}

// In live pipelines frames are sent as they are shown, so those behind one measure the encoder's delay.
static void learn_latency(HwdEncoder *encoder, guint delay) {
    if (encoder->is_live && delay > encoder->delay) hwd_encoder_report_latency(encoder, delay);
}

static GstFlowReturn take_packet(HwdEncoder *encoder, HwdStream *stream, HwdItem *item) {
    GstVideoEncoder *base = GST_VIDEO_ENCODER(encoder);
    GstFlowReturn flow = GST_FLOW_OK;
    GST_VIDEO_ENCODER_STREAM_LOCK(encoder);
    learn_latency(encoder, hwd_stream_delay(stream));
    GstVideoCodecFrame *frame = gst_video_encoder_get_frame(base, (int)item->frame);
    if (frame) {
        if (item->event.flags & HWD_SYNC) GST_VIDEO_CODEC_FRAME_SET_SYNC_POINT(frame);
        else GST_VIDEO_CODEC_FRAME_UNSET_SYNC_POINT(frame);
        if (item->event.flags & HWD_DISPOSABLE) GST_BUFFER_FLAG_SET(item->buffer, GST_BUFFER_FLAG_DROPPABLE);
        // A pts that was moved is later than the frame's own.
        frame->dts = item->event.dts < 0 ? GST_CLOCK_TIME_NONE : MIN((GstClockTime)item->event.dts, frame->pts);
        frame->output_buffer = g_steal_pointer(&item->buffer);
        flow = gst_video_encoder_finish_frame(base, frame);
    } else if (!hwd_stream_is_stopping(stream)) {
        hwd_base_fail(&encoder->base, HWD_VIDEO_ENCODER_MALFUNCTION, "a packet is of no frame that was sent");
        flow = GST_FLOW_ERROR;
    }
    GST_VIDEO_ENCODER_STREAM_UNLOCK(encoder);
    return flow;
}

GstFlowReturn hwd_encoder_handle(gpointer element, HwdStream *stream, HwdItem *item) {
    HwdEncoder *encoder = element;
    GstFlowReturn flow = GST_FLOW_OK;
    if (item->event.type == HWD_EVENT_FORMAT) flow = hwd_encoder_take_format(encoder, item->buffer);
    if (item->event.type == HWD_EVENT_PACKET) flow = take_packet(encoder, stream, item);
    hwd_item_free(item);
    return flow;
}
