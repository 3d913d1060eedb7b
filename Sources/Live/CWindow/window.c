// SPDX-License-Identifier: GPL-2.0-or-later
#include "CHWDWindow.h"

#include "protocols.h"
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FORMATS = 256, QUEUE = 256 };

struct hwd_window {
    struct wl_display *display;
    struct wl_registry *registry;
    struct wl_compositor *compositor;
    struct wl_shm *shm;
    struct wl_seat *seat;
    struct wl_keyboard *keyboard;
    struct wl_output *output;
    struct wl_surface *surface;
    struct wl_proxy *shell, *shell_surface, *toplevel, *presentation, *viewporter, *viewport;
    uint32_t formats[MAX_FORMATS], format_count, clock_id;
    bool has_shift, is_attached;
    int32_t width, height;
    hwd_window_event events[QUEUE];
    unsigned first, count;
};

// A buffer of the compositor, until it is released.
struct shown_buffer {
    hwd_window *window;
    int64_t number;
};

static void add(hwd_window *window, hwd_window_event event) {
    // Of a full queue other events keep the last quarter: a lost frame or release would stop the window.
    if (window->count >= (event.kind == HWD_WINDOW_KEY ? QUEUE * 3 / 4 : QUEUE)) return;
    window->events[(window->first + window->count++) % QUEUE] = event;
}

static struct wl_proxy *construct(void *proxy, uint32_t opcode, const struct wl_interface *interface, void *argument) {
    struct wl_proxy *parent = proxy;
    uint32_t version = wl_proxy_get_version(parent);
    if (argument) return wl_proxy_marshal_flags(parent, opcode, interface, version, 0, NULL, argument);
    return wl_proxy_marshal_flags(parent, opcode, interface, version, 0, NULL);
}

#define REQUEST(proxy, opcode, ...) \
    wl_proxy_marshal_flags(proxy, opcode, NULL, wl_proxy_get_version(proxy), 0, ##__VA_ARGS__)

// MARK: Globals

static void shm_format(void *data, struct wl_shm *shm, uint32_t format) {
    hwd_window *window = data;
    (void)shm;
    if (window->format_count < MAX_FORMATS) window->formats[window->format_count++] = format;
}
static const struct wl_shm_listener shm_listener = {.format = shm_format};

static void shell_ping(void *data, struct wl_proxy *shell, uint32_t serial) {
    (void)data;
    REQUEST(shell, XDG_WM_BASE_PONG, serial);
}
static void (*const shell_listener[])(void) = {(void (*)(void))shell_ping};

static void presentation_clock(void *data, struct wl_proxy *presentation, uint32_t clock_id) {
    (void)presentation;
    ((hwd_window *)data)->clock_id = clock_id;
}
static void (*const presentation_listener[])(void) = {(void (*)(void))presentation_clock};

static void output_geometry(void *data, struct wl_output *output, int32_t x, int32_t y, int32_t width, int32_t height,
                            int32_t subpixel, const char *make, const char *model, int32_t transform) {
    (void)data, (void)output, (void)x, (void)y, (void)width, (void)height;
    (void)subpixel, (void)make, (void)model, (void)transform;
}
static void output_mode(void *data, struct wl_output *output, uint32_t flags, int32_t width, int32_t height,
                        int32_t refresh) {
    (void)output, (void)width, (void)height;
    if (flags & WL_OUTPUT_MODE_CURRENT) add(data, (hwd_window_event){HWD_WINDOW_REFRESH, .value = refresh});
}
static const struct wl_output_listener output_listener = {.geometry = output_geometry, .mode = output_mode};

// MARK: Keys

static void keyboard_keymap(void *data, struct wl_keyboard *keyboard, uint32_t format, int32_t fd, uint32_t size) {
    (void)data, (void)keyboard, (void)format, (void)size;
    close(fd);
}
static void keyboard_enter(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface,
                           struct wl_array *keys) {
    (void)data, (void)keyboard, (void)serial, (void)surface, (void)keys;
}
static void keyboard_leave(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface) {
    (void)keyboard, (void)serial, (void)surface;
    ((hwd_window *)data)->has_shift = false;
}
static void keyboard_key(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t time, uint32_t key,
                         uint32_t state) {
    hwd_window *window = data;
    (void)keyboard, (void)serial, (void)time;
    bool is_down = state == WL_KEYBOARD_KEY_STATE_PRESSED;
    // KEY_LEFTSHIFT and KEY_RIGHTSHIFT.
    if (key == 42 || key == 54) {
        window->has_shift = is_down;
    } else if (is_down) {
        add(window, (hwd_window_event){HWD_WINDOW_KEY, .value = key, .other = window->has_shift});
    }
}
static void keyboard_modifiers(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t depressed,
                               uint32_t latched, uint32_t locked, uint32_t group) {
    (void)data, (void)keyboard, (void)serial, (void)depressed, (void)latched, (void)locked, (void)group;
}
static const struct wl_keyboard_listener keyboard_listener = {.keymap = keyboard_keymap,
                                                              .enter = keyboard_enter,
                                                              .leave = keyboard_leave,
                                                              .key = keyboard_key,
                                                              .modifiers = keyboard_modifiers};

static void seat_capabilities(void *data, struct wl_seat *seat, uint32_t capabilities) {
    hwd_window *window = data;
    if (!(capabilities & WL_SEAT_CAPABILITY_KEYBOARD) || window->keyboard) return;
    window->keyboard = wl_seat_get_keyboard(seat);
    wl_keyboard_add_listener(window->keyboard, &keyboard_listener, window);
}
static const struct wl_seat_listener seat_listener = {.capabilities = seat_capabilities};

// MARK: The registry

static void registry_global(void *data, struct wl_registry *registry, uint32_t name, const char *interface,
                            uint32_t version) {
    hwd_window *window = data;
    if (!strcmp(interface, "wl_compositor") && version >= 4) {
        window->compositor = wl_registry_bind(registry, name, &wl_compositor_interface, 4);
    } else if (!strcmp(interface, "wl_shm") && !window->shm) {
        window->shm = wl_registry_bind(registry, name, &wl_shm_interface, 1);
        wl_shm_add_listener(window->shm, &shm_listener, window);
    } else if (!strcmp(interface, "xdg_wm_base") && !window->shell) {
        window->shell = wl_registry_bind(registry, name, &hwd_xdg_wm_base, 1);
        wl_proxy_add_listener(window->shell, (void (**)(void))shell_listener, window);
    } else if (!strcmp(interface, "wp_presentation") && !window->presentation) {
        window->presentation = wl_registry_bind(registry, name, &hwd_wp_presentation, 1);
        wl_proxy_add_listener(window->presentation, (void (**)(void))presentation_listener, window);
    } else if (!strcmp(interface, "wp_viewporter") && !window->viewporter) {
        window->viewporter = wl_registry_bind(registry, name, &hwd_wp_viewporter, 1);
    } else if (!strcmp(interface, "wl_seat") && !window->seat) {
        window->seat = wl_registry_bind(registry, name, &wl_seat_interface, 1);
        wl_seat_add_listener(window->seat, &seat_listener, window);
    } else if (!strcmp(interface, "wl_output") && !window->output) {
        window->output = wl_registry_bind(registry, name, &wl_output_interface, 1);
        wl_output_add_listener(window->output, &output_listener, window);
    }
}
static void registry_gone(void *data, struct wl_registry *registry, uint32_t name) {
    (void)data, (void)registry, (void)name;
}
static const struct wl_registry_listener registry_listener = {registry_global, registry_gone};

// The caller reports errors.
static void log_nothing(const char *format, va_list arguments) { (void)format, (void)arguments; }

hwd_window *hwd_window_open(int *error) {
    wl_log_set_handler_client(log_nothing);
    hwd_window *window = calloc(1, sizeof *window);
    if (!window) return *error = ENOMEM, NULL;
    window->clock_id = CLOCK_MONOTONIC;
    window->display = wl_display_connect(NULL);
    *error = errno;
    if (!window->display) return free(window), NULL;
    window->registry = wl_display_get_registry(window->display);
    wl_registry_add_listener(window->registry, &registry_listener, window);
    // The second one brings the formats.
    bool is_connected = wl_display_roundtrip(window->display) >= 0 && wl_display_roundtrip(window->display) >= 0;
    if (is_connected && window->compositor && window->shm && window->shell) return window;
    *error = is_connected ? EPROTO : ECONNRESET;
    hwd_window_close(window);
    return NULL;
}

// The connection's objects go with it.
void hwd_window_close(hwd_window *window) {
    wl_display_disconnect(window->display);
    free(window);
}

bool hwd_window_has_format(const hwd_window *window, uint32_t format) {
    for (uint32_t i = 0; i < window->format_count; i++)
        if (window->formats[i] == format) return true;
    return false;
}

bool hwd_window_has_presentation(const hwd_window *window) { return window->presentation; }
bool hwd_window_has_viewports(const hwd_window *window) { return window->viewporter; }
uint32_t hwd_window_clock_id(const hwd_window *window) { return window->clock_id; }

// MARK: The surface

static void surface_configure(void *data, struct wl_proxy *surface, uint32_t serial) {
    hwd_window *window = data;
    REQUEST(surface, XDG_SURFACE_ACK_CONFIGURE, serial);
    add(window, (hwd_window_event){HWD_WINDOW_CONFIGURED, .value = window->width, .other = window->height});
}
static void (*const surface_listener[])(void) = {(void (*)(void))surface_configure};

static void toplevel_configure(void *data, struct wl_proxy *toplevel, int32_t width, int32_t height,
                               struct wl_array *states) {
    hwd_window *window = data;
    (void)toplevel, (void)states;
    window->width = width, window->height = height;
}
static void toplevel_close(void *data, struct wl_proxy *toplevel) {
    (void)toplevel;
    add(data, (hwd_window_event){.kind = HWD_WINDOW_CLOSED});
}
static void (*const toplevel_listener[])(void) = {(void (*)(void))toplevel_configure, (void (*)(void))toplevel_close};

void hwd_window_map(hwd_window *window, const char *title, bool fullscreen) {
    window->surface = wl_compositor_create_surface(window->compositor);
    window->shell_surface =
        construct(window->shell, XDG_WM_BASE_GET_XDG_SURFACE, &hwd_xdg_surface, window->surface);
    wl_proxy_add_listener(window->shell_surface, (void (**)(void))surface_listener, window);
    window->toplevel = construct(window->shell_surface, XDG_SURFACE_GET_TOPLEVEL, &hwd_xdg_toplevel, NULL);
    wl_proxy_add_listener(window->toplevel, (void (**)(void))toplevel_listener, window);
    REQUEST(window->toplevel, XDG_TOPLEVEL_SET_TITLE, title);
    REQUEST(window->toplevel, XDG_TOPLEVEL_SET_APP_ID, "hwctl-play");
    if (window->viewporter)
        window->viewport =
            construct(window->viewporter, WP_VIEWPORTER_GET_VIEWPORT, &hwd_wp_viewport, window->surface);
    if (fullscreen) hwd_window_set_fullscreen(window, true);
    wl_surface_commit(window->surface);
}

void hwd_window_set_fullscreen(hwd_window *window, bool fullscreen) {
    if (fullscreen)
        REQUEST(window->toplevel, XDG_TOPLEVEL_SET_FULLSCREEN, NULL);
    else
        REQUEST(window->toplevel, XDG_TOPLEVEL_UNSET_FULLSCREEN);
}

void hwd_window_scale(hwd_window *window, int32_t width, int32_t height) {
    if (window->viewport && width > 0 && height > 0)
        REQUEST(window->viewport, WP_VIEWPORT_SET_DESTINATION, width, height);
}

void hwd_window_rotate(hwd_window *window, int quarters) { wl_surface_set_buffer_transform(window->surface, quarters); }

// MARK: Buffers

void *hwd_window_add_memory(hwd_window *window, int fd, int32_t size) {
    return wl_shm_create_pool(window->shm, fd, size);
}

void hwd_window_remove_memory(void *memory) { wl_shm_pool_destroy(memory); }

static void buffer_release(void *data, struct wl_buffer *buffer) {
    struct shown_buffer *shown = data;
    add(shown->window, (hwd_window_event){HWD_WINDOW_RELEASED, .value = shown->number});
    wl_buffer_destroy(buffer);
    free(shown);
}
static const struct wl_buffer_listener buffer_listener = {.release = buffer_release};

bool hwd_window_attach(hwd_window *window, void *memory, hwd_window_buffer description) {
    struct shown_buffer *shown = malloc(sizeof *shown);
    if (!shown) return false;
    *shown = (struct shown_buffer){window, description.number};
    struct wl_buffer *buffer =
        wl_shm_pool_create_buffer(memory, description.offset, description.width, description.height,
                                  description.stride, description.format);
    if (!buffer) return free(shown), false;
    wl_buffer_add_listener(buffer, &buffer_listener, shown);
    wl_surface_attach(window->surface, buffer, 0, 0);
    wl_surface_damage_buffer(window->surface, 0, 0, description.width, description.height);
    window->is_attached = true;
    return true;
}

static void feedback_output(void *data, struct wl_proxy *feedback, struct wl_output *output) {
    (void)data, (void)feedback, (void)output;
}
static void feedback_presented(void *data, struct wl_proxy *feedback, uint32_t high, uint32_t low, uint32_t nanoseconds,
                               uint32_t refresh, uint32_t count_high, uint32_t count_low, uint32_t flags) {
    (void)count_high, (void)count_low, (void)flags;
    int64_t seconds = (int64_t)((uint64_t)high << 32 | low);
    // Later than any machine runs is no time.
    int64_t time = seconds >= 0 && seconds < INT32_MAX ? seconds * 1000000000 + nanoseconds : 0;
    add(data, (hwd_window_event){HWD_WINDOW_PRESENTED, .value = refresh, .time = time});
    wl_proxy_destroy(feedback);
}
static void feedback_discarded(void *data, struct wl_proxy *feedback) {
    add(data, (hwd_window_event){.kind = HWD_WINDOW_DISCARDED});
    wl_proxy_destroy(feedback);
}
static void (*const feedback_listener[])(void) = {
    (void (*)(void))feedback_output, (void (*)(void))feedback_presented, (void (*)(void))feedback_discarded};

static void callback_done(void *data, struct wl_callback *callback, uint32_t time) {
    (void)time;
    wl_callback_destroy(callback);
    add(data, (hwd_window_event){.kind = HWD_WINDOW_FRAME});
}
static const struct wl_callback_listener callback_listener = {callback_done};

void hwd_window_commit(hwd_window *window) {
    wl_callback_add_listener(wl_surface_frame(window->surface), &callback_listener, window);
    if (window->is_attached && window->presentation) {
        struct wl_proxy *feedback =
            wl_proxy_marshal_flags(window->presentation, WP_PRESENTATION_FEEDBACK, &hwd_wp_presentation_feedback, 1, 0,
                                   window->surface, NULL);
        wl_proxy_add_listener(feedback, (void (**)(void))feedback_listener, window);
    }
    window->is_attached = false;
    wl_surface_commit(window->surface);
}

// MARK: Events

bool hwd_window_wait(hwd_window *window, int milliseconds) {
    while (wl_display_prepare_read(window->display) != 0)
        if (wl_display_dispatch_pending(window->display) < 0) return false;
    if (wl_display_flush(window->display) < 0 && errno != EAGAIN) return wl_display_cancel_read(window->display), false;
    struct pollfd entry = {wl_display_get_fd(window->display), POLLIN, 0};
    if (window->count > 0 || poll(&entry, 1, milliseconds) <= 0) {
        wl_display_cancel_read(window->display);
    } else if (wl_display_read_events(window->display) < 0) {
        return false;
    }
    return wl_display_dispatch_pending(window->display) >= 0;
}

uint32_t hwd_window_protocol_error(hwd_window *window) {
    return wl_display_get_protocol_error(window->display, NULL, NULL);
}

bool hwd_window_next(hwd_window *window, hwd_window_event *event) {
    if (window->count == 0) return false;
    *event = window->events[window->first];
    window->first = (window->first + 1) % QUEUE;
    window->count--;
    return true;
}
