// SPDX-License-Identifier: MIT
#include "encoder/encoder.h"

#include <string.h>

#include "video/formats.h"

// Main or Main 10, where downstream takes only one of them.
static const char *requested_profile(HwdEncoder *encoder) {
    const char *profile = NULL;
    GstCaps *caps = gst_pad_get_allowed_caps(GST_VIDEO_ENCODER_SRC_PAD(encoder));
    const GstStructure *first = caps && !gst_caps_is_empty(caps) ? gst_caps_get_structure(caps, 0) : NULL;
    const gchar *text = first ? gst_structure_get_string(first, "profile") : NULL;
    if (g_strcmp0(text, "main") == 0) profile = "HEVC_Main_AutoLevel";
    if (g_strcmp0(text, "main-10") == 0) profile = "HEVC_Main10_AutoLevel";
    if (caps) gst_caps_unref(caps);
    return profile;
}

static gchar *session_properties(HwdEncoder *encoder) {
    HwdProperties *set = &encoder->base.properties;
    GString *json = g_string_new("{}");
    hwd_add_caps_properties(json, encoder->input, set);
    const char *profile = requested_profile(encoder);
    if (profile && !hwd_properties_is_set(set, "ProfileLevel")) {
        gchar *quoted = g_strdup_printf("\"%s\"", profile);
        hwd_json_add(json, "ProfileLevel", quoted);
        g_free(quoted);
    }
    if (GST_VIDEO_INFO_HAS_ALPHA(&encoder->input->info)) {
        // GStreamer's alpha is straight, and nothing downstream would know that it became premultiplied.
        gboolean is_premultiplied = GST_VIDEO_INFO_FLAG_IS_SET(&encoder->input->info, GST_VIDEO_FLAG_PREMULTIPLIED_ALPHA);
        const char *mode = is_premultiplied ? "\"premultiplied\"" : "\"straight\"";
        if (!hwd_properties_is_set(set, "AlphaChannelMode")) hwd_json_add(json, "AlphaChannelMode", mode);
        if (!hwd_properties_is_set(set, "SourceAlphaMode")) hwd_json_add(json, "SourceAlphaMode", mode);
    }
    hwd_properties_add_all(set, json);
    return g_string_free(json, FALSE);
}

static gboolean is_real_time(HwdEncoder *encoder) {
    gint64 value;
    return hwd_properties_read(&encoder->base.properties, "RealTime", &value) && value;
}

// How many frames the encoder is expected to hold; what is measured later replaces it.
static guint expected_delay(HwdEncoder *encoder, const hwd_session_info *info) {
    enum { HARDWARE = 4, SOFTWARE = 28 }; // a pyramid of 4; x265's look-ahead, B frames and frame threads
    gint64 value;
    if (is_real_time(encoder)) return 0;
    if (hwd_properties_read(&encoder->base.properties, "MaxFrameDelayCount", &value)) return (guint)value;
    return info->using_hardware ? HARDWARE : SOFTWARE;
}

// The hvcC record, which comes with the reply to hwd_prepare.
static GstBuffer *take_record(hwd_session *session) {
    GstBuffer *record = NULL;
    hwd_event event;
    HWD_INIT(event);
    while (!record && hwd_next_event(session, &event, HWD_DEFAULT_TIMEOUT) > 0) {
        if (event.type == HWD_EVENT_FORMAT) record = gst_buffer_new_memdup(event.data, event.data_size);
        hwd_release(session, &event);
    }
    return record;
}

static int create(HwdEncoder *encoder, hwd_session **session) {
    const GstVideoInfo *info = &encoder->input->info;
    gchar *specification = hwd_base_specification(&encoder->base), *properties = session_properties(encoder);
    GST_DEBUG_OBJECT(encoder, "properties: %s", properties);
    hwd_compression_config config;
    HWD_INIT(config);
    config.codec = GST_VIDEO_INFO_HAS_ALPHA(info) ? "hevc-with-alpha" : "hevc";
    config.width = (guint)info->width;
    config.height = (guint)info->height;
    config.pixel_format = hwd_format(GST_VIDEO_INFO_FORMAT(info));
    config.time_base = (hwd_rational){1, GST_SECOND};
    config.specification = specification;
    config.properties = properties;
    int result = hwd_compression_create(encoder->base.daemon, &config, session);
    if (result == 0 && (result = hwd_prepare(*session, HWD_DEFAULT_TIMEOUT)) < 0) {
        // Freeing the session does not change the thread's last error.
        hwd_destroy(*session);
        *session = NULL;
    }
    g_free(specification);
    g_free(properties);
    return result;
}

gboolean hwd_encoder_open(HwdEncoder *encoder) {
    enum { MAX_PACKETS = 16 };
    hwd_session *session;
    int result = create(encoder, &session);
    GstBuffer *record = result < 0 ? NULL : take_record(session);
    if (!record) {
        hwd_base_fail(&encoder->base, result, NULL);
        if (result == 0) hwd_destroy(session);
        return FALSE;
    }
    encoder->last_pts = G_MININT64;
    encoder->last_encoded = GST_CLOCK_TIME_NONE;
    encoder->is_live = hwd_is_live(GST_VIDEO_ENCODER_SINK_PAD(encoder));
    hwd_session_info info;
    HWD_INIT(info);
    hwd_get_info(session, &info);
    hwd_encoder_report_latency(encoder, expected_delay(encoder, &info));
    encoder->base.is_direct = encoder->is_live;
    encoder->base.max_coding = encoder->is_live && is_real_time(encoder) ? 1 : 0;
    hwd_base_open(&encoder->base, session, hwd_encoder_convert, MAX_PACKETS, G_MAXUINT);
    GstFlowReturn flow = hwd_encoder_take_format(encoder, record);
    gst_buffer_unref(record);
    return flow == GST_FLOW_OK;
}

void hwd_encoder_close(HwdEncoder *encoder) {
    // The task may wait for the lock.
    GST_VIDEO_ENCODER_STREAM_UNLOCK(encoder);
    hwd_base_close(&encoder->base);
    GST_VIDEO_ENCODER_STREAM_LOCK(encoder);
    hwd_encoder_forget_pools(encoder);
}

GstFlowReturn hwd_encoder_drain(HwdEncoder *encoder) {
    HwdStream *stream = hwd_base_stream(&encoder->base);
    if (!stream) return GST_FLOW_OK;
    GST_VIDEO_ENCODER_STREAM_UNLOCK(encoder);
    gboolean completed = hwd_stream_complete(stream);
    GST_VIDEO_ENCODER_STREAM_LOCK(encoder);
    GstFlowReturn flow = completed ? hwd_base_flow(&encoder->base) : hwd_base_lost(&encoder->base, stream);
    hwd_stream_unref(stream);
    return flow;
}
