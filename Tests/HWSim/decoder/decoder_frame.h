// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_DECODER_FRAME_H
#define HWSIM_DECODER_FRAME_H

#include <libavutil/frame.h>

#include "driver/hwsim_picture.h"

// The picture of what cannot be decoded.
void decoder_fill_grey(struct hwsim_picture *target);
// Copies a planar frame of the target's depth, which is not larger than the target.
void decoder_copy_frame(const AVFrame *frame, struct hwsim_picture *target);

#endif
