// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "harness.h"

// A stream: its caps and packets.
typedef struct Clip {
    GstCaps *caps;
    GPtrArray *packets;
} Clip;

static Clip make_clip(guint width, guint height, guint count) {
    gchar *line = g_strdup_printf("videotestsrc pattern=ball num-buffers=%u ! video/x-raw,format=I420,width=%u,height=%u,framerate=%d/1 ! "
                                  "hwdh265enc x265-preset=ultrafast max-key-frame-interval=10 ! h265parse", count, width, height, RATE);
    GstHarness *source = gst_harness_new_parse(line);
    Clip clip = {.packets = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref)};
    gst_harness_play(source);
    for (guint i = 0; i < count; i++) g_ptr_array_add(clip.packets, gst_harness_pull(source));
    clip.caps = gst_pad_get_current_caps(source->sinkpad);
    EXPECT(clip.caps, "the clip has no caps");
    gst_harness_teardown(source);
    g_free(line);
    return clip;
}

static void free_clip(Clip *clip) {
    gst_caps_unref(clip->caps);
    g_ptr_array_unref(clip->packets);
}

static Test decoder_test(const char *element, const Clip *clip) {
    Test test = {.harness = gst_harness_new_parse(element), .bus = gst_bus_new()};
    gst_element_set_bus(test.harness->element, test.bus);
    gst_harness_add_propose_allocation_meta(test.harness, GST_VIDEO_META_API_TYPE, NULL);
    gst_harness_play(test.harness);
    gst_harness_set_src_caps(test.harness, gst_caps_ref(clip->caps));
    return test;
}

static void push_packets(Test *test, const Clip *clip, guint first, guint count) {
    for (guint i = first; i < first + count; i++) {
        GstFlowReturn flow = gst_harness_push(test->harness, gst_buffer_ref(g_ptr_array_index(clip->packets, i)));
        EXPECT(flow == GST_FLOW_OK, "packet %u: %s", i, gst_flow_get_name(flow));
    }
}

// All pictures, in order, with the times of their packets.
static void shows_every_picture(void) {
    Clip clip = make_clip(WIDTH, HEIGHT, 30);
    Test test = decoder_test("hwdh265dec", &clip);
    push_packets(&test, &clip, 0, 30);
    finish(&test);
    GstClockTime last = GST_CLOCK_TIME_NONE;
    guint count = 0;
    for (GstBuffer *picture; (picture = gst_harness_try_pull(test.harness)); count++) {
        const GstVideoMeta *meta = gst_buffer_get_video_meta(picture);
        EXPECT(meta && meta->width == WIDTH && meta->height == HEIGHT, "picture %u has another size", count);
        EXPECT(count == 0 || GST_BUFFER_PTS(picture) > last, "picture %u: the time does not rise", count);
        last = GST_BUFFER_PTS(picture);
        gst_buffer_unref(picture);
    }
    EXPECT(count == 30, "%u pictures", count);
    end_test(&test);
    free_clip(&clip);
}

// An element that keeps every picture does not stop the decoder.
static void is_not_stopped_by_holders(void) {
    Clip clip = make_clip(WIDTH, HEIGHT, 30);
    Test test = decoder_test("hwdh265dec", &clip);
    push_packets(&test, &clip, 0, 30);
    finish(&test);
    GstBuffer *pictures[30];
    guint count = 0, read_only = 0;
    for (; count < 30 && (pictures[count] = gst_harness_try_pull(test.harness)); count++)
        read_only += GST_MEMORY_IS_READONLY(gst_buffer_peek_memory(pictures[count], 0));
    EXPECT(count == 30, "%u pictures", count);
    // The first ones are the decoder's own memory.
    EXPECT(read_only > 0 && read_only < 30, "%u pictures are the decoder's memory", read_only);
    // Pictures outlive the element.
    end_test(&test);
    GstMapInfo map;
    for (guint i = 0; i < count; i++) {
        EXPECT(gst_buffer_map(pictures[i], &map, GST_MAP_READ) && map.data[0] + map.data[map.size - 1] >= 0, "picture %u is gone", i);
        gst_buffer_unmap(pictures[i], &map);
        gst_buffer_unref(pictures[i]);
    }
    free_clip(&clip);
}

static void flushes(void) {
    Clip clip = make_clip(WIDTH, HEIGHT, 30);
    Test test = decoder_test("hwdh265dec", &clip);
    push_packets(&test, &clip, 0, 15);
    gst_harness_push_event(test.harness, gst_event_new_flush_start());
    gst_harness_push_event(test.harness, gst_event_new_flush_stop(TRUE));
    count_buffers(&test);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(test.harness, gst_event_new_segment(&segment));
    push_packets(&test, &clip, 0, 30);
    finish(&test);
    guint count = count_buffers(&test);
    EXPECT(count == 30, "%u pictures came after the flush", count);
    end_test(&test);
    free_clip(&clip);
}

static void changes_caps(void) {
    Clip small = make_clip(WIDTH, HEIGHT, 12), large = make_clip(640, 360, 12);
    Test test = decoder_test("hwdh265dec", &small);
    push_packets(&test, &small, 0, 12);
    gst_harness_set_src_caps(test.harness, gst_caps_ref(large.caps));
    EXPECT(gst_harness_buffers_in_queue(test.harness) == 12, "the pictures of the first caps are not complete");
    push_packets(&test, &large, 0, 12);
    finish(&test);
    for (guint i = 0; i < 24; i++) {
        GstBuffer *picture = gst_harness_try_pull(test.harness);
        EXPECT(picture, "%u pictures", i);
        guint width = gst_buffer_get_video_meta(picture)->width;
        EXPECT(width == (i < 12 ? WIDTH : 640), "picture %u is %u wide", i, width);
        gst_buffer_unref(picture);
    }
    end_test(&test);
    free_clip(&small);
    free_clip(&large);
}

// Downstream's format is requested of the daemon.
static void follows_formats(void) {
    static const char *const formats[] = {"I420", "NV12", "P010_10LE", "BGRA", "A420"};
    Clip clip = make_clip(WIDTH, HEIGHT, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        gchar *line = g_strdup_printf("hwdh265dec ! capsfilter caps=video/x-raw,format=%s", formats[i]);
        Test test = decoder_test(line, &clip);
        push_packets(&test, &clip, 0, 3);
        finish(&test);
        guint count = count_buffers(&test);
        EXPECT(count == 3, "%s: %u pictures", formats[i], count);
        end_test(&test);
        g_free(line);
    }
    free_clip(&clip);
}

// The worker dies: the session continues in another process, every picture comes, and the application is warned.
static void goes_on_after_a_crash(void) {
    enum { COUNT = 30 };
    Clip clip = make_clip(WIDTH, HEIGHT, COUNT);
    Test test = decoder_test("hwdh265dec", &clip);
    push_packets(&test, &clip, 0, 10);
    EXPECT(crash_workers("decode") > 0, "there is no worker");
    push_packets(&test, &clip, 10, COUNT - 10);
    finish(&test);
    guint count = count_buffers(&test);
    EXPECT(count == COUNT, "%u pictures", count);
    gchar *reason = wait_for_warning(&test, "SIGSEGV");
    EXPECT(strstr(reason, "continued in another process"), "the warning is '%s'", reason);
    printf("a decoder that went on: \"%s\"\n", reason);
    g_free(reason);
    end_test(&test);
    free_clip(&clip);
}

// The worker dies, and the session with it; the application lives, and gets the reason.
static void survives_a_crash(void) {
    Clip clip = make_clip(WIDTH, HEIGHT, 30);
    Test test = decoder_test("hwdh265dec replays-after-failure=false", &clip);
    push_packets(&test, &clip, 0, 5);
    EXPECT(crash_workers("decode") > 0, "there is no worker");
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint i = 5; i < 200 && flow == GST_FLOW_OK; i++)
        flow = gst_harness_push(test.harness, gst_buffer_ref(g_ptr_array_index(clip.packets, i % 30)));
    EXPECT(flow == GST_FLOW_ERROR, "the flow is %s", gst_flow_get_name(flow));
    gchar *reason = wait_for_error(&test);
    EXPECT(strstr(reason, "SIGSEGV"), "the reason is '%s'", reason);
    printf("a decoder's worker with SIGSEGV: \"%s\"\n", reason);
    g_free(reason);
    end_test(&test);
    free_clip(&clip);
}

void test_decoder(void) {
    shows_every_picture();
    is_not_stopped_by_holders();
    flushes();
    changes_caps();
    follows_formats();
    goes_on_after_a_crash();
    survives_a_crash();
}
