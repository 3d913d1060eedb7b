// SPDX-License-Identifier: MIT
#ifndef HARNESS_H
#define HARNESS_H

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

// Ends the program with the line's number and a message if a condition does not hold.
#define EXPECT(condition, ...) \
    do { \
        if (!(condition)) fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)
void fail(const char *file, int line, const char *condition, const char *format, ...) G_GNUC_PRINTF(4, 5) G_GNUC_NORETURN;

enum { WIDTH = 320, HEIGHT = 240, RATE = 30 };

// An element under test, with caps of its input set, and a bus.
typedef struct Test {
    GstHarness *harness;
    GstBus *bus;
    guint width, height;
} Test;

// Raw video for an encoder, of a size.
Test raw_test(const char *element);
void set_raw_caps(Test *test, guint width, guint height, const char *more);
// A frame of noise that differs from frame to frame, with the time of frame `number`.
GstBuffer *noise(Test *test, guint number);
void push_frames(Test *test, guint first, guint count);
// What has come, until EOS: its number of buffers.
guint count_buffers(Test *test);
void finish(Test *test);
void end_test(Test *test);
// The text of the error on the bus; waits for it. Free it with g_free.
gchar *wait_for_error(Test *test);
// The first warning whose message has this part, to free with g_free.
gchar *wait_for_warning(Test *test, const char *part);
// Kills the workers of a kind ("encode", "decode") with SIGSEGV: their number.
guint crash_workers(const char *kind);

extern int daemon_pid;

void test_encoder(void);
void test_decoder(void);
void test_effects(void);

#endif
