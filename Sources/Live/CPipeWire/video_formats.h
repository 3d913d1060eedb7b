// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "video.h"

#include <spa/pod/builder.h>

enum { MAX_SIDE = 16384, MAX_OFFERS = 27 };

// What is offered, the best first: nodes with a list of formats take the first offer that they have one for.
uint32_t hwd_pw_video_offers(
    struct spa_pod_builder *builder, const hwd_pw_video_request *request, const struct spa_pod *params[MAX_OFFERS]);

// The format that a node chose; false for one that is not recorded.
bool hwd_pw_video_read_format(const struct spa_pod *pod, hwd_pw_video_format *format);
