// SPDX-License-Identifier: MIT
// Pictures on their way from the session: hwd_decoder_convert runs in the receiving thread, the rest in the task.
#include <string.h>

#include "decoder/decoder.h"
#include "video/formats.h"
#include "video/memory.h"

// ---- Pictures as buffers

// A picture that elements hold.
typedef struct Held { HwdStream *stream; hwd_event event; } Held;

static void release(gpointer freed) {
    Held *held = freed;
    hwd_stream_give_back(held->stream, &held->event);
    hwd_stream_unref(held->stream);
    g_free(held);
}

static void add_meta(GstBuffer *buffer, const hwd_event *event, const gsize *offsets, const gint *strides) {
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, hwd_video_format(event->pixel_format), event->width, event->height,
                                   event->plane_count, (gsize *)offsets, (gint *)strides);
}

// The session's memory itself.
static GstBuffer *wrap(HwdStream *stream, const hwd_event *event) {
    gsize start = G_MAXSIZE, end = 0, offsets[GST_VIDEO_MAX_PLANES] = {0};
    gint strides[GST_VIDEO_MAX_PLANES] = {0};
    for (guint i = 0; i < event->plane_count; i++) {
        const hwd_plane *plane = &event->planes[i];
        start = MIN(start, plane->offset);
        end = MAX(end, plane->offset + (gsize)plane->stride * (plane->rows - 1) + plane->row_bytes);
    }
    for (guint i = 0; i < event->plane_count; i++) {
        offsets[i] = event->planes[i].offset - start;
        strides[i] = (gint)event->planes[i].stride;
    }
    Held *held = g_new0(Held, 1);
    held->stream = hwd_stream_ref(stream);
    held->event = *event;
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, hwd_memory_new(event->pool, start, end - start, release, held));
    add_meta(buffer, event, offsets, strides);
    return buffer;
}

// A copy with GStreamer's own layout.
static GstBuffer *copy(const hwd_event *event) {
    GstVideoInfo info;
    GstMapInfo map;
    if (!gst_video_info_set_format(&info, hwd_video_format(event->pixel_format), event->width, event->height)) return NULL;
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, info.size, NULL);
    if (!buffer || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
        gst_clear_buffer(&buffer);
        return NULL;
    }
    for (guint i = 0; i < event->plane_count; i++) {
        const hwd_plane *plane = &event->planes[i];
        for (guint32 row = 0; row < plane->rows; row++)
            memcpy(map.data + info.offset[i] + (gsize)row * info.stride[i], plane->data + (gsize)row * plane->stride, plane->row_bytes);
    }
    gst_buffer_unmap(buffer, &map);
    add_meta(buffer, event, info.offset, info.stride);
    return buffer;
}

gboolean hwd_decoder_convert(HwdStream *stream, const hwd_event *event, HwdItem *item) {
    if (event->type != HWD_EVENT_PICTURE || hwd_video_format(event->pixel_format) == GST_VIDEO_FORMAT_UNKNOWN) return FALSE;
    gboolean keeps = hwd_stream_hold(stream);
    item->buffer = keeps ? wrap(stream, event) : copy(event);
    return keeps;
}

// ---- Caps

void hwd_decoder_report_latency(HwdDecoder *decoder, guint delay) {
    const GstVideoInfo *info = &decoder->input->info;
    decoder->delay = delay;
    if (info->fps_n <= 0) return;
    GstClockTime latency = gst_util_uint64_scale_ceil((guint64)delay * GST_SECOND, (guint64)info->fps_d, (guint64)info->fps_n);
    gst_video_decoder_set_latency(GST_VIDEO_DECODER(decoder), latency, latency);
}

static void add_light(GstCaps *caps, const HwdPictureFormat *format) {
    GstVideoMasteringDisplayInfo display;
    GstVideoContentLightLevel light;
    gst_video_mastering_display_info_init(&display);
    gst_video_content_light_level_init(&light);
    if (format->has_display) hwd_read_mastering_display(format->display, &display);
    if (format->has_light) hwd_read_light_level(format->light, &light);
    if (format->has_display) gst_video_mastering_display_info_add_to_caps(&display, caps);
    if (format->has_light) gst_video_content_light_level_add_to_caps(&light, caps);
}

static gboolean negotiate(HwdDecoder *decoder, const HwdPictureFormat *format) {
    GstVideoDecoder *base = GST_VIDEO_DECODER(decoder);
    GstVideoCodecState *state =
        gst_video_decoder_set_output_state(base, hwd_video_format(format->pixel_format), format->width, format->height, decoder->input);
    if (!state) return FALSE;
    hwd_apply_color(&state->info, &format->color);
    if (format->aspect.numerator > 0) {
        state->info.par_n = format->aspect.numerator;
        state->info.par_d = format->aspect.denominator;
    }
    gst_caps_replace(&state->caps, NULL);
    state->caps = gst_video_info_to_caps(&state->info);
    add_light(state->caps, format);
    gst_video_codec_state_unref(state);
    decoder->format = *format;
    return gst_video_decoder_negotiate(base);
}

// Light of a static kind comes with key frames only: without it the values before stay.
static HwdPictureFormat format_of(const HwdDecoder *decoder, const HwdItem *item) {
    HwdPictureFormat format;
    // Compared as bytes.
    memset(&format, 0, sizeof format);
    const hwd_event *event = &item->event;
    const HwdPictureFormat *before = &decoder->format;
    gboolean inherits = !(event->flags & HWD_SYNC);
    format.pixel_format = event->pixel_format;
    format.width = event->width;
    format.height = event->height;
    format.color = event->color;
    format.aspect = event->aspect;
    format.has_display = item->has_display || (inherits && before->has_display);
    format.has_light = item->has_light || (inherits && before->has_light);
    if (format.has_display) memcpy(format.display, item->has_display ? item->display : before->display, sizeof format.display);
    if (format.has_light) memcpy(format.light, item->has_light ? item->light : before->light, sizeof format.light);
    return format;
}

// ---- The task

// For elements that know no strides but GStreamer's; takes the buffer. NULL: there is no memory.
static GstBuffer *relayout(HwdDecoder *decoder, GstBuffer *buffer) {
    GstVideoCodecState *state = gst_video_decoder_get_output_state(GST_VIDEO_DECODER(decoder));
    const GstVideoInfo *info = &state->info;
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    gboolean fits = gst_buffer_get_size(buffer) >= info->size;
    for (guint i = 0; i < meta->n_planes && fits; i++) fits = meta->stride[i] == info->stride[i] && meta->offset[i] == info->offset[i];
    GstVideoFrame from, to;
    GstBuffer *made = fits ? NULL : gst_buffer_new_allocate(NULL, info->size, NULL);
    gboolean copied = FALSE;
    if (made && gst_video_frame_map(&from, info, buffer, GST_MAP_READ)) {
        if (gst_video_frame_map(&to, info, made, GST_MAP_WRITE)) {
            copied = gst_video_frame_copy(&to, &from);
            gst_video_frame_unmap(&to);
        }
        gst_video_frame_unmap(&from);
    }
    gst_video_codec_state_unref(state);
    if (fits) return buffer;
    gst_buffer_unref(buffer);
    if (!copied) gst_clear_buffer(&made);
    return made;
}

static GstFlowReturn take_picture(HwdDecoder *decoder, HwdItem *item, GstVideoCodecFrame *frame) {
    GstVideoDecoder *base = GST_VIDEO_DECODER(decoder);
    HwdPictureFormat format = format_of(decoder, item);
    if (memcmp(&format, &decoder->format, sizeof format) != 0 && !negotiate(decoder, &format)) {
        gst_video_decoder_release_frame(base, frame);
        memset(&decoder->format, 0, sizeof decoder->format);
        return GST_PAD_IS_FLUSHING(base->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
    }
    frame->output_buffer = g_steal_pointer(&item->buffer);
    if (!decoder->takes_video_meta) frame->output_buffer = relayout(decoder, frame->output_buffer);
    if (!frame->output_buffer) {
        gst_video_decoder_release_frame(base, frame);
        hwd_base_fail(&decoder->base, HWD_ALLOCATION_FAILED, "there is no memory for a picture");
        return GST_FLOW_ERROR;
    }
    if (item->event.flags & HWD_DAMAGED) GST_VIDEO_CODEC_FRAME_FLAG_SET(frame, GST_VIDEO_CODEC_FRAME_FLAG_CORRUPTED);
    return gst_video_decoder_finish_frame(base, frame);
}

// A packet that is damaged or gives no picture.
static GstFlowReturn take_report(HwdDecoder *decoder, const HwdItem *item, GstVideoCodecFrame *frame) {
    GstVideoDecoder *base = GST_VIDEO_DECODER(decoder);
    GstFlowReturn flow = GST_FLOW_OK;
    const char *reason = item->reason ? item->reason : "no picture";
    GST_DEBUG_OBJECT(decoder, "packet of frame %u: %s", item->frame, reason);
    // Damage of key frames counts towards max-errors. That of other frames shows in their pictures' flags.
    if (item->event.status != 0 && frame && GST_VIDEO_CODEC_FRAME_IS_SYNC_POINT(frame))
        GST_VIDEO_DECODER_ERROR(base, 1, STREAM, DECODE, ("%s", reason), ("%s", hwd_status_name(item->event.status)), flow);
    if (!frame) return flow;
    if (item->event.flags & HWD_DROPPED && !(item->event.flags & HWD_ALPHA_ONLY)) gst_video_decoder_release_frame(base, frame);
    else gst_video_codec_frame_unref(frame);
    return flow;
}

GstFlowReturn hwd_decoder_handle(gpointer element, HwdStream *stream, HwdItem *item) {
    HwdDecoder *decoder = element;
    GstVideoDecoder *base = GST_VIDEO_DECODER(decoder);
    GstFlowReturn flow = GST_FLOW_OK;
    GST_VIDEO_DECODER_STREAM_LOCK(decoder);
    GstVideoCodecFrame *frame = gst_video_decoder_get_frame(base, (int)item->frame);
    guint delay = hwd_stream_delay(stream);
    if (decoder->is_live && delay > decoder->delay) hwd_decoder_report_latency(decoder, delay);
    if (item->event.type == HWD_EVENT_PICTURE && frame && item->buffer) flow = take_picture(decoder, item, frame);
    else if (item->event.type == HWD_EVENT_REPORT) flow = take_report(decoder, item, frame);
    else if (frame) gst_video_codec_frame_unref(frame);
    GST_VIDEO_DECODER_STREAM_UNLOCK(decoder);
    hwd_item_free(item);
    return flow;
}
