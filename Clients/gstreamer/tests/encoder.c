// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "harness.h"

// Fast, and with a look-ahead of frames in the encoder.
#define ENCODER "hwdh265enc x265-preset=ultrafast "

static void sends_every_frame(void) {
    Test test = raw_test(ENCODER);
    push_frames(&test, 0, 40);
    finish(&test);
    GstClockTime last_dts = 0;
    guint count = 0;
    for (GstBuffer *packet; (packet = gst_harness_try_pull(test.harness)); count++) {
        EXPECT(GST_BUFFER_DTS(packet) > last_dts, "packet %u: the decoding time does not rise", count);
        EXPECT(GST_BUFFER_DTS(packet) <= GST_BUFFER_PTS(packet), "packet %u is decoded after it is shown", count);
        EXPECT((count == 0) == !GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT), "packet %u: wrong kind", count);
        last_dts = GST_BUFFER_DTS(packet);
        gst_buffer_unref(packet);
    }
    EXPECT(count == 40, "%u packets", count);
    end_test(&test);
}

// RealTime: each packet comes before the next frame is sent.
static void has_no_latency(void) {
    Test test = raw_test(ENCODER "real-time=true");
    for (guint i = 0; i < 10; i++) {
        push_frames(&test, i, 1);
        gst_buffer_unref(gst_harness_pull(test.harness));
    }
    GstClockTime latency = gst_harness_query_latency(test.harness);
    EXPECT(latency == 0, "the latency is %" GST_TIME_FORMAT, GST_TIME_ARGS(latency));
    end_test(&test);
}

static GstClockTime latency_of(const char *element) {
    Test test = raw_test(element);
    push_frames(&test, 0, 1);
    GstClockTime latency = gst_harness_query_latency(test.harness);
    end_test(&test);
    return latency;
}

// Without RealTime: that of the frames that the encoder may hold, in frames of the input's rate.
static void announces_its_latency(void) {
    GstClockTime limited = latency_of(ENCODER "max-frame-delay-count=4");
    EXPECT(limited == gst_util_uint64_scale_ceil(4, GST_SECOND, RATE), "4 frames are %" GST_TIME_FORMAT, GST_TIME_ARGS(limited));
    GstClockTime estimate = latency_of(ENCODER);
    EXPECT(estimate > limited && estimate < GST_SECOND, "the estimate is %" GST_TIME_FORMAT, GST_TIME_ARGS(estimate));
}

// RealTime in a live pipeline: frames wait in front of the element, not in it.
static void takes_one_frame_at_a_time(void) {
    Test test = raw_test(ENCODER "real-time=true");
    for (guint i = 0; i < 10; i++) {
        push_frames(&test, i, 1);
        // The packet of the frame before may still be on its way.
        guint out = gst_harness_buffers_received(test.harness);
        EXPECT(out + 1 >= i, "%u packets came before frame %u", out, i);
    }
    end_test(&test);
}

static void flushes(void) {
    Test test = raw_test(ENCODER);
    push_frames(&test, 0, 10);
    gst_harness_push_event(test.harness, gst_event_new_flush_start());
    gst_harness_push_event(test.harness, gst_event_new_flush_stop(TRUE));
    count_buffers(&test);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(test.harness, gst_event_new_segment(&segment));
    // Earlier than before: it is another session.
    push_frames(&test, 0, 10);
    finish(&test);
    guint count = count_buffers(&test);
    EXPECT(count == 10, "%u packets came after the flush", count);
    end_test(&test);
}

static gint output_width(Test *test) {
    gint width = 0;
    GstCaps *caps = gst_pad_get_current_caps(test->harness->sinkpad);
    EXPECT(caps, "there are no caps");
    gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
    EXPECT(gst_structure_has_field(gst_caps_get_structure(caps, 0), "codec_data"), "the caps have no codec_data");
    gst_caps_unref(caps);
    return width;
}

static void changes_caps(void) {
    Test test = raw_test(ENCODER);
    push_frames(&test, 0, 10);
    set_raw_caps(&test, 640, 360, "");
    EXPECT(gst_harness_buffers_in_queue(test.harness) == 10, "the frames of the first caps are not complete");
    push_frames(&test, 10, 10);
    finish(&test);
    guint count = count_buffers(&test);
    EXPECT(count == 20, "%u packets", count);
    EXPECT(output_width(&test) == 640, "the width is %d", output_width(&test));
    end_test(&test);
}

static void forces_key_units(void) {
    Test test = raw_test(ENCODER);
    push_frames(&test, 0, 7);
    gst_harness_push_upstream_event(test.harness, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 1));
    push_frames(&test, 7, 7);
    finish(&test);
    guint count = 0, keys = 0;
    for (GstBuffer *packet; (packet = gst_harness_try_pull(test.harness)); count++) {
        gboolean is_key = !GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT);
        GstClockTime pts = GST_BUFFER_PTS(packet) % (GST_SECOND * 3600 * 1000);
        if (is_key) EXPECT(pts == 0 || pts == gst_util_uint64_scale(7, GST_SECOND, RATE), "a key frame at %" GST_TIME_FORMAT, GST_TIME_ARGS(pts));
        keys += is_key;
        gst_buffer_unref(packet);
    }
    EXPECT(count == 14 && keys == 2, "%u packets, %u key frames", count, keys);
    gboolean announced = FALSE;
    for (GstEvent *event; (event = gst_harness_try_pull_event(test.harness)); gst_event_unref(event))
        announced = announced || gst_video_event_is_force_key_unit(event);
    EXPECT(announced, "downstream has no event of the key unit");
    end_test(&test);
}

static gsize bytes_of(Test *test, guint first, guint count) {
    gsize size = 0;
    for (guint i = first; i < first + count; i++) {
        push_frames(test, i, 1);
        GstBuffer *packet = gst_harness_pull(test->harness);
        size += gst_buffer_get_size(packet);
        gst_buffer_unref(packet);
    }
    return size;
}

// After downstream was unlinked and linked again, packets come again, from a key frame on.
static void is_linked_again(void) {
    Test test = raw_test(ENCODER "real-time=true");
    bytes_of(&test, 0, 2);
    GstPad *source = gst_pad_get_peer(test.harness->sinkpad);
    gst_pad_unlink(source, test.harness->sinkpad);
    GstFlowReturn flow = GST_FLOW_OK;
    guint number = 2;
    for (; number < 100 && flow == GST_FLOW_OK; number++) flow = gst_harness_push(test.harness, noise(&test, number));
    EXPECT(flow == GST_FLOW_NOT_LINKED, "the flow is %s", gst_flow_get_name(flow));
    EXPECT(gst_pad_link(source, test.harness->sinkpad) == GST_PAD_LINK_OK, "it cannot be linked again");
    gst_object_unref(source);
    push_frames(&test, number, 1);
    GstBuffer *packet = gst_harness_pull(test.harness);
    EXPECT(!GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT), "the first packet is no key frame");
    gst_buffer_unref(packet);
    end_test(&test);
}

// Frames without times follow each other by the frame rate.
static void makes_times(void) {
    Test test = raw_test(ENCODER);
    for (guint i = 0; i < 10; i++) {
        GstBuffer *frame = noise(&test, i);
        GST_BUFFER_PTS(frame) = GST_CLOCK_TIME_NONE;
        EXPECT(gst_harness_push(test.harness, frame) == GST_FLOW_OK, "frame %u is refused", i);
    }
    finish(&test);
    GstClockTime first = G_MAXUINT64, last = 0;
    guint count = 0;
    for (GstBuffer *packet; (packet = gst_harness_try_pull(test.harness)); count++) {
        first = MIN(first, GST_BUFFER_PTS(packet));
        last = MAX(last, GST_BUFFER_PTS(packet));
        gst_buffer_unref(packet);
    }
    EXPECT(count == 10 && last - first > 8 * GST_SECOND / RATE && last - first < 10 * GST_SECOND / RATE,
           "%u packets in %" GST_TIME_FORMAT, count, GST_TIME_ARGS(last - first));
    end_test(&test);
}

static void changes_the_bit_rate(void) {
    Test test = raw_test(ENCODER "real-time=true average-bit-rate=300000");
    gsize before = bytes_of(&test, 0, 60);
    gst_harness_set(test.harness, "hwdh265enc", "average-bit-rate", 4000000, NULL);
    gsize after = bytes_of(&test, 60, 60);
    EXPECT(after > 4 * before, "%zu bytes at 300 kbit/s, %zu at 4 Mbit/s", before, after);
    // A refused change is a warning, and the session continues.
    gst_harness_set(test.harness, "hwdh265enc", "average-bit-rate", 5, NULL);
    bytes_of(&test, 120, 2);
    GstMessage *warning;
    gboolean named = FALSE;
    while ((warning = gst_bus_pop_filtered(test.bus, GST_MESSAGE_WARNING))) {
        GError *error = NULL;
        gst_message_parse_warning(warning, &error, NULL);
        named = named || strstr(error->message, "AverageBitRate");
        g_error_free(error);
        gst_message_unref(warning);
    }
    EXPECT(named, "no warning names the property");
    end_test(&test);
}

static void drops_late_frames(void) {
    Test test = raw_test(ENCODER "real-time=true qos=true");
    push_frames(&test, 0, 2);
    gst_harness_push_upstream_event(test.harness, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, GST_SECOND));
    push_frames(&test, 2, 5);
    gst_harness_push_upstream_event(test.harness, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 1));
    push_frames(&test, 7, 2);
    push_frames(&test, 120, 1);
    finish(&test);
    // The two before the event, the forced key frame although it is late, and the one that is in time.
    guint count = count_buffers(&test);
    EXPECT(count == 4, "%u packets", count);
    end_test(&test);
}

// MaxCLL, MaxFALL and captions are in the stream.
static void writes_metadata(void) {
    static const guint8 captions[] = {0xfc, 0x94, 0x2c, 0xfc, 0x94, 0x20};
    static const guint8 expected[] = {0xb5, 0x00, 0x31, 'G', 'A', '9', '4', 0x03, 0xc2, 0xff, 0xfc, 0x94, 0x2c, 0xfc, 0x94, 0x20, 0xff};
    Test test = raw_test(ENCODER "real-time=true");
    set_raw_caps(&test, WIDTH, HEIGHT,
                 ",colorimetry=bt2100-pq,content-light-level=(string)1000:400,mastering-display-info=(string)"
                 "35400:14600:8500:39850:6550:2300:15635:16450:10000000:50");
    GstBuffer *frame = noise(&test, 0);
    gst_buffer_add_video_caption_meta(frame, GST_VIDEO_CAPTION_TYPE_CEA708_RAW, captions, sizeof captions);
    EXPECT(gst_harness_push(test.harness, frame) == GST_FLOW_OK, "the frame is refused");
    GstBuffer *packet = gst_harness_pull(test.harness);
    GstMapInfo map;
    EXPECT(gst_buffer_map(packet, &map, GST_MAP_READ), "the packet cannot be read");
    EXPECT(memmem(map.data, map.size, expected, sizeof expected), "the captions are not in the packet");
    gst_buffer_unmap(packet, &map);
    EXPECT(gst_buffer_get_meta(packet, GST_VIDEO_CAPTION_META_API_TYPE), "the caption meta is lost");
    gst_buffer_unref(packet);
    GstCaps *caps = gst_pad_get_current_caps(test.harness->sinkpad);
    const gchar *light = gst_structure_get_string(gst_caps_get_structure(caps, 0), "content-light-level");
    EXPECT(g_strcmp0(light, "1000:400") == 0, "the light level in the caps is %s", light);
    gst_caps_unref(caps);
    end_test(&test);
}

// The worker dies: the session continues in another process, every frame comes back, and the application is warned.
static void goes_on_after_a_crash(void) {
    enum { COUNT = 30 };
    Test test = raw_test(ENCODER "real-time=true");
    bytes_of(&test, 0, 3);
    EXPECT(crash_workers("encode") > 0, "there is no worker");
    GstClockTime last = 0;
    guint keys = 0;
    push_frames(&test, 3, COUNT - 3);
    for (guint i = 3; i < COUNT; i++) {
        GstBuffer *packet = gst_harness_pull(test.harness);
        EXPECT(packet && GST_BUFFER_PTS(packet) > last, "packet %u is lost", i);
        last = GST_BUFFER_PTS(packet);
        keys += !GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT);
        gst_buffer_unref(packet);
    }
    EXPECT(keys == 1, "%u key frames follow", keys);
    gchar *reason = wait_for_warning(&test, "SIGSEGV");
    EXPECT(strstr(reason, "continued in another process"), "the warning is '%s'", reason);
    printf("an encoder that went on: \"%s\"\n", reason);
    g_free(reason);
    end_test(&test);
}

// The worker dies, and the session with it; the application lives, and gets the reason.
static void survives_a_crash(void) {
    Test test = raw_test(ENCODER "real-time=true replays-after-failure=false");
    bytes_of(&test, 0, 3);
    EXPECT(crash_workers("encode") > 0, "there is no worker");
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint i = 3; i < 200 && flow == GST_FLOW_OK; i++) flow = gst_harness_push(test.harness, noise(&test, i));
    EXPECT(flow == GST_FLOW_ERROR, "the flow is %s", gst_flow_get_name(flow));
    gchar *reason = wait_for_error(&test);
    EXPECT(strstr(reason, "SIGSEGV"), "the reason is '%s'", reason);
    printf("an encoder's worker with SIGSEGV: \"%s\"\n", reason);
    g_free(reason);
    end_test(&test);
}

void test_encoder(void) {
    sends_every_frame();
    has_no_latency();
    announces_its_latency();
    takes_one_frame_at_a_time();
    flushes();
    changes_caps();
    forces_key_units();
    makes_times();
    is_linked_again();
    changes_the_bit_rate();
    drops_late_frames();
    writes_metadata();
    goes_on_after_a_crash();
    survives_a_crash();
}
