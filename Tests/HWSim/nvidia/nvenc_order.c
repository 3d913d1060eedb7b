// SPDX-License-Identifier: GPL-2.0-or-later
// Types and coding order. Groups of B pictures end with a P picture, also in front of an IDR picture and at the end: groups
// of pictures are closed. Outputs are filled in coding order.
#include <string.h>

#include "nvidia/nvenc.h"

static bool ends_group(const struct session *session, uint32_t flags, bool *idr) {
    const NV_ENC_CONFIG *config = &session->config;
    uint32_t period = config->encodeCodecConfig.hevcConfig.idrPeriod, length = config->gopLength;
    // The position of the picture behind those that are pending.
    unsigned next = session->since_idr + session->pending_count, intra = session->since_intra + session->pending_count;
    if (!period) period = length;
    *idr = !session->is_begun || session->forces_idr || flags & NV_ENC_PIC_FLAG_FORCEIDR ||
           (period && period != NVENC_INFINITE_GOPLENGTH && next >= period);
    return *idr || flags & NV_ENC_PIC_FLAG_FORCEINTRA || !config->frameIntervalP ||
           (length && length != NVENC_INFINITE_GOPLENGTH && intra >= length);
}

static NVENCSTATUS code(struct session *session, struct pending *picture, struct plan plan) {
    NVENCSTATUS status = nvenc_code(session, picture, &plan);
    bytes_free(&picture->sei);
    return status;
}

// B pictures between two that are coded.
static NVENCSTATUS code_between(struct session *session, struct pending *pictures, int count, int before, int after) {
    int mode = (int)session->config.encodeCodecConfig.hevcConfig.useBFramesAsRef;
    NVENCSTATUS status = NV_ENC_SUCCESS;
    if (mode == NV_ENC_BFRAME_REF_MODE_MIDDLE && count > 1) {
        int middle = count / 2, poc = before + 1 + middle;
        status = code(session, &pictures[middle], (struct plan){NV_ENC_PIC_TYPE_B, poc, before, after, true});
        for (int i = 0; i < count && !status; i++) {
            if (i == middle) continue;
            struct plan plan = {NV_ENC_PIC_TYPE_B, before + 1 + i, i < middle ? before : poc, i < middle ? poc : after, false};
            status = code(session, &pictures[i], plan);
        }
        return status;
    }
    int last = before;
    for (int i = 0; i < count && !status; i++) {
        bool kept = mode == NV_ENC_BFRAME_REF_MODE_EACH && i + 1 < count;
        status = code(session, &pictures[i], (struct plan){NV_ENC_PIC_TYPE_B, before + 1 + i, last, after, kept});
        if (!kept || status) continue;
        last = before + 1 + i;
        nvenc_keep(session, last, after);
    }
    return status;
}

// Codes the first `count` pictures that are pending: the last one as P, those before it as B.
static NVENCSTATUS code_group(struct session *session, unsigned count) {
    if (!count) return NV_ENC_SUCCESS;
    int before = session->poc, after = before + (int)count;
    NVENCSTATUS status =
        code(session, &session->pending[count - 1], (struct plan){NV_ENC_PIC_TYPE_P, after, before, 0, true});
    if (!status) nvenc_keep(session, before, after);
    if (!status) status = code_between(session, session->pending, (int)count - 1, before, after);
    nvenc_keep(session, after, after);
    session->poc = after;
    session->since_idr += count;
    session->since_intra += count;
    session->pending_count -= count;
    memmove(session->pending, session->pending + count, session->pending_count * sizeof *session->pending);
    return status;
}

NVENCSTATUS nvenc_flush(struct session *session) {
    unsigned group = session->config.frameIntervalP > 1 ? (unsigned)session->config.frameIntervalP : 1;
    NVENCSTATUS status = NV_ENC_SUCCESS;
    while (session->pending_count && !status)
        status = code_group(session, session->pending_count < group ? session->pending_count : group);
    return status;
}

NVENCSTATUS nvenc_take(struct session *session, struct pending *picture) {
    const NV_ENC_RC_PARAMS *rate = &session->config.rcParams;
    unsigned group = session->config.frameIntervalP > 1 ? (unsigned)session->config.frameIntervalP : 1;
    bool idr;
    if (ends_group(session, picture->flags, &idr)) {
        NVENCSTATUS status = nvenc_flush(session);
        if (status) return status;
        int poc = idr ? 0 : session->poc + 1;
        if (idr) nvenc_keep(session, -1, -1);
        struct plan plan = {idr ? NV_ENC_PIC_TYPE_IDR : NV_ENC_PIC_TYPE_I, poc, 0, 0, true};
        status = code(session, picture, plan);
        nvenc_keep(session, poc, poc);
        session->poc = poc;
        session->since_idr = idr ? 1 : session->since_idr + 1;
        session->since_intra = 1;
        session->is_begun = true;
        session->forces_idr = false;
        return status;
    }
    session->pending[session->pending_count++] = *picture;
    unsigned ahead = rate->enableLookahead ? rate->lookaheadDepth : 0;
    if (session->pending_count < group + ahead) return NV_ENC_ERR_NEED_MORE_INPUT;
    return code_group(session, group);
}
