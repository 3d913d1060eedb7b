// SPDX-License-Identifier: MIT
#include "decoder/decoder.h"

#include <string.h>

#include "video/formats.h"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("video/x-h265, stream-format = (string) { hvc1, hev1, byte-stream }, alignment = (string) au"));
static GstStaticPadTemplate source_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE("{ " HWD_PLAIN_FORMATS ", " HWD_ALPHA_FORMATS " }")));

// The type's name, which elements' names begin with.
typedef HwdDecoder GstHwdH265Dec;
typedef HwdDecoderClass GstHwdH265DecClass;
G_DEFINE_TYPE(GstHwdH265Dec, hwd_decoder, GST_TYPE_VIDEO_DECODER)

static HwdDecoder *self(gpointer of) { return of; }

static gboolean start(GstVideoDecoder *of) { return hwd_base_start(&self(of)->base); }

static gboolean stop(GstVideoDecoder *of) {
    HwdDecoder *decoder = self(of);
    hwd_base_stop(&decoder->base);
    g_clear_pointer(&decoder->input, gst_video_codec_state_unref);
    g_clear_pointer(&decoder->record, g_bytes_unref);
    memset(&decoder->format, 0, sizeof decoder->format);
    decoder->delay = 0;
    return TRUE;
}

// hvcC; NULL of byte streams, whose key frames have parameter sets.
static GBytes *record_of(const GstVideoCodecState *state) {
    GstMapInfo map;
    if (!state->codec_data || !gst_buffer_map(state->codec_data, &map, GST_MAP_READ)) return NULL;
    GBytes *record = g_bytes_new(map.data, map.size);
    gst_buffer_unmap(state->codec_data, &map);
    return record;
}

static gboolean set_format(GstVideoDecoder *of, GstVideoCodecState *state) {
    HwdDecoder *decoder = self(of);
    GBytes *record = record_of(state);
    gboolean is_same = record && decoder->record && g_bytes_equal(record, decoder->record);
    HwdStream *stream = hwd_base_stream(&decoder->base);
    GstFlowReturn flow = GST_FLOW_OK;
    if (!is_same || !stream) {
        // The packets before the change belong to the session before it.
        flow = hwd_decoder_drain(decoder);
        hwd_decoder_close(decoder);
    }
    g_clear_pointer(&decoder->record, g_bytes_unref);
    g_clear_pointer(&decoder->input, gst_video_codec_state_unref);
    decoder->record = record;
    decoder->input = gst_video_codec_state_ref(state);
    // Caps that differ otherwise, as in the frame rate, are the pictures' too.
    memset(&decoder->format, 0, sizeof decoder->format);
    gboolean is_open = flow != GST_FLOW_ERROR && (!record || (is_same && stream) || hwd_decoder_open(decoder));
    if (stream) hwd_stream_unref(stream);
    return is_open;
}

static gboolean flush(GstVideoDecoder *of) {
    hwd_decoder_close(self(of));
    hwd_base_resume(&self(of)->base);
    return TRUE;
}

static GstFlowReturn drain(GstVideoDecoder *of) { return hwd_decoder_drain(self(of)); }

// Whether a picture would come too late to be shown. One is shown each second, however late.
static gboolean is_late(HwdDecoder *decoder, GstVideoCodecFrame *frame) {
    GstVideoDecoder *of = GST_VIDEO_DECODER(decoder);
    gboolean is_late = gst_video_decoder_get_max_decode_time(of, frame) < 0 && !GST_VIDEO_CODEC_FRAME_IS_SYNC_POINT(frame);
    GstClockTime now = frame->pts, last = decoder->last_shown;
    if (!GST_CLOCK_TIME_IS_VALID(now)) return FALSE;
    if (is_late && GST_CLOCK_TIME_IS_VALID(last) && now >= last && now < last + GST_SECOND) return TRUE;
    decoder->last_shown = now;
    return FALSE;
}

// An open session for the packet, with a reference; NULL: there can be none before a key frame, or an error was posted.
static HwdStream *session_for(HwdDecoder *decoder, const GstMapInfo *packet) {
    HwdStream *stream = hwd_base_stream(&decoder->base);
    if (stream && hwd_base_is_relinked(&decoder->base)) {
        hwd_stream_unref(stream);
        hwd_decoder_close(decoder);
        stream = NULL;
    }
    if (stream) return stream;
    if (!decoder->record) decoder->record = hwd_find_parameter_sets(packet->data, packet->size);
    if (!decoder->record || !hwd_decoder_open(decoder)) return NULL;
    return hwd_base_stream(&decoder->base);
}

static int send(HwdDecoder *decoder, HwdStream *stream, const GstMapInfo *bytes, guint32 frame, guint32 flags) {
    if (!hwd_stream_wait_room(stream)) return -ECANCELED;
    hwd_base_apply_changes(&decoder->base, stream);
    hwd_packet packet;
    HWD_INIT(packet);
    // Pictures are matched by number; their times are those of the codec frames.
    packet.pts = frame;
    packet.data = bytes->data;
    packet.data_size = (guint32)bytes->size;
    packet.flags = flags;
    hwd_stream_begin(stream);
    int result = hwd_decode(stream->session, &packet, HWD_DEFAULT_TIMEOUT);
    hwd_stream_sent(stream, result < 0 ? 0 : packet.number, frame, NULL);
    // The end of a session is posted by the task, after the pictures that came before it.
    if (result < 0 && !hwd_stream_is_stopping(stream) && !hwd_stream_end(stream, NULL)) hwd_base_fail(&decoder->base, result, NULL);
    return result;
}

static GstFlowReturn handle_frame(GstVideoDecoder *of, GstVideoCodecFrame *frame) {
    HwdDecoder *decoder = self(of);
    GstMapInfo map;
    GstBuffer *packet = gst_buffer_ref(frame->input_buffer);
    if (!gst_buffer_map(packet, &map, GST_MAP_READ)) {
        gst_buffer_unref(packet);
        gst_video_decoder_drop_frame(of, frame);
        return GST_FLOW_ERROR;
    }
    gboolean drops = is_late(decoder, frame);
    HwdStream *stream = session_for(decoder, &map);
    GstFlowReturn flow = stream || !decoder->record ? GST_FLOW_OK : GST_FLOW_ERROR;
    if (stream) {
        GST_VIDEO_DECODER_STREAM_UNLOCK(of);
        int result = send(decoder, stream, &map, frame->system_frame_number, drops ? HWD_DO_NOT_OUTPUT : 0);
        GST_VIDEO_DECODER_STREAM_LOCK(of);
        flow = hwd_base_flow(&decoder->base);
        if (result < 0 && flow == GST_FLOW_OK) flow = hwd_stream_is_stopping(stream) ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
    }
    gst_buffer_unmap(packet, &map);
    gst_buffer_unref(packet);
    if (!stream) gst_video_decoder_release_frame(of, frame);
    else if (drops) gst_video_decoder_drop_frame(of, frame);
    else gst_video_codec_frame_unref(frame);
    if (stream) hwd_stream_unref(stream);
    return flow;
}

static gboolean src_event(GstVideoDecoder *of, GstEvent *event) {
    hwd_base_take_event(&self(of)->base, event);
    return GST_VIDEO_DECODER_CLASS(hwd_decoder_parent_class)->src_event(of, event);
}

static gboolean sink_event(GstVideoDecoder *of, GstEvent *event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) hwd_base_interrupt(&self(of)->base);
    return GST_VIDEO_DECODER_CLASS(hwd_decoder_parent_class)->sink_event(of, event);
}

static gboolean decide_allocation(GstVideoDecoder *of, GstQuery *query) {
    self(of)->takes_video_meta = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    return GST_VIDEO_DECODER_CLASS(hwd_decoder_parent_class)->decide_allocation(of, query);
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange change) {
    if (change == GST_STATE_CHANGE_PAUSED_TO_READY) hwd_base_interrupt(&self(element)->base);
    return GST_ELEMENT_CLASS(hwd_decoder_parent_class)->change_state(element, change);
}

static void set_property(GObject *object, guint number, const GValue *value, GParamSpec *spec) {
    (void)spec;
    hwd_base_set_property(&self(object)->base, number, value);
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    (void)spec;
    hwd_base_get_property(&self(object)->base, number, value);
}

static void finalize(GObject *object) {
    hwd_base_clear(&self(object)->base);
    G_OBJECT_CLASS(hwd_decoder_parent_class)->finalize(object);
}

static void hwd_decoder_class_init(GstHwdH265DecClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstVideoDecoderClass *decoder = GST_VIDEO_DECODER_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    hwd_base_install(object, hwd_decoder_properties, "GstHwdH265Dec");
    element->change_state = change_state;
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &source_template);
    gst_element_class_set_static_metadata(element, "HWDaemon H.265 decoder", "Codec/Decoder/Video/Hardware",
                                          "Decodes H.265 in a session of the hwdaemon daemon", "HWDaemon");
    decoder->start = start;
    decoder->stop = stop;
    decoder->set_format = set_format;
    decoder->handle_frame = handle_frame;
    decoder->flush = flush;
    decoder->drain = drain;
    decoder->finish = drain;
    decoder->src_event = src_event;
    decoder->sink_event = sink_event;
    decoder->decide_allocation = decide_allocation;
}

static void hwd_decoder_init(GstHwdH265Dec *decoder) {
    GstVideoDecoder *of = GST_VIDEO_DECODER(decoder);
    hwd_base_init(&decoder->base, GST_ELEMENT(decoder), of->srcpad, "Decoder", hwd_decoder_properties);
    decoder->base.handle = hwd_decoder_handle;
    gst_video_decoder_set_packetized(of, TRUE);
    gst_video_decoder_set_needs_format(of, TRUE);
    gst_video_decoder_set_use_default_pad_acceptcaps(of, TRUE);
    GST_PAD_SET_ACCEPT_TEMPLATE(of->sinkpad);
}
