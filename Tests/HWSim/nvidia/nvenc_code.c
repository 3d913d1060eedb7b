// SPDX-License-Identifier: GPL-2.0-or-later
// One picture of a session, from the client's memory to bytes.
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/plan.h"
#include "faults/spoil.h"
#include "nvidia/nvenc.h"

static _Atomic unsigned coded;

// --- The source

// A sample in the source's form, from a plane of bytes or of words.
static void copy_samples(uint8_t *to, const uint8_t *from, int count, int step_to, int step_from, bool deep, bool from_deep) {
    for (int x = 0; x < count; x++) {
        if (!deep) to[x * step_to] = from[x * step_from];
        else
            ((uint16_t *)to)[x * step_to] =
                from_deep ? ((const uint16_t *)from)[x * step_from] : (uint16_t)(from[x * step_from] << 8);
    }
}

// What the picture does not cover is its last column and row, repeated.
static void extend(const struct hwsim_picture *picture, int width, int height) {
    size_t sample = picture->depth > 8 ? 2 : 1;
    for (int plane = 0; plane < 2; plane++) {
        size_t pixel = sample * (plane ? 2 : 1);
        int across = plane ? width / 2 : width, down = plane ? height / 2 : height;
        int wide = plane ? picture->width / 2 : picture->width, high = plane ? picture->height / 2 : picture->height;
        for (int y = 0; y < high; y++) {
            uint8_t *row = picture->planes[plane] + (ptrdiff_t)y * picture->strides[plane];
            if (y >= down) {
                memcpy(row, row - picture->strides[plane], pixel * (size_t)wide);
                continue;
            }
            for (int x = across; x < wide; x++) memcpy(row + pixel * (size_t)x, row + pixel * (size_t)(across - 1), pixel);
        }
    }
}

static bool load(struct session *session, const struct pending *picture) {
    const struct input *input = picture->input;
    const struct hwsim_picture *to = &session->source;
    int width = (int)session->parameters.encodeWidth, height = (int)session->parameters.encodeHeight;
    bool deep = to->depth > 8, from_deep = input->format == NV_ENC_BUFFER_FORMAT_YUV420_10BIT;
    if (from_deep && !deep) return refuse(session->error, "10 bits a sample into 8");
    ptrdiff_t pitch = picture->pitch ? picture->pitch : input->pitch;
    const uint8_t *luma = (const uint8_t *)(uintptr_t)input->memory, *chroma = luma + pitch * (ptrdiff_t)input->height;
    bool planar = input->format == NV_ENC_BUFFER_FORMAT_YV12 || input->format == NV_ENC_BUFFER_FORMAT_IYUV;
    const uint8_t *second = chroma + pitch / 2 * (ptrdiff_t)(input->height / 2);
    const uint8_t *cb = input->format == NV_ENC_BUFFER_FORMAT_YV12 ? second : chroma;
    const uint8_t *cr = input->format == NV_ENC_BUFFER_FORMAT_YV12 ? chroma : second;
    size_t sample = deep ? 2 : 1;
    for (int y = 0; y < height; y++)
        copy_samples(to->planes[0] + (ptrdiff_t)y * to->strides[0], luma + y * pitch, width, 1, 1, deep, from_deep);
    for (int y = 0; y < height / 2; y++) {
        uint8_t *row = to->planes[1] + (ptrdiff_t)y * to->strides[1];
        if (!planar) {
            copy_samples(row, chroma + y * pitch, width, 1, 1, deep, from_deep);
            continue;
        }
        copy_samples(row, cb + y * (pitch / 2), width / 2, 2, 1, deep, false);
        copy_samples(row + sample, cr + y * (pitch / 2), width / 2, 2, 1, deep, false);
    }
    extend(to, width, height);
    return true;
}

// --- References

void nvenc_keep(struct session *session, int first, int second) {
    for (int i = 0; i < MOST_KEPT; i++)
        if (session->kept[i].poc != first && session->kept[i].poc != second) session->kept[i].used = false;
}

static struct kept *find(struct session *session, int poc) {
    for (int i = 0; i < MOST_KEPT; i++)
        if (session->kept[i].used && session->kept[i].poc == poc) return &session->kept[i];
    return NULL;
}

// The next one below (or above) a POC; NULL is none.
static const struct kept *next_kept(const struct session *session, int poc, bool below) {
    const struct kept *next = NULL;
    for (int i = 0; i < MOST_KEPT; i++) {
        const struct kept *kept = &session->kept[i];
        if (!kept->used || (below ? kept->poc >= poc : kept->poc <= poc)) continue;
        if (!next || (below ? kept->poc > next->poc : kept->poc < next->poc)) next = kept;
    }
    return next;
}

// All that is kept, nearest first; used are the two that the picture refers to.
static void make_rps(const struct session *session, const struct plan *plan, struct rps *rps) {
    int count = 0;
    for (int list = 0; list < 2; list++) {
        int poc = plan->poc;
        for (const struct kept *kept; (kept = next_kept(session, poc, list == 0)); poc = kept->poc, count++) {
            bool is_before = (plan->type == NV_ENC_PIC_TYPE_P || plan->type == NV_ENC_PIC_TYPE_B) && kept->poc == plan->before;
            rps->delta[count] = kept->poc - plan->poc;
            rps->used[count] = is_before || (plan->type == NV_ENC_PIC_TYPE_B && kept->poc == plan->after);
            if (list) rps->positive++;
            else rps->negative++;
        }
    }
}

// --- Slices

static int slice_rows(const struct session *session, int rows) {
    const NV_ENC_CONFIG_HEVC *hevc = &session->config.encodeCodecConfig.hevcConfig;
    int data = (int)(hevc->sliceModeData & 0xffff), slices = 1;
    if (hevc->sliceMode == 3 && data) slices = data;
    if (hevc->sliceMode == 2 && data) slices = (rows + data - 1) / data;
    return slices > rows ? rows : slices > MAX_SLICES ? MAX_SLICES : slices;
}

static void make_slices(struct session *session, const struct plan *plan, int qp) {
    struct coder *coder = &session->coder;
    const struct sps *sps = &session->sps;
    int ctb = 1 << sps->log2_ctb, wide = (sps->width + ctb - 1) / ctb, rows = (sps->height + ctb - 1) / ctb;
    bool idr = plan->type == NV_ENC_PIC_TYPE_IDR, b = plan->type == NV_ENC_PIC_TYPE_B, p = plan->type == NV_ENC_PIC_TYPE_P;
    struct slice slice = {
        .nal = {.type = idr ? NAL_IDR_W_RADL : plan->is_reference ? 1 : 0},
        .output = true, .type = b ? SLICE_B : p ? SLICE_P : SLICE_I, .poc_lsb = plan->poc & ((1 << sps->log2_poc_lsb) - 1),
        .active = {1, b}, .collocated_l0 = true, .max_merge = 1, .qp_delta = qp - session->pps.init_qp, .across_slices = true,
    };
    if (!idr) make_rps(session, plan, &slice.rps);
    const struct kept *before = b || p ? find(session, plan->before) : NULL, *after = b ? find(session, plan->after) : before;
    coder->slices = session->settings;
    coder->slice_count = slice_rows(session, rows);
    for (int i = 0; i < coder->slice_count; i++) {
        struct slice_setting *setting = &session->settings[i];
        *setting = (struct slice_setting){.header = slice, .qp = qp, .target_qp = qp,
            .end = (i + 1) * rows / coder->slice_count * wide,
            .references = {before ? &before->frame : NULL, after ? &after->frame : NULL},
            .reference_pocs = {plan->before, b ? plan->after : plan->before}};
        setting->header.address = i * rows / coder->slice_count * wide;
        setting->header.first = !i;
    }
}

static void write_slices(struct session *session, struct bytes *output) {
    struct bytes data = {0}, header = {0};
    for (int i = 0; i < session->coder.slice_count; i++) {
        int zeros;
        data.count = header.count = 0;
        coder_slice(&session->coder, i, &data);
        write_slice(&header, &session->sps, &session->pps, &session->settings[i].header);
        append_nal(output, &header, &zeros);
        append_escaped(output, data.data, data.count, &zeros);
    }
    output->failed |= data.failed || header.failed;
    bytes_free(&data);
    bytes_free(&header);
}

// --- Quantisers

static uint32_t of_type(const NV_ENC_QP *qp, NV_ENC_PIC_TYPE type) {
    return type == NV_ENC_PIC_TYPE_B ? qp->qpInterB : type == NV_ENC_PIC_TYPE_P ? qp->qpInterP : qp->qpIntra;
}

static int class_of(NV_ENC_PIC_TYPE type) {
    return type == NV_ENC_PIC_TYPE_B ? RATE_B : type == NV_ENC_PIC_TYPE_P ? RATE_P : RATE_INTRA;
}

static int choose_qp(struct session *session, NV_ENC_PIC_TYPE type) {
    const NV_ENC_RC_PARAMS *from = &session->config.rcParams;
    int lowest = from->enableMinQP ? (int)(of_type(&from->minQP, type) & 0xff) : 1;
    int highest = from->enableMaxQP ? (int)(of_type(&from->maxQP, type) & 0xff) : 51, qp;
    if (session->rate.mode == VA_RC_CQP) {
        qp = from->rateControlMode == NV_ENC_PARAMS_RC_CONSTQP ? (int)of_type(&from->constQP, type) : 26;
        lowest = 0;
        highest = 51;
    } else {
        uint32_t samples = (uint32_t)session->sps.width * (uint32_t)session->sps.height;
        qp = rate_choose(&session->rate, class_of(type), samples, lowest, highest);
    }
    return qp < lowest ? lowest : qp > highest ? highest : qp;
}

// --- One picture

static void write_aud(struct bytes *output, NV_ENC_PIC_TYPE type) {
    const uint8_t unit[7] = {0, 0, 0, 1, NAL_AUD << 1, 1,
        (uint8_t)((type == NV_ENC_PIC_TYPE_B ? 2 : type == NV_ENC_PIC_TYPE_P ? 1 : 0) << 5 | 0x10)};
    bytes_append(output, unit, sizeof unit);
}

static void write_headers(struct session *session, const struct pending *picture, const struct plan *plan, struct bytes *output) {
    const NV_ENC_CONFIG_HEVC *hevc = &session->config.encodeCodecConfig.hevcConfig;
    bool is_first = plan->type == NV_ENC_PIC_TYPE_IDR && (hevc->repeatSPSPPS || !session->is_begun);
    if (hevc->outputAUD) write_aud(output, plan->type);
    if ((is_first && !hevc->disableSPSPPS) || picture->flags & NV_ENC_PIC_FLAG_OUTPUT_SPSPPS) nvenc_write_sets(session, output);
    bytes_append(output, picture->sei.data, picture->sei.count);
}

static NVENCSTATUS fill(struct session *session, struct pending *picture, const struct plan *plan, struct output *output,
    unsigned number, enum planned_fault fault) {
    const struct personality *personality = nvidia_personality();
    struct coder *coder = &session->coder;
    if (!load(session, picture)) return NV_ENC_ERR_INVALID_PARAM;
    if (fault == FAULT_CORRUPT || (personality->wrong_at && number >= personality->wrong_at)) invert_picture(&session->source);
    coder->sps = &session->sps;
    coder->pps = &session->pps;
    if (!coder_begin(coder)) return NV_ENC_ERR_OUT_OF_MEMORY;
    frame_load(&coder->source, &session->source);
    int qp = choose_qp(session, plan->type);
    make_slices(session, plan, qp);
    write_headers(session, picture, plan, &output->data);
    size_t headers = output->data.count;
    write_slices(session, &output->data);
    if (output->data.failed) return NV_ENC_ERR_OUT_OF_MEMORY;
    coder_deblock(coder);
    if (plan->is_reference)
        for (int i = 0; i < MOST_KEPT; i++) {
            struct kept *kept = &session->kept[i];
            if (kept->used) continue;
            struct frame frame = kept->frame;
            *kept = (struct kept){coder->reconstruction, true, plan->poc};
            coder->reconstruction = frame;
            break;
        }
    if (session->rate.mode != VA_RC_CQP && session->rate.mode != VA_RC_ICQ)
        rate_update(&session->rate, class_of(plan->type), qp, 8.0 * (double)(output->data.count - headers));
    output->qp = (uint32_t)qp;
    output->slices = (uint32_t)coder->slice_count;
    nvenc_trace_picture(session, number, plan, output->data.count, qp);
    return NV_ENC_SUCCESS;
}

NVENCSTATUS nvenc_code(struct session *session, struct pending *picture, const struct plan *plan) {
    const struct personality *personality = nvidia_personality();
    if (!session->output_count) return NV_ENC_ERR_NOT_ENOUGH_BUFFER;
    struct output *output = session->outputs[0];
    memmove(session->outputs, session->outputs + 1, --session->output_count * sizeof *session->outputs);
    unsigned number = ++coded;
    enum planned_fault fault = plan_take(false, number);
    if (fault == FAULT_CRASH || number == personality->crash_at) raise(SIGSEGV);
    if (fault == FAULT_SLOW) sleep(1);
    if (personality->forbidden && number == personality->forbidden_at) forbidden_try(personality->forbidden);
    output->data.count = 0;
    output->data.failed = false;
    output->filled = true;
    output->type = plan->type;
    output->timestamp = picture->timestamp;
    output->duration = picture->duration;
    output->index = picture->index;
    output->hung = fault == FAULT_HANG || (personality->hang_at && number >= personality->hang_at) ||
                   (personality->hang_map_at && number >= personality->hang_map_at);
    if (fault == FAULT_FAIL || (personality->fail_at && number >= personality->fail_at)) {
        refuse(session->error, "picture %u was asked to fail", number);
        return NV_ENC_ERR_GENERIC;
    }
    if (plan_resets() > session->resets) return NV_ENC_ERR_DEVICE_NOT_EXIST;
    NVENCSTATUS status = fill(session, picture, plan, output, number, fault);
    if (personality->corrupt || fault == FAULT_GARBAGE) spoil_bytes(&output->data);
    if (personality->liar) output->data.count = 0;
    return status;
}
