// SPDX-License-Identifier: MIT
// hwdh265enc.
#ifndef HWD_ENCODER_H
#define HWD_ENCODER_H

#include <gst/video/gstvideoencoder.h>

#include "element/base.h"

enum { HWD_MAX_KNOWN_POOLS = 8 };

// What GstVideoEncoder adds to times.
#define HWD_MIN_PTS (1000 * 3600 * GST_SECOND)

// Memory of upstream's that is registered with the session.
typedef struct HwdKnownPool { hwd_pool *pool; int number; } HwdKnownPool;

typedef struct HwdEncoder {
    GstVideoEncoder parent;
    HwdBase base;
    GstVideoCodecState *input; // NULL before caps
    HwdKnownPool pools[HWD_MAX_KNOWN_POOLS];
    guint pool_count;
    gint64 last_pts; // sent; G_MININT64: none
    GstClockTime last_encoded; // the pts of the last frame that QoS did not drop
    gboolean alpha;  // whether formats with alpha are taken
    guint delay;     // in frames, as the latency was reported
    gboolean is_live;
    GByteArray *caption; // of the frame that is sent
} HwdEncoder;

typedef struct HwdEncoderClass { GstVideoEncoderClass parent_class; } HwdEncoderClass;

GType hwd_encoder_get_type(void);

// ---- encoder-session.c; with the stream lock

// Opens a session for the present caps. FALSE: why not was posted.
gboolean hwd_encoder_open(HwdEncoder *encoder);
// Ends the session; frames in it are lost.
void hwd_encoder_close(HwdEncoder *encoder);
// Waits for the packets of all frames.
GstFlowReturn hwd_encoder_drain(HwdEncoder *encoder);

// ---- encoder-frames.c; without the stream lock

// Sends a frame; a negative result is a failure with hwd_last_error().
int hwd_encoder_send(HwdEncoder *encoder, HwdStream *stream, GstVideoCodecFrame *frame, GstBuffer *input);
void hwd_encoder_forget_pools(HwdEncoder *encoder);

// ---- encoder-packets.c

gboolean hwd_encoder_convert(HwdStream *stream, const hwd_event *event, HwdItem *item);
GstFlowReturn hwd_encoder_handle(gpointer element, HwdStream *stream, HwdItem *item);
// Negotiates caps with this hvcC record.
GstFlowReturn hwd_encoder_take_format(HwdEncoder *encoder, GstBuffer *record);
// Reports a latency of this many frames.
void hwd_encoder_report_latency(HwdEncoder *encoder, guint delay);

#endif
