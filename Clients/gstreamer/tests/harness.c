// SPDX-License-Identifier: MIT
// Tests of the elements, each in a GstHarness: harness PID, the daemon's.
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int daemon_pid;

void fail(const char *file, int line, const char *condition, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "%s:%d: %s does not hold: ", file, line, condition);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(1);
}

Test raw_test(const char *element) {
    Test test = {.harness = gst_harness_new_parse(element), .bus = gst_bus_new()};
    gst_element_set_bus(test.harness->element, test.bus);
    gst_harness_play(test.harness);
    set_raw_caps(&test, WIDTH, HEIGHT, "");
    return test;
}

void set_raw_caps(Test *test, guint width, guint height, const char *more) {
    gchar *caps = g_strdup_printf("video/x-raw,format=I420,width=%u,height=%u,framerate=%d/1%s", width, height, RATE, more);
    test->width = width;
    test->height = height;
    gst_harness_set_src_caps_str(test->harness, caps);
    g_free(caps);
}

GstBuffer *noise(Test *test, guint number) {
    gsize size = (gsize)test->width * test->height * 3 / 2;
    GstBuffer *buffer = gst_harness_create_buffer(test->harness, size);
    GstMapInfo map;
    guint32 state = number * 2654435761u + 1;
    EXPECT(gst_buffer_map(buffer, &map, GST_MAP_WRITE), "no memory");
    for (gsize i = 0; i < map.size; i++) {
        state = state * 1664525u + 1013904223u;
        map.data[i] = (guint8)(64 + (state >> 24) % 128);
    }
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(number, GST_SECOND, RATE);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / RATE;
    return buffer;
}

void push_frames(Test *test, guint first, guint count) {
    for (guint i = first; i < first + count; i++) {
        GstFlowReturn flow = gst_harness_push(test->harness, noise(test, i));
        EXPECT(flow == GST_FLOW_OK, "frame %u: %s: %s", i, gst_flow_get_name(flow), wait_for_error(test));
    }
}

guint count_buffers(Test *test) {
    guint count = 0;
    for (GstBuffer *buffer; (buffer = gst_harness_try_pull(test->harness)); count++) gst_buffer_unref(buffer);
    return count;
}

void finish(Test *test) { EXPECT(gst_harness_push_event(test->harness, gst_event_new_eos()), "EOS is refused"); }

void end_test(Test *test) {
    gst_element_set_bus(test->harness->element, NULL);
    gst_object_unref(test->bus);
    gst_harness_teardown(test->harness);
}

gchar *wait_for_error(Test *test) {
    GError *error = NULL;
    GstMessage *message = gst_bus_timed_pop_filtered(test->bus, 20 * GST_SECOND, GST_MESSAGE_ERROR);
    EXPECT(message, "no error was posted");
    gst_message_parse_error(message, &error, NULL);
    gchar *text = g_strdup(error->message);
    g_error_free(error);
    gst_message_unref(message);
    return text;
}

gchar *wait_for_warning(Test *test, const char *part) {
    gchar *text = NULL;
    while (!text) {
        GError *warning = NULL;
        GstMessage *message = gst_bus_timed_pop_filtered(test->bus, 20 * GST_SECOND, GST_MESSAGE_WARNING);
        EXPECT(message, "no warning with '%s' was posted", part);
        gst_message_parse_warning(message, &warning, NULL);
        if (strstr(warning->message, part)) text = g_strdup(warning->message);
        g_error_free(warning);
        gst_message_unref(message);
    }
    return text;
}

// Whether a worker codes: one that waits for its session has a single thread. A session that continues could get that one.
static gboolean has_session(const char *process) {
    guint threads = 0;
    gchar *path = g_strdup_printf("/proc/%s/task", process);
    GDir *tasks = g_dir_open(path, 0, NULL);
    while (tasks && g_dir_read_name(tasks)) threads++;
    if (tasks) g_dir_close(tasks);
    g_free(path);
    return threads > 1;
}

// The children of one of the daemon's threads that are workers of a kind.
static guint crash_children(const char *thread, const char *name) {
    guint count = 0;
    gchar *path = g_strdup_printf("/proc/%d/task/%s/children", daemon_pid, thread), *line = NULL;
    if (g_file_get_contents(path, &line, NULL, NULL)) {
        gchar **children = g_strsplit(g_strstrip(line), " ", -1);
        for (gchar **at = children; *at && **at; at++) {
            gchar *file = g_strdup_printf("/proc/%s/comm", *at), *worker = NULL;
            // The kernel cuts names off.
            if (g_file_get_contents(file, &worker, NULL, NULL) && g_str_has_prefix(worker, name) && has_session(*at))
                count += kill(atoi(*at), SIGSEGV) == 0;
            g_free(worker);
            g_free(file);
        }
        g_strfreev(children);
    }
    g_free(line);
    g_free(path);
    return count;
}

guint crash_workers(const char *kind) {
    guint count = 0;
    gchar *name = g_strdup_printf("hwdaemon-%s", kind), *path = g_strdup_printf("/proc/%d/task", daemon_pid);
    GDir *threads = g_dir_open(path, 0, NULL);
    EXPECT(threads, "the daemon %d does not run", daemon_pid);
    for (const gchar *thread; (thread = g_dir_read_name(threads));) count += crash_children(thread, name);
    g_dir_close(threads);
    g_free(path);
    g_free(name);
    return count;
}

int main(int argc, char **argv) {
    gst_init(&argc, &argv);
    if (argc != 2) {
        fprintf(stderr, "usage: harness PID\n");
        return 64;
    }
    daemon_pid = atoi(argv[1]);
    test_encoder();
    test_decoder();
    test_effects();
    return 0;
}
