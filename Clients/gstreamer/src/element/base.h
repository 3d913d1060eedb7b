// SPDX-License-Identifier: MIT
// What both elements do alike: their daemon, their properties, and the task that pushes results.
#ifndef HWD_BASE_H
#define HWD_BASE_H

#include "properties/properties.h"
#include "element/stream.h"

GST_DEBUG_CATEGORY_EXTERN(hwd_debug);
#define GST_CAT_DEFAULT hwd_debug

typedef enum { HWD_HARDWARE_ALLOW, HWD_HARDWARE_REQUIRE, HWD_HARDWARE_AVOID } HwdHardware;

enum { HWD_PROPERTY_SOCKET = 1, HWD_PROPERTY_HARDWARE, HWD_PROPERTY_TABLE };

typedef struct HwdBase {
    GstElement *element;
    GstPad *source_pad;
    const char *kind; // "Encoder", "Decoder"
    gboolean is_direct; // sessions that open pass results on without the task where they can
    guint max_coding;   // HwdStream's, of sessions that open
    // Handles a result, in the task or the receiving thread; takes the item.
    GstFlowReturn (*handle)(gpointer element, HwdStream *stream, HwdItem *item);

    HwdProperties properties;
    gchar *socket;
    HwdHardware hardware;
    hwd_daemon *daemon;

    GMutex lock; // of what follows
    HwdStream *stream;
    GstFlowReturn flow; // why the task has ended; GST_FLOW_OK
    gboolean has_failed; // an error was posted
    gboolean relinked;    // downstream may take buffers again after GST_FLOW_NOT_LINKED
    gboolean interrupted; // sessions that open end at once
    gchar *fallback;    // the last reason that was posted
} HwdBase;

void hwd_base_install(GObjectClass *class, const HwdPropertySpec *specs, const char *prefix);
void hwd_base_init(HwdBase *base, GstElement *element, GstPad *source_pad, const char *kind, const HwdPropertySpec *specs);
void hwd_base_clear(HwdBase *base);
void hwd_base_set_property(HwdBase *base, guint number, const GValue *value);
void hwd_base_get_property(HwdBase *base, guint number, GValue *value);

// Finds the daemon, or posts why there is none.
gboolean hwd_base_start(HwdBase *base);
// Ends what hwd_base_start began; the task must not run.
void hwd_base_stop(HwdBase *base);

// The specification and properties of a session, to free with g_free.
gchar *hwd_base_specification(HwdBase *base);
// Takes a session that was created, posts a warning if it fell back to software, and starts the task.
void hwd_base_open(HwdBase *base, hwd_session *session, HwdConvert convert, guint max_items, guint max_pending);
// Ends the session and the task. The codec's stream lock must not be held.
void hwd_base_close(HwdBase *base);
// Ends the session and every wait for it, also one that is being opened, until hwd_base_resume; any thread may call it.
void hwd_base_interrupt(HwdBase *base);
void hwd_base_resume(HwdBase *base);
// Why frames that wait for their results do not get them, after a failure: posts the session's end.
GstFlowReturn hwd_base_lost(HwdBase *base, HwdStream *stream);
// The open session, with a reference; NULL: none.
HwdStream *hwd_base_stream(HwdBase *base);
// Sends properties that were changed. A refusal is a warning.
void hwd_base_apply_changes(HwdBase *base, HwdStream *stream);

GstFlowReturn hwd_base_flow(HwdBase *base);
// Takes an event from downstream, and whether a session that ended because nothing was linked is to be replaced.
void hwd_base_take_event(HwdBase *base, const GstEvent *event);
gboolean hwd_base_is_relinked(HwdBase *base);
// Posts an error, unless one was posted, with hwd_last_error() as its text where `reason` is NULL.
void hwd_base_fail(HwdBase *base, int status, const char *reason);
// Whether upstream is live.
gboolean hwd_is_live(GstPad *sink_pad);

#endif
