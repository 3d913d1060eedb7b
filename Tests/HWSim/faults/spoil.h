// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_SPOIL_H
#define HWSIM_SPOIL_H

#include "bitstream/bits.h"
#include "driver/hwsim_picture.h"

// Turns a picture's luma into its negative, and back.
void invert_picture(const struct hwsim_picture *);
// Makes a stream unreadable: start codes and NAL unit headers stay, what is coded does not.
void spoil_bytes(struct bytes *);

#endif
