// SPDX-License-Identifier: GPL-2.0-or-later
// libx265's functions that take an encoder: those of a hardware session are answered here, others by the real libx265.
#include "preload.h"

#include <errno.h>
#include <stdlib.h>

typedef struct handle {
    uint64_t magic;
    const x265_api *api;
    x265_encoder *real;  // NULL for hardware
    hardware *session;
} handle;

static const uint64_t handle_magic = 0x6877642D78323635;

// NULL for an encoder that was opened by a libx265 of another build.
static handle *handle_of(x265_encoder *encoder) {
    handle *at = (handle *)encoder;
    return at && at->magic == handle_magic ? at : NULL;
}

// Returns the real function's result, `failure` if there is none. The encoder is the first argument.
#define CALL_REAL(failure, member, function, encoder, ...)                                            \
    do {                                                                                              \
        handle *known = handle_of(encoder);                                                           \
        if (known) return known->api->member(known->real, ##__VA_ARGS__);                             \
        if (!encoder) return failure;                                                                 \
        __typeof__(&function) other = foreign_function(#function, __builtin_return_address(0)); \
        return other ? other(encoder, ##__VA_ARGS__) : failure;                                       \
    } while (0)

static hardware *session_of(x265_encoder *encoder) {
    handle *known = handle_of(encoder);
    return known ? known->session : NULL;
}

// The daemon's workers inherit the environment of a program that starts a private daemon; their encoders are libx265's.
static bool is_daemon(void) { return strncmp(program_invocation_short_name, "hwdaemon", 8) == 0; }

x265_encoder *open_encoder(const x265_api *api, x265_param *param) {
    if (!api || !param) return NULL;
    handle *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    char reason[REASON_SIZE] = "";
    made->magic = handle_magic;
    made->api = api;
    if (is_daemon())
        refuse(reason, "this is the daemon's encoder");
    else if (check_options(api, param, reason) == 0)
        made->session = hardware_open(param, reason);
    if (!made->session) {
        log_choice("libx265 encodes: %s", reason);
        made->real = api->encoder_open(param);
    }
    if (made->session || made->real) return (x265_encoder *)made;
    free(made);
    return NULL;
}

x265_encoder *x265_encoder_open(x265_param *param) {
    const x265_api *api = real_api();
    if (api) return open_encoder(api, param);
    __typeof__(&x265_encoder_open) other = foreign_function(NAME_OF(x265_encoder_open), __builtin_return_address(0));
    return other ? other(param) : NULL;
}

void x265_encoder_close(x265_encoder *encoder) {
    handle *known = handle_of(encoder);
    if (!known) {
        __typeof__(&x265_encoder_close) other =
            encoder ? foreign_function("x265_encoder_close", __builtin_return_address(0)) : NULL;
        if (other) other(encoder);
        return;
    }
    if (known->session)
        hardware_close(known->session);
    else
        known->api->encoder_close(known->real);
    known->magic = 0;
    free(known);
}

void x265_encoder_parameters(x265_encoder *encoder, x265_param *param) {
    hardware *session = session_of(encoder);
    if (session && param) hardware_parameters(session, param);
    if (!session) CALL_REAL((void)0, encoder_parameters, x265_encoder_parameters, encoder, param);
}

int x265_encoder_headers(x265_encoder *encoder, x265_nal **nals, uint32_t *count) {
    hardware *session = session_of(encoder);
    if (session) return nals ? hardware_headers(session, nals, count) : -1;
    CALL_REAL(-1, encoder_headers, x265_encoder_headers, encoder, nals, count);
}

int x265_encoder_encode(x265_encoder *encoder, x265_nal **nals, uint32_t *count, x265_picture *in, x265_picture *out) {
    hardware *session = session_of(encoder);
    if (session) return hardware_encode(session, nals, count, in, out);
    CALL_REAL(-1, encoder_encode, x265_encoder_encode, encoder, nals, count, in, out);
}

int x265_encoder_reconfig(x265_encoder *encoder, x265_param *param) {
    hardware *session = session_of(encoder);
    if (session) return param ? hardware_reconfigure(session, param) : -1;
    CALL_REAL(-1, encoder_reconfig, x265_encoder_reconfig, encoder, param);
}

void x265_encoder_get_stats(x265_encoder *encoder, x265_stats *statistics, uint32_t size) {
    hardware *session = session_of(encoder);
    if (session && statistics) hardware_statistics(session, statistics, size);
    if (!session) CALL_REAL((void)0, encoder_get_stats, x265_encoder_get_stats, encoder, statistics, size);
}

void x265_encoder_log(x265_encoder *encoder, int count, char **arguments) {
    // Encoders with a CSV file are libx265's.
    if (!session_of(encoder)) CALL_REAL((void)0, encoder_log, x265_encoder_log, encoder, count, arguments);
}

// What follows needs options with which encoders are libx265's.

int x265_encoder_reconfig_zone(x265_encoder *encoder, x265_zone *zone) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, encoder_reconfig_zone, x265_encoder_reconfig_zone, encoder, zone);
}

int x265_encoder_intra_refresh(x265_encoder *encoder) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, encoder_intra_refresh, x265_encoder_intra_refresh, encoder);
}

int x265_encoder_ctu_info(x265_encoder *encoder, int poc, x265_ctu_info_t **info) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, encoder_ctu_info, x265_encoder_ctu_info, encoder, poc, info);
}

int x265_get_slicetype_poc_and_scenecut(x265_encoder *encoder, int *type, int *poc, int *cut) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, get_slicetype_poc_and_scenecut, x265_get_slicetype_poc_and_scenecut, encoder, type, poc, cut);
}

int x265_get_ref_frame_list(x265_encoder *encoder, x265_picyuv **l0, x265_picyuv **l1, int type, int poc, int *poc0, int *poc1) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, get_ref_frame_list, x265_get_ref_frame_list, encoder, l0, l1, type, poc, poc0, poc1);
}

int x265_set_analysis_data(x265_encoder *encoder, x265_analysis_data *data, int poc, uint32_t bytes) {
    if (session_of(encoder)) return -1;
    CALL_REAL(-1, set_analysis_data, x265_set_analysis_data, encoder, data, poc, bytes);
}

void replace_functions(x265_api *table) {
    table->encoder_parameters = x265_encoder_parameters;
    table->encoder_reconfig = x265_encoder_reconfig;
    table->encoder_reconfig_zone = x265_encoder_reconfig_zone;
    table->encoder_headers = x265_encoder_headers;
    table->encoder_encode = x265_encoder_encode;
    table->encoder_get_stats = x265_encoder_get_stats;
    table->encoder_log = x265_encoder_log;
    table->encoder_close = x265_encoder_close;
    table->encoder_intra_refresh = x265_encoder_intra_refresh;
    table->encoder_ctu_info = x265_encoder_ctu_info;
    table->get_slicetype_poc_and_scenecut = x265_get_slicetype_poc_and_scenecut;
    table->get_ref_frame_list = x265_get_ref_frame_list;
    table->set_analysis_data = x265_set_analysis_data;
}

#define RESTORE(member, function, name) \
    if (table->member == function) table->member = find(name)

void restore_functions(x265_api *table, void *(*find)(const char *name)) {
    if (table->encoder_open == x265_encoder_open) table->encoder_open = find(NAME_OF(x265_encoder_open));
    RESTORE(encoder_parameters, x265_encoder_parameters, "x265_encoder_parameters");
    RESTORE(encoder_reconfig, x265_encoder_reconfig, "x265_encoder_reconfig");
    RESTORE(encoder_reconfig_zone, x265_encoder_reconfig_zone, "x265_encoder_reconfig_zone");
    RESTORE(encoder_headers, x265_encoder_headers, "x265_encoder_headers");
    RESTORE(encoder_encode, x265_encoder_encode, "x265_encoder_encode");
    RESTORE(encoder_get_stats, x265_encoder_get_stats, "x265_encoder_get_stats");
    RESTORE(encoder_log, x265_encoder_log, "x265_encoder_log");
    RESTORE(encoder_close, x265_encoder_close, "x265_encoder_close");
    RESTORE(encoder_intra_refresh, x265_encoder_intra_refresh, "x265_encoder_intra_refresh");
    RESTORE(encoder_ctu_info, x265_encoder_ctu_info, "x265_encoder_ctu_info");
    RESTORE(get_slicetype_poc_and_scenecut, x265_get_slicetype_poc_and_scenecut, "x265_get_slicetype_poc_and_scenecut");
    RESTORE(get_ref_frame_list, x265_get_ref_frame_list, "x265_get_ref_frame_list");
    RESTORE(set_analysis_data, x265_set_analysis_data, "x265_set_analysis_data");
}
