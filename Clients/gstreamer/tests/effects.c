// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "harness.h"

// The first sample of the next frame, a gray one of RGBA with this value.
static guint8 result_of(GstHarness *harness, guint8 value) {
    GstMapInfo map;
    GstBuffer *frame = gst_buffer_new_allocate(NULL, 64 * 48 * 4, NULL);
    gst_buffer_memset(frame, 0, value, 64 * 48 * 4);
    EXPECT(gst_harness_push(harness, frame) == GST_FLOW_OK, "a frame is refused");
    GstBuffer *result = gst_harness_pull(harness);
    EXPECT(result && gst_buffer_map(result, &map, GST_MAP_READ), "a frame has no result");
    guint8 first = map.data[0];
    EXPECT(map.size == 64 * 48 * 4 && map.data[1] == first && map.data[2] == first, "a gray frame gets a color");
    EXPECT(map.data[3] == value, "alpha becomes %u", map.data[3]);
    gst_buffer_unmap(result, &map);
    gst_buffer_unref(result);
    return first;
}

static void expect(GstHarness *harness, const char *effects, guint8 wanted) {
    gst_harness_set(harness, "hwdeffects", "effects", effects, NULL);
    guint8 found = result_of(harness, 188);
    EXPECT(found == wanted, "%s: %u instead of %u", effects, found, wanted);
}

// Effects change in an open session, other ones get another session, and none pass frames. 188 is light of 0.503.
static void changes_effects(void) {
    gchar *folder = g_dir_make_tmp("hwdeffects-XXXXXX", NULL), *path = g_build_filename(folder, "a,b;c.cube", NULL);
    EXPECT(g_file_set_contents(path, "LUT_1D_SIZE 2\n0 0 0\n0.5 0.5 0.5\n", -1, NULL), "no file can be written");
    gchar *table = g_strdup_printf("lut:file=%s/a\\,b\\;c.cube,space=srgb", folder);
    gchar *both = g_strdup_printf("exposure:ev=-1; %s", table);
    GstHarness *harness = gst_harness_new_parse("hwdeffects device=cpu");
    gst_harness_set_src_caps_str(harness, "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1,colorimetry=sRGB");
    expect(harness, NULL, 188);
    expect(harness, "exposure:ev=1", 255);
    expect(harness, "exposure:ev=-1", 137);
    expect(harness, table, 94);
    expect(harness, both, 69);
    expect(harness, "", 188);
    gst_harness_teardown(harness);
    remove(path);
    remove(folder);
    g_free(both);
    g_free(table);
    g_free(path);
    g_free(folder);
}

// Words of 10 bits: G is 783, and a stop less is its light halved.
static void takes_words(void) {
    static const char *formats[] = {"BGR10A2_LE", "RGB10A2_LE"};
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
        gchar *caps = g_strdup_printf("video/x-raw,format=%s,width=64,height=48,framerate=30/1,colorimetry=sRGB", formats[i]);
        GstHarness *harness = gst_harness_new_parse("hwdeffects device=cpu effects=exposure:ev=-1");
        gst_harness_set_src_caps_str(harness, caps);
        GstMapInfo map;
        GstBuffer *frame = gst_buffer_new_allocate(NULL, 64 * 48 * 4, NULL);
        gst_buffer_memset(frame, 0, 60, 64 * 48 * 4);
        EXPECT(gst_harness_push(harness, frame) == GST_FLOW_OK, "%s is refused", formats[i]);
        GstBuffer *result = gst_harness_pull(harness);
        EXPECT(result && gst_buffer_map(result, &map, GST_MAP_READ), "%s has no result", formats[i]);
        guint32 word = GST_READ_UINT32_LE(map.data), green = word >> 10 & 1023;
        EXPECT(green == 572 && word >> 30 == 0, "%s: %u and alpha %u", formats[i], green, word >> 30);
        gst_buffer_unmap(result, &map);
        gst_buffer_unref(result);
        gst_harness_teardown(harness);
        g_free(caps);
    }
}

static void names_what_is_wrong(void) {
    static const struct { const char *effects, *reason; } cases[] = {
        {"exposure:ev=11", "ev=11 is not within"}, {"lut:file=/nonexistent/a.cube", "/nonexistent/a.cube"}, {"blur", "blur is not one of"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Test test = raw_test("hwdeffects device=cpu");
        gst_harness_set(test.harness, "hwdeffects", "effects", cases[i].effects, NULL);
        EXPECT(gst_harness_push(test.harness, noise(&test, 0)) != GST_FLOW_OK, "%s: a frame passes", cases[i].effects);
        gchar *error = wait_for_error(&test);
        EXPECT(strstr(error, cases[i].reason), "%s: %s", cases[i].effects, error);
        g_free(error);
        end_test(&test);
    }
}

// Numbers of a colorimetry are its range, matrix, transfer function and primaries. 2:4:2:1 has a gamma of 1.8, 2:4:3:1 one of 2.0,
// 2:2:5:1 FCC's matrix, 2:3:5:8 the primaries of Adobe RGB, 2:4:4:1 a gamma of 2.2.
static void refuses_unknown_colors(void) {
    static const struct { const char *color, *reason; } cases[] = {
        {"2:4:2:1", "the transfer function of"}, {"2:4:3:1", "the transfer function of"}, {"2:2:5:1", "the matrix of"},
        {"2:3:5:8", "the primaries of"}, {"2:4:4:1", NULL}, {"bt709", NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        Test test = raw_test("hwdeffects device=cpu");
        gchar *more = g_strdup_printf(",colorimetry=(string)%s", cases[i].color);
        set_raw_caps(&test, WIDTH, HEIGHT, more);
        gst_harness_set(test.harness, "hwdeffects", "effects", "exposure:ev=1", NULL);
        gboolean is_done = gst_harness_push(test.harness, noise(&test, 0)) == GST_FLOW_OK;
        EXPECT(is_done == !cases[i].reason, "%s: a frame %s", cases[i].color, is_done ? "passes" : "is refused");
        if (!is_done) {
            gchar *error = wait_for_error(&test);
            EXPECT(strstr(error, cases[i].reason), "%s: %s", cases[i].color, error);
            g_free(error);
        }
        g_free(more);
        end_test(&test);
    }
}

void test_effects(void) {
    changes_effects();
    takes_words();
    names_what_is_wrong();
    refuses_unknown_colors();
}
