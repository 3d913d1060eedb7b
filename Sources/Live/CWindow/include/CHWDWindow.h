// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

// A window of a Wayland compositor whose buffers are the caller's own memory. One thread uses it.
typedef struct hwd_window hwd_window;

enum hwd_window_event_kind {
    HWD_WINDOW_CLOSED = 1,
    HWD_WINDOW_CONFIGURED, // `value` x `other`: the size that the compositor wants; 0: any
    HWD_WINDOW_FRAME,      // It is time to draw.
    HWD_WINDOW_PRESENTED,  // `time`: nanoseconds of `clock_id`; `value`: nanoseconds of a refresh, 0 if not known
    HWD_WINDOW_DISCARDED,
    HWD_WINDOW_RELEASED, // `value`: the buffer
    HWD_WINDOW_KEY,      // `value`: the code of linux/input-event-codes.h, `other`: whether a shift key is down
    HWD_WINDOW_REFRESH   // `value`: the output's rate in mHz
};

typedef struct hwd_window_event {
    int kind;
    int64_t value, other, time;
} hwd_window_event;

// Connects; null with the system's error where there is no compositor, or EPROTO where it lacks what a window needs.
hwd_window *hwd_window_open(int *error);
void hwd_window_close(hwd_window *window);
// Whether buffers may have a format of wl_shm (0: AR24, 1: XR24, else a DRM fourcc).
bool hwd_window_has_format(const hwd_window *window, uint32_t format);
bool hwd_window_has_presentation(const hwd_window *window);
bool hwd_window_has_viewports(const hwd_window *window);
uint32_t hwd_window_clock_id(const hwd_window *window);
// Maps the window; HWD_WINDOW_CONFIGURED follows.
void hwd_window_map(hwd_window *window, const char *title, bool fullscreen);
void hwd_window_set_fullscreen(hwd_window *window, bool fullscreen);

typedef struct hwd_window_buffer {
    int32_t offset, width, height, stride;
    uint32_t format;
    int64_t number; // that HWD_WINDOW_RELEASED gives back
} hwd_window_buffer;

// Memory of a file for buffers, until it is removed; null where the compositor cannot have it.
void *hwd_window_add_memory(hwd_window *window, int fd, int32_t size);
// No further buffer is made of memory; those that there are stay.
void hwd_window_remove_memory(void *memory);
// Shows a buffer with the next commit, which `number` identifies until it is released; false where there is no memory.
bool hwd_window_attach(hwd_window *window, void *memory, hwd_window_buffer buffer);
// Size of the surface, where the compositor scales.
void hwd_window_scale(hwd_window *window, int32_t width, int32_t height);
// Turns of 90 degrees, 0 to 3, by which buffers are rotated clockwise to be shown; set once the window is mapped.
void hwd_window_rotate(hwd_window *window, int quarters);
// Commits the surface, and asks for HWD_WINDOW_FRAME.
void hwd_window_commit(hwd_window *window);
// Waits up to `milliseconds` for something to happen; false where the connection is lost.
bool hwd_window_wait(hwd_window *window, int milliseconds);
// The code of the error for which the compositor closed the connection; 0 without one.
uint32_t hwd_window_protocol_error(hwd_window *window);
// The next event; false without one.
bool hwd_window_next(hwd_window *window, hwd_window_event *event);
