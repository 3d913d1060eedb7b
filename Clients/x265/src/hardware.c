// SPDX-License-Identifier: GPL-2.0-or-later
// A session's life: opened, described, changed, closed.
#include "session.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

// The texts of x265_param.
static const size_t texts[] = {
    offsetof(x265_param, numaPools),     offsetof(x265_param, csvfn),
    offsetof(x265_param, scalingLists),  offsetof(x265_param, analysisReuseFileName),
    offsetof(x265_param, analysisSave),  offsetof(x265_param, analysisLoad),
    offsetof(x265_param, naluFile),      offsetof(x265_param, masteringDisplayColorVolume),
    offsetof(x265_param, toneMapFile),   offsetof(x265_param, rc.statFileName),
    offsetof(x265_param, rc.lambdaFileName),
};

static char **text_at(x265_param *param, size_t index) { return (char **)(void *)((char *)param + texts[index]); }

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int set_fault(hardware *encoder, const char *fault) {
    encoder->fault = fault;
    return -EPROTO;
}

// A copy for x265_encoder_parameters; false without memory.
static bool copy_parameters(hardware *encoder, const x265_param *param) {
    bool copied = true;
    encoder->param = *param;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char **text = text_at(&encoder->param, i);
        if (*text && !(*text = strdup(*text))) copied = false;
    }
    // GStreamer computes its latency from these: as if all credits of the session were look-ahead.
    hwd_session_info info;
    HWD_INIT(info);
    encoder->synchronous = is_synchronous(param);
    if (encoder->synchronous || hwd_get_info(encoder->session, &info) < 0) return copied;
    encoder->param.frameNumThreads = 1;
    encoder->param.lookaheadDepth = info.max_frames_in_flight > X265_LOOKAHEAD_MAX ? X265_LOOKAHEAD_MAX : (int)info.max_frames_in_flight;
    return copied;
}

// Opens the encoder and takes its parameter sets.
static int prepare(hardware *encoder) {
    int result = hwd_prepare(encoder->session, HWD_DEFAULT_TIMEOUT);
    while (result >= 0 && !encoder->new_headers.size && (result = receive(encoder, 0)) > 0) continue;
    if (result < 0) return result;
    encoder->headers = encoder->new_headers;
    encoder->new_headers = (units){0};
    return encoder->headers.size ? 0 : set_fault(encoder, "the encoder has no parameter sets");
}

static int open_session(hardware *encoder, const x265_param *param, const char *properties) {
    hwd_compression_config config;
    HWD_INIT(config);
    config.width = (uint32_t)param->sourceWidth;
    config.height = (uint32_t)param->sourceHeight;
    config.pixel_format = param->internalBitDepth > 8 ? HWD_I010 : HWD_YU12;
    config.time_base.numerator = (int32_t)param->fpsDenom;
    config.time_base.denominator = (int32_t)param->fpsNum;
    config.specification = "{\"RequireHardwareAcceleratedVideoEncoder\":true}";
    config.properties = properties;
    int result = hwd_open(NULL, 0, &encoder->daemon);
    if (result >= 0) result = hwd_compression_create(encoder->daemon, &config, &encoder->session);
    return result < 0 ? result : prepare(encoder);
}

// What the driver does differently, and why the session continued in another process; null for nothing.
static void log_notices(hardware *encoder) {
    char *notices;
    if (hwd_copy_properties(encoder->session, "[\"Notices\"]", HWD_DEFAULT_TIMEOUT, &notices) < 0) return;
    if (strstr(notices, "\"Notices\":\"")) log_choice("%s", notices);
    hwd_free(notices);
}

static void log_session(hardware *encoder, const char *properties) {
    hwd_session_info info;
    HWD_INIT(info);
    if (!is_logging() || hwd_get_info(encoder->session, &info) < 0) return;
    log_choice("%s encodes %ux%u, session %s, %s", info.codec_id, info.width, info.height, info.session, properties);
    encoder->restarts = info.restart_count;
    log_notices(encoder);
}

void log_restart(hardware *encoder) {
    hwd_session_info info;
    HWD_INIT(info);
    if (!is_logging() || hwd_get_info(encoder->session, &info) < 0 || info.restart_count == encoder->restarts) return;
    encoder->restarts = info.restart_count;
    log_choice("%s continues as session %s", info.codec_id, info.session);
    log_notices(encoder);
}

hardware *hardware_open(const x265_param *param, char reason[REASON_SIZE]) {
    char properties[PROPERTIES_SIZE];
    if (map_properties(param, properties, reason) < 0) return NULL;
    hardware *encoder = calloc(1, sizeof *encoder);
    if (!encoder) {
        refuse(reason, "no memory");
        return NULL;
    }
    encoder->last = &encoder->first;
    encoder->greatest = -1;
    encoder->opened = seconds_now();
    int result = open_session(encoder, param, properties);
    if (result < 0) {
        refuse(reason, "%s", encoder->fault ? encoder->fault : hwd_last_error());
        hardware_close(encoder);
        return NULL;
    }
    if (!copy_parameters(encoder, param)) {
        refuse(reason, "no memory");
        hardware_close(encoder);
        return NULL;
    }
    log_session(encoder, properties);
    return encoder;
}

void hardware_close(hardware *encoder) {
    if (encoder->sent) log_choice("%lld of %lld pictures returned", (long long)encoder->returned, (long long)encoder->sent);
    hwd_destroy(encoder->session);
    hwd_close(encoder->daemon);
    for (packet *at = encoder->first, *next; at; at = next) {
        next = at->next;
        free_packet(at);
    }
    drop_infos(encoder, encoder->sent);
    free(encoder->infos);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(*text_at(&encoder->param, i));
    free(encoder->headers.bytes);
    free(encoder->new_headers.bytes);
    free(encoder->output.bytes);
    free(encoder->output.nals);
    free(encoder->header_output.bytes);
    free(encoder->header_output.nals);
    if (encoder->blank) munmap(encoder->blank, encoder->blank_size);
    free(encoder);
}

void hardware_parameters(const hardware *encoder, x265_param *param) { *param = encoder->param; }

int hardware_headers(hardware *encoder, x265_nal **nals, uint32_t *count) {
    output *to = &encoder->header_output;
    clear_output(to);
    add_units(to, &encoder->headers, encoder->param.bAnnexB);
    int size = finish_output(to);
    *nals = to->nals;
    if (count) *count = size < 0 ? 0 : to->count;
    return size;
}

int hardware_reconfigure(hardware *encoder, const x265_param *param) {
    char properties[PROPERTIES_SIZE], reason[REASON_SIZE];
    if (encoder->failed) return -1;
    int result = map_rate_change(&encoder->param, param, properties, reason);
    if (result == 0 && (result = hwd_set_properties(encoder->session, properties, HWD_DEFAULT_TIMEOUT)) < 0)
        refuse(reason, "%s", hwd_last_error());
    if (result < 0) {
        log_error(&encoder->param, "the parameters stay: %s", reason);
        return -1;
    }
    encoder->param.rc.bitrate = param->rc.bitrate;
    encoder->param.rc.vbvMaxBitrate = param->rc.vbvMaxBitrate;
    encoder->param.rc.vbvBufferSize = param->rc.vbvBufferSize;
    encoder->param.rc.rfConstant = param->rc.rfConstant;
    return 0;
}
