// SPDX-License-Identifier: MIT
#include "encoder/encoder.h"

#include "video/formats.h"
#include "video/pool.h"

enum { PROPERTY_ALPHA = 1000 };

#define SIZES "width = (int) [ 2, 16384, 2 ], height = (int) [ 2, 16384, 2 ], framerate = (fraction) [ 0/1, MAX ]"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("video/x-raw, format = (string) { " HWD_PLAIN_FORMATS ", BGRx, RGBx, " HWD_ALPHA_FORMATS " }, " SIZES));
// Of these two one is offered, because sources that may choose would often choose alpha, which costs as much as half a stream.
static GstStaticCaps plain_caps = GST_STATIC_CAPS("video/x-raw, format = (string) { " HWD_PLAIN_FORMATS ", BGRx, RGBx }, " SIZES);
static GstStaticCaps alpha_caps = GST_STATIC_CAPS("video/x-raw, format = (string) { " HWD_ALPHA_FORMATS " }, " SIZES);
static GstStaticPadTemplate source_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("video/x-h265, stream-format = (string) hvc1, alignment = (string) au, " SIZES));

// The type's name, which elements' names begin with.
typedef HwdEncoder GstHwdH265Enc;
typedef HwdEncoderClass GstHwdH265EncClass;
G_DEFINE_TYPE(GstHwdH265Enc, hwd_encoder, GST_TYPE_VIDEO_ENCODER)

static HwdEncoder *self(gpointer of) { return of; }

static gboolean start(GstVideoEncoder *of) {
    // Decoding times of reordered streams may be negative: that of the first frame is far from 0.
    gst_video_encoder_set_min_pts(of, HWD_MIN_PTS);
    return hwd_base_start(&self(of)->base);
}

static gboolean stop(GstVideoEncoder *of) {
    hwd_base_stop(&self(of)->base);
    hwd_encoder_forget_pools(self(of));
    g_clear_pointer(&self(of)->input, gst_video_codec_state_unref);
    return TRUE;
}

static gboolean set_format(GstVideoEncoder *of, GstVideoCodecState *state) {
    HwdEncoder *encoder = self(of);
    // The frames before the change belong to the session before it.
    GstFlowReturn flow = hwd_encoder_drain(encoder);
    hwd_encoder_close(encoder);
    if (flow == GST_FLOW_ERROR) return FALSE;
    g_clear_pointer(&encoder->input, gst_video_codec_state_unref);
    encoder->input = gst_video_codec_state_ref(state);
    return hwd_encoder_open(encoder);
}

static gboolean flush(GstVideoEncoder *of) {
    hwd_encoder_close(self(of));
    hwd_base_resume(&self(of)->base);
    return TRUE;
}

static GstFlowReturn finish(GstVideoEncoder *of) { return hwd_encoder_drain(self(of)); }

// Where times go back, as between two files, another session begins.
static gboolean goes_back(const HwdEncoder *encoder, GstClockTime pts) {
    return encoder->last_pts != G_MININT64 && GST_CLOCK_TIME_IS_VALID(pts) && (gint64)pts + (gint64)GST_SECOND < encoder->last_pts;
}

// An open session for the frame, with a reference.
static HwdStream *session_for(HwdEncoder *encoder, const GstVideoCodecFrame *frame) {
    HwdStream *stream = hwd_base_stream(&encoder->base);
    if (stream && goes_back(encoder, frame->pts)) {
        GstFlowReturn flow = hwd_encoder_drain(encoder);
        hwd_stream_unref(stream);
        hwd_encoder_close(encoder);
        stream = NULL;
        if (flow == GST_FLOW_ERROR) return NULL;
    }
    if (stream && hwd_base_is_relinked(&encoder->base)) {
        hwd_stream_unref(stream);
        hwd_encoder_close(encoder);
        stream = NULL;
    }
    if (stream) return stream;
    return hwd_encoder_open(encoder) ? hwd_base_stream(&encoder->base) : NULL;
}

// The codec frame keeps the input's metas, but not its samples: upstream's pool gets them back once they are read.
static GstBuffer *take_input(GstVideoCodecFrame *frame) {
    GstBuffer *input = frame->input_buffer;
    frame->input_buffer = gst_buffer_new();
    gst_buffer_copy_into(frame->input_buffer, input, GST_BUFFER_COPY_METADATA, 0, -1);
    return input;
}

// Whether downstream would drop the frame, where QoS is enabled.
static gboolean is_late(GstVideoEncoder *of, GstVideoCodecFrame *frame) {
    HwdEncoder *encoder = self(of);
    GstClockTime last = encoder->last_encoded, now = frame->pts;
    encoder->last_encoded = now;
    // Never those that downstream has requested; and one a second, however late.
    if (!gst_video_encoder_is_qos_enabled(of) || GST_VIDEO_CODEC_FRAME_IS_FORCE_KEYFRAME(frame)) return FALSE;
    if (!GST_CLOCK_TIME_IS_VALID(last) || !GST_CLOCK_TIME_IS_VALID(now) || now < last || now >= last + GST_SECOND) return FALSE;
    GstClockTimeDiff left = gst_video_encoder_get_max_encode_time(of, frame);
    GstClockTime shown = gst_segment_to_running_time(&of->input_segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame->input_buffer));
    if (left == G_MAXINT64 || !GST_CLOCK_TIME_IS_VALID(shown) || !GST_CLOCK_TIME_IS_VALID(frame->deadline)) return FALSE;
    // GStreamer 1.22 adds to the deadline what it adds to the times because of gst_video_encoder_set_min_pts.
    gboolean is_late = left < GST_CLOCK_DIFF(shown, frame->deadline);
    if (is_late) encoder->last_encoded = last;
    return is_late;
}

static GstFlowReturn handle_frame(GstVideoEncoder *of, GstVideoCodecFrame *frame) {
    HwdEncoder *encoder = self(of);
    if (is_late(of, frame)) {
        GST_DEBUG_OBJECT(encoder, "frame %u is late", frame->system_frame_number);
        return gst_video_encoder_finish_frame(of, frame);
    }
    HwdStream *stream = session_for(encoder, frame);
    if (!stream) {
        GstFlowReturn reason = hwd_base_flow(&encoder->base);
        gst_video_encoder_finish_frame(of, frame);
        if (reason != GST_FLOW_OK) return reason;
        return GST_PAD_IS_FLUSHING(of->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
    }
    GstBuffer *input = take_input(frame);
    GST_VIDEO_ENCODER_STREAM_UNLOCK(of);
    int result = -ECANCELED;
    if (hwd_stream_wait_room(stream)) {
        hwd_base_apply_changes(&encoder->base, stream);
        result = hwd_encoder_send(encoder, stream, frame, input);
    }
    // The end of a session is posted by the task, after the packets that came before it.
    if (result < 0 && !hwd_stream_is_stopping(stream) && !hwd_stream_end(stream, NULL)) hwd_base_fail(&encoder->base, result, NULL);
    gst_buffer_unref(input);
    GST_VIDEO_ENCODER_STREAM_LOCK(of);
    GstFlowReturn flow = hwd_base_flow(&encoder->base);
    if (result < 0 && flow == GST_FLOW_OK) flow = hwd_stream_is_stopping(stream) ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
    hwd_stream_unref(stream);
    gst_video_codec_frame_unref(frame);
    return flow;
}

static gboolean src_event(GstVideoEncoder *of, GstEvent *event) {
    hwd_base_take_event(&self(of)->base, event);
    return GST_VIDEO_ENCODER_CLASS(hwd_encoder_parent_class)->src_event(of, event);
}

static gboolean sink_event(GstVideoEncoder *of, GstEvent *event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) hwd_base_interrupt(&self(of)->base);
    return GST_VIDEO_ENCODER_CLASS(hwd_encoder_parent_class)->sink_event(of, event);
}

static GstCaps *getcaps(GstVideoEncoder *of, GstCaps *filter) {
    GST_OBJECT_LOCK(of);
    gboolean alpha = self(of)->alpha;
    GST_OBJECT_UNLOCK(of);
    GstCaps *offered = gst_static_caps_get(alpha ? &alpha_caps : &plain_caps);
    GstCaps *caps = gst_video_encoder_proxy_getcaps(of, offered, filter);
    gst_caps_unref(offered);
    return caps;
}

static gboolean propose_allocation(GstVideoEncoder *of, GstQuery *query) {
    GstCaps *caps;
    GstVideoInfo info;
    gboolean needs_pool;
    guint size, count;
    gst_query_parse_allocation(query, &caps, &needs_pool);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    if (caps && gst_video_info_from_caps(&info, caps)) {
        GstBufferPool *pool = needs_pool ? hwd_frame_pool_new(caps, &info, &size, &count) : NULL;
        if (pool) {
            gst_query_add_allocation_pool(query, pool, size, 0, count);
            gst_object_unref(pool);
        }
    }
    return GST_VIDEO_ENCODER_CLASS(hwd_encoder_parent_class)->propose_allocation(of, query);
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange change) {
    if (change == GST_STATE_CHANGE_PAUSED_TO_READY) hwd_base_interrupt(&self(element)->base);
    return GST_ELEMENT_CLASS(hwd_encoder_parent_class)->change_state(element, change);
}

static void set_property(GObject *object, guint number, const GValue *value, GParamSpec *spec) {
    (void)spec;
    if (number != PROPERTY_ALPHA) return hwd_base_set_property(&self(object)->base, number, value);
    GST_OBJECT_LOCK(object);
    self(object)->alpha = g_value_get_boolean(value);
    GST_OBJECT_UNLOCK(object);
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    (void)spec;
    if (number != PROPERTY_ALPHA) return hwd_base_get_property(&self(object)->base, number, value);
    GST_OBJECT_LOCK(object);
    g_value_set_boolean(value, self(object)->alpha);
    GST_OBJECT_UNLOCK(object);
}

static void finalize(GObject *object) {
    hwd_base_clear(&self(object)->base);
    g_byte_array_unref(self(object)->caption);
    G_OBJECT_CLASS(hwd_encoder_parent_class)->finalize(object);
}

static void hwd_encoder_class_init(GstHwdH265EncClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstVideoEncoderClass *encoder = GST_VIDEO_ENCODER_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    hwd_base_install(object, hwd_encoder_properties, "GstHwdH265Enc");
    g_object_class_install_property(
        object, PROPERTY_ALPHA,
        g_param_spec_boolean("alpha", "Alpha", "Whether formats with alpha are taken, and streams with an alpha layer made", FALSE,
                             G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
    element->change_state = change_state;
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &source_template);
    gst_element_class_set_static_metadata(element, "HWDaemon H.265 encoder", "Codec/Encoder/Video/Hardware",
                                          "Encodes H.265 in a session of the hwdaemon daemon", "HWDaemon");
    encoder->start = start;
    encoder->stop = stop;
    encoder->set_format = set_format;
    encoder->handle_frame = handle_frame;
    encoder->flush = flush;
    encoder->finish = finish;
    encoder->src_event = src_event;
    encoder->sink_event = sink_event;
    encoder->getcaps = getcaps;
    encoder->propose_allocation = propose_allocation;
}

static void hwd_encoder_init(GstHwdH265Enc *encoder) {
    GstVideoEncoder *of = GST_VIDEO_ENCODER(encoder);
    hwd_base_init(&encoder->base, GST_ELEMENT(encoder), of->srcpad, "Encoder", hwd_encoder_properties);
    encoder->base.handle = hwd_encoder_handle;
    encoder->caption = g_byte_array_new();
    GST_PAD_SET_ACCEPT_TEMPLATE(of->sinkpad);
}
