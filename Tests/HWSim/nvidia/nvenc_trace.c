// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "nvidia/nvenc.h"

static FILE *trace;

static void open_trace(void) {
    const char *path = getenv("HWSIM_TRACE");
    if (path && *path) trace = fopen(path, "ae");
}

static FILE *trace_file(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_trace);
    return trace;
}

void nvenc_trace_session(const struct session *session, const char *word) {
    const NV_ENC_CONFIG *config = &session->config;
    const NV_ENC_RC_PARAMS *rate = &config->rcParams;
    const NV_ENC_CONFIG_HEVC *hevc = &config->encodeCodecConfig.hevcConfig;
    FILE *file = trace_file();
    if (!file) return;
    fprintf(file,
        "nvenc %s %u size %ux%u depth %d profile %d gop %u idr %u interval %d mode %d target %u peak %u buffer %u "
        "constant %u/%u/%u min %u max %u quality %u.%03u lookahead %u tuning %d zero-delay %d\n",
        word, session->number, session->parameters.encodeWidth, session->parameters.encodeHeight, session->sps.depth_luma,
        session->sps.profile, config->gopLength, hevc->idrPeriod, config->frameIntervalP, (int)rate->rateControlMode,
        rate->averageBitRate, rate->maxBitRate, rate->vbvBufferSize, rate->constQP.qpIntra, rate->constQP.qpInterP,
        rate->constQP.qpInterB, rate->enableMinQP ? rate->minQP.qpInterP : 0, rate->enableMaxQP ? rate->maxQP.qpInterP : 51,
        rate->targetQuality, rate->targetQualityLSB * 1000u / 256, rate->enableLookahead ? rate->lookaheadDepth : 0u,
        (int)session->parameters.tuningInfo, rate->zeroReorderDelay);
    fflush(file);
}

void nvenc_trace_picture(const struct session *session, unsigned number, const struct plan *plan, size_t bytes, int qp) {
    static const char *const names[] = {"P", "B", "I", "IDR"};
    FILE *file = trace_file();
    if (!file) return;
    fprintf(file, "nvenc picture %u session %u poc %d type %s bytes %zu qp %d\n", number, session->number, plan->poc,
        names[plan->type & 3], bytes, qp);
    fflush(file);
}
