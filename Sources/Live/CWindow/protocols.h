// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <wayland-client.h>

// The parts of xdg-shell, presentation-time and viewporter (wayland-protocols, stable, version 1 of each) that a window uses. A message is
// its name and the types of its arguments; the order of messages is their number. wayland-scanner would need a build step that
// SwiftPM does not have for C.

static const struct wl_interface *const hwd_any_type[8];
#define MESSAGE(name, signature) {name, signature, (const struct wl_interface **)hwd_any_type}
#define COUNT(array) (int)(sizeof(array) / sizeof(array[0]))

enum { XDG_WM_BASE_GET_XDG_SURFACE = 2, XDG_WM_BASE_PONG = 3 };
static const struct wl_message xdg_wm_base_requests[] = {
    MESSAGE("destroy", ""), MESSAGE("create_positioner", "n"), MESSAGE("get_xdg_surface", "no"), MESSAGE("pong", "u")};
static const struct wl_message xdg_wm_base_events[] = {MESSAGE("ping", "u")};
static const struct wl_interface hwd_xdg_wm_base = {"xdg_wm_base", 1, 4, xdg_wm_base_requests, 1, xdg_wm_base_events};

enum { XDG_SURFACE_GET_TOPLEVEL = 1, XDG_SURFACE_ACK_CONFIGURE = 4 };
static const struct wl_message xdg_surface_requests[] = {
    MESSAGE("destroy", ""), MESSAGE("get_toplevel", "n"), MESSAGE("get_popup", "n?oo"),
    MESSAGE("set_window_geometry", "iiii"), MESSAGE("ack_configure", "u")};
static const struct wl_message xdg_surface_events[] = {MESSAGE("configure", "u")};
static const struct wl_interface hwd_xdg_surface = {"xdg_surface", 1, 5, xdg_surface_requests, 1, xdg_surface_events};

enum {
    XDG_TOPLEVEL_SET_TITLE = 2,
    XDG_TOPLEVEL_SET_APP_ID = 3,
    XDG_TOPLEVEL_SET_FULLSCREEN = 11,
    XDG_TOPLEVEL_UNSET_FULLSCREEN = 12
};
static const struct wl_message xdg_toplevel_requests[] = {
    MESSAGE("destroy", ""), MESSAGE("set_parent", "?o"), MESSAGE("set_title", "s"), MESSAGE("set_app_id", "s"),
    MESSAGE("show_window_menu", "ouii"), MESSAGE("move", "ou"), MESSAGE("resize", "ouu"), MESSAGE("set_max_size", "ii"),
    MESSAGE("set_min_size", "ii"), MESSAGE("set_maximized", ""), MESSAGE("unset_maximized", ""),
    MESSAGE("set_fullscreen", "?o"), MESSAGE("unset_fullscreen", ""), MESSAGE("set_minimized", "")};
static const struct wl_message xdg_toplevel_events[] = {MESSAGE("configure", "iia"), MESSAGE("close", "")};
static const struct wl_interface hwd_xdg_toplevel = {
    "xdg_toplevel", 1, COUNT(xdg_toplevel_requests), xdg_toplevel_requests, 2, xdg_toplevel_events};

enum { WP_PRESENTATION_FEEDBACK = 1 };
static const struct wl_message wp_presentation_requests[] = {MESSAGE("destroy", ""), MESSAGE("feedback", "on")};
static const struct wl_message wp_presentation_events[] = {MESSAGE("clock_id", "u")};
static const struct wl_interface hwd_wp_presentation = {
    "wp_presentation", 1, 2, wp_presentation_requests, 1, wp_presentation_events};
static const struct wl_message wp_presentation_feedback_events[] = {
    MESSAGE("sync_output", "o"), MESSAGE("presented", "uuuuuuu"), MESSAGE("discarded", "")};
static const struct wl_interface hwd_wp_presentation_feedback = {
    "wp_presentation_feedback", 1, 0, NULL, 3, wp_presentation_feedback_events};

enum { WP_VIEWPORTER_GET_VIEWPORT = 1, WP_VIEWPORT_SET_DESTINATION = 2 };
static const struct wl_message wp_viewporter_requests[] = {MESSAGE("destroy", ""), MESSAGE("get_viewport", "no")};
static const struct wl_interface hwd_wp_viewporter = {"wp_viewporter", 1, 2, wp_viewporter_requests, 0, NULL};
static const struct wl_message wp_viewport_requests[] = {
    MESSAGE("destroy", ""), MESSAGE("set_source", "ffff"), MESSAGE("set_destination", "ii")};
static const struct wl_interface hwd_wp_viewport = {"wp_viewport", 1, 3, wp_viewport_requests, 0, NULL};
