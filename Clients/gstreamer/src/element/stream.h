// SPDX-License-Identifier: MIT
// A session and the thread that receives its results at once, so that a pipeline that is paused, or slow, holds no memory of
// the worker's.
#ifndef HWD_STREAM_H
#define HWD_STREAM_H

#include <gst/gst.h>
#include <hwdaemon.h>

typedef struct HwdStream HwdStream;

enum { HWD_NO_FRAME = 0xffffffff };

// The type of an item's event where the session continued in another process.
enum { HWD_ITEM_RESTARTED = 0 };

// A result for the task of the source pad.
typedef struct HwdItem {
    hwd_event event;   // without what its pointers name
    guint32 frame;     // system_frame_number of the codec frame, or HWD_NO_FRAME
    GstBuffer *buffer; // format, packet, picture
    gchar *reason;     // report
    gboolean has_display, has_light;
    guint8 display[24], light[4]; // side data of a picture
} HwdItem;

// Makes an item's buffer of an event, which is the session's until hwd_release. TRUE: the event was kept, and is given back later.
typedef gboolean (*HwdConvert)(HwdStream *stream, const hwd_event *event, HwdItem *item);

// Passes a result on, as the task does.
typedef void (*HwdDeliver)(gpointer owner, HwdStream *stream, HwdItem *item);

struct HwdStream {
    gint references;
    hwd_session *session;
    HwdConvert convert;
    GThread *receiver;
    guint max_items;   // results that wait for the task before no frame is sent
    guint max_pending; // frames without results, while a result waits
    guint max_coding;  // frames without results, of encoders that hold none; 0: no limit
    HwdDeliver deliver; // of live pipelines: the receiving thread passes results on while the task is idle and downstream fast
    gpointer owner;

    GMutex lock; // of what follows
    hwd_session_info info; // the receiving thread changes it; its texts stay until the session is destroyed
    GCond changed;
    GCond arrived; // the task alone waits for it: a result, or the end
    GQueue items;
    GHashTable *flights; // of frames and packets sent: their number → Flight
    gboolean sending, stopping, completed;
    gboolean handling; // the task works on a result
    guint64 sent, received, last_number;
    guint64 repeated; // frames sent up to the last restart, whose results say nothing about the delay
    guint delay; // the most frames that were sent behind one before its result came
    guint held;          // pictures that elements hold
    gboolean holds_long; // a wait for one of them was in vain, and none has come back since
    int end;   // why the session has ended; 0
    gchar *reason;
};

// Takes the session, and starts to receive. `deliver` NULL: the task passes all results on.
HwdStream *hwd_stream_new(
    hwd_session *session, HwdConvert convert, guint max_items, guint max_pending, HwdDeliver deliver, gpointer owner);
HwdStream *hwd_stream_ref(HwdStream *stream);
void hwd_stream_unref(HwdStream *stream);
// Ends the session and every wait; any thread may call it.
void hwd_stream_stop(HwdStream *stream);
// Waits for the receiving thread.
void hwd_stream_join(HwdStream *stream);

// Waits while results wait for the task, or for the encoder of a live pipeline: FALSE if the session has ended.
gboolean hwd_stream_wait_room(HwdStream *stream);
// Around hwd_encode and hwd_decode. `number` 0: nothing was sent. The input is kept until the worker has released it.
void hwd_stream_begin(HwdStream *stream);
void hwd_stream_sent(HwdStream *stream, guint64 number, guint32 frame, GstBuffer *input);
// Takes a credit for a picture that elements will hold, and waits a moment for one: FALSE if there is none to spare.
gboolean hwd_stream_hold(HwdStream *stream);
// Gives a picture's memory back.
void hwd_stream_give_back(HwdStream *stream, const hwd_event *event);
// Requests all results and waits until the task is done with them, also where the session has ended. FALSE: it has ended, or
// does not respond, which ends it.
gboolean hwd_stream_complete(HwdStream *stream);
// The next result; NULL: there are no more.
HwdItem *hwd_stream_next(HwdStream *stream);
// items.c: an event with copies of what stays of it after hwd_release.
HwdItem *hwd_item_new(const hwd_event *event);
void hwd_item_free(HwdItem *item);
// Whether hwd_stream_stop was called; why the session has ended (0: it has not), and in words, to free with g_free.
gboolean hwd_stream_is_stopping(HwdStream *stream);
int hwd_stream_end(HwdStream *stream, gchar **reason);
guint hwd_stream_delay(HwdStream *stream);
// Called by the task once it is done with HWD_EVENT_COMPLETED.
void hwd_stream_completed(HwdStream *stream);

#endif
