// SPDX-License-Identifier: MIT
// A GstBufferPool of frames in shared memory, which upstream elements fill and the encoder reads in place.
#ifndef HWD_POOL_H
#define HWD_POOL_H

#include <gst/video/video.h>

// For frames of these caps, configured; NULL if their format is unknown. `size` and `count` become a buffer's bytes and how many
// there are at most.
GstBufferPool *hwd_frame_pool_new(GstCaps *caps, const GstVideoInfo *info, guint *size, guint *count);

#endif
