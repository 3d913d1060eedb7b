// SPDX-License-Identifier: MIT
#include <string.h>

#include "decoder/decoder.h"
#include "video/formats.h"

enum { VPS = 32, PPS = 34, SPS = 33 };

// Where the next start code begins; `size` if there is none.
static gsize find_start_code(const guint8 *bytes, gsize size, gsize at) {
    for (; at + 3 <= size; at++)
        if (bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1) return at;
    return size;
}

GBytes *hwd_find_parameter_sets(const guint8 *bytes, gsize size) {
    static const guint8 start_code[] = {0, 0, 0, 1};
    GByteArray *sets = g_byte_array_new();
    gboolean has_sps = FALSE;
    for (gsize at = find_start_code(bytes, size, 0); at + 3 < size;) {
        gsize begin = at + 3, end = find_start_code(bytes, size, begin);
        guint type = bytes[begin] >> 1 & 0x3f;
        if (type >= VPS && type <= PPS) {
            g_byte_array_append(sets, start_code, sizeof start_code);
            gsize last = end;
            while (last > begin && bytes[last - 1] == 0) last--;
            g_byte_array_append(sets, bytes + begin, (guint)(last - begin));
            has_sps = has_sps || type == SPS;
        }
        at = end;
    }
    if (has_sps) return g_byte_array_free_to_bytes(sets);
    g_byte_array_unref(sets);
    return NULL;
}

// The bits of a luma sample by h265parse's caps or an hvcC record; 0: not known.
static guint bit_depth(HwdDecoder *decoder) {
    enum { BIT_DEPTH_LUMA = 17 };
    gsize size;
    guint depth = 0;
    const guint8 *bytes = g_bytes_get_data(decoder->record, &size);
    if (gst_structure_get_uint(gst_caps_get_structure(decoder->input->caps, 0), "bit-depth-luma", &depth)) return depth;
    return size > BIT_DEPTH_LUMA && bytes[0] == 1 ? 8 + (bytes[BIT_DEPTH_LUMA] & 7) : 0;
}

// Whether downstream takes a format, and the first format of the daemon's that it takes.
static gboolean is_taken(const GstCaps *allowed, GstVideoFormat format) {
    GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, gst_video_format_to_string(format), NULL);
    gboolean taken = gst_caps_can_intersect(allowed, caps);
    gst_caps_unref(caps);
    return taken;
}

// The pixel format to request: 0, the decoder's own, where downstream takes what that can be.
static guint32 choose_format(HwdDecoder *decoder) {
    static const GstVideoFormat all[] = {
        GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_P010_10LE,
        GST_VIDEO_FORMAT_A420, GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_RGBA};
    GstCaps *allowed = gst_pad_get_allowed_caps(GST_VIDEO_DECODER_SRC_PAD(decoder));
    if (!allowed || gst_caps_is_empty(allowed)) {
        if (allowed) gst_caps_unref(allowed);
        return 0;
    }
    guint depth = bit_depth(decoder);
    guint first = depth > 8 ? 2 : 0, last = depth == 8 ? 2 : 4, taken = 0, wanted = last - first;
    guint32 chosen = 0;
    // Those of the stream's depth first, so that neither precision nor time is lost.
    for (guint i = first; i < last; i++) {
        if (!is_taken(allowed, all[i])) continue;
        taken++;
        if (!chosen) chosen = hwd_format(all[i]);
    }
    if (taken == wanted || (taken > 0 && depth == 0)) chosen = 0;
    for (guint i = 0; i < G_N_ELEMENTS(all) && taken == 0; i++) {
        if (!is_taken(allowed, all[i])) continue;
        taken++;
        chosen = hwd_format(all[i]);
    }
    gst_caps_unref(allowed);
    return chosen;
}

gboolean hwd_decoder_open(HwdDecoder *decoder) {
    enum { MAX_PICTURES = 3, MAX_PENDING = 8, EXPECTED_DELAY = 2 };
    HwdBase *base = &decoder->base;
    hwd_session *session;
    hwd_decompression_config config;
    HWD_INIT(config);
    GString *properties = g_string_new("{}");
    gchar *specification = hwd_base_specification(base);
    config.pixel_format = choose_format(decoder);
    gboolean is_rgb = config.pixel_format == HWD_AR24 || config.pixel_format == HWD_AB24;
    if (is_rgb && !hwd_properties_is_set(&base->properties, "DestinationAlphaMode"))
        hwd_json_add(properties, "DestinationAlphaMode", "\"straight\"");
    hwd_properties_add_all(&base->properties, properties);
    config.format = g_bytes_get_data(decoder->record, &config.format_size);
    config.time_base = (hwd_rational){1, GST_SECOND};
    config.specification = specification;
    config.properties = properties->str;
    int result = hwd_decompression_create(base->daemon, &config, &session);
    g_free(specification);
    g_string_free(properties, TRUE);
    if (result < 0) {
        hwd_base_fail(base, result, NULL);
        return FALSE;
    }
    decoder->is_live = hwd_is_live(GST_VIDEO_DECODER_SINK_PAD(decoder));
    decoder->last_shown = GST_CLOCK_TIME_NONE;
    hwd_decoder_report_latency(decoder, MAX(decoder->delay, EXPECTED_DELAY));
    hwd_base_open(base, session, hwd_decoder_convert, MAX_PICTURES, MAX_PENDING);
    return TRUE;
}

void hwd_decoder_close(HwdDecoder *decoder) {
    // The task may wait for the lock.
    GST_VIDEO_DECODER_STREAM_UNLOCK(decoder);
    hwd_base_close(&decoder->base);
    GST_VIDEO_DECODER_STREAM_LOCK(decoder);
}

GstFlowReturn hwd_decoder_drain(HwdDecoder *decoder) {
    HwdStream *stream = hwd_base_stream(&decoder->base);
    if (!stream) return GST_FLOW_OK;
    GST_VIDEO_DECODER_STREAM_UNLOCK(decoder);
    gboolean completed = hwd_stream_complete(stream);
    GST_VIDEO_DECODER_STREAM_LOCK(decoder);
    GstFlowReturn flow = completed ? hwd_base_flow(&decoder->base) : hwd_base_lost(&decoder->base, stream);
    hwd_stream_unref(stream);
    return flow;
}
