// SPDX-License-Identifier: MIT
// hwdeffects: effects on frames, in a pixel-transfer session.
#ifndef HWD_EFFECTS_H
#define HWD_EFFECTS_H

#include <gst/gst.h>

GType hwd_effect_filter_get_type(void);

#endif
