// SPDX-License-Identifier: MIT
// hwdh265dec.
#ifndef HWD_DECODER_H
#define HWD_DECODER_H

#include <gst/video/gstvideodecoder.h>

#include "element/base.h"

// What the caps of pictures are made of.
typedef struct HwdPictureFormat {
    guint32 pixel_format, width, height;
    hwd_color color;
    hwd_rational aspect;
    gboolean has_display, has_light;
    guint8 display[24], light[4];
} HwdPictureFormat;

typedef struct HwdDecoder {
    GstVideoDecoder parent;
    HwdBase base;
    GstVideoCodecState *input;  // NULL before caps
    GBytes *record;             // hvcC, or parameter sets with start codes; NULL: the next key frame has them
    HwdPictureFormat format;    // of the pictures that were pushed; zero before the first
    gboolean takes_video_meta;  // downstream
    guint delay;                // in frames, as the latency was reported
    gboolean is_live;
    GstClockTime last_shown;    // the time of the last picture that QoS did not drop
} HwdDecoder;

typedef struct HwdDecoderClass { GstVideoDecoderClass parent_class; } HwdDecoderClass;

GType hwd_decoder_get_type(void);

// ---- decoder-session.c; with the stream lock

// Opens a session for the present record. FALSE: why not was posted.
gboolean hwd_decoder_open(HwdDecoder *decoder);
void hwd_decoder_close(HwdDecoder *decoder);
// Waits for the pictures of all packets; the next packet must be a key frame.
GstFlowReturn hwd_decoder_drain(HwdDecoder *decoder);
// The parameter sets of a byte stream's access unit, with start codes; NULL if it has no SPS.
GBytes *hwd_find_parameter_sets(const guint8 *bytes, gsize size);

// ---- decoder-pictures.c

gboolean hwd_decoder_convert(HwdStream *stream, const hwd_event *event, HwdItem *item);
GstFlowReturn hwd_decoder_handle(gpointer element, HwdStream *stream, HwdItem *item);
void hwd_decoder_report_latency(HwdDecoder *decoder, guint delay);

#endif
