/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libx265's interface over the daemon's hardware: what the files of this library share. One handle stands for either a
 * hardware session or the real libx265's encoder; which one it is, is decided when it is opened, and never changes.
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <hwdaemon.h>
#include <stdbool.h>
#include <stdint.h>
#include <x265.h>

#if X265_BUILD != 199
#error "libx265's structures and functions differ between builds: this source is for X265_BUILD 199"
#endif

/* The name behind a macro of x265.h: x265_encoder_open_199. */
#define TEXT(x) #x
#define NAME_OF(x) TEXT(x)

enum { REASON_SIZE = 512, PROPERTIES_SIZE = 2048 };

typedef struct hardware hardware;

/* ---- log.c: lines on standard error, without control characters ---- */

/* Whether $HWDAEMON_X265_LOG is set and not 0. */
bool is_logging(void);
/* A line if so. */
void log_choice(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line if the app's log level includes errors, or $HWDAEMON_X265_LOG is set. */
void log_error(const x265_param *param, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes why hardware is not used, and returns -1. */
int refuse(char reason[REASON_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- real.c: the process's own libx265 ---- */

/* The table of the default bit depth; NULL without a libx265 of this build. */
const x265_api *real_api(void);
/*
 * A function of a libx265 of another build, which `caller` (an address in its code) uses; NULL if there is none. This build's
 * libx265 is not asked: its functions cannot read the other's encoders.
 */
void *foreign_function(const char *name, void *caller);

/* ---- encoders.c: libx265's functions that take an encoder ---- */

/* Puts this library's functions into a copy of libx265's table, except encoder_open. */
void replace_functions(x265_api *table);
/* Takes functions of this library, which the linker may put into libx265's table, out of a copy of it. */
void restore_functions(x265_api *table, void *(*find)(const char *name));
x265_encoder *open_encoder(const x265_api *api, x265_param *param);

/* ---- options.c, properties.c, color.c: parameters as properties of a session ---- */

/* 0, or -1 and the first parameter that a hardware session has no counterpart for. */
int check_options(const x265_api *api, const x265_param *param, char reason[REASON_SIZE]);
/* A JSON object with all properties of a session; 0, or -1 and the reason. */
int map_properties(const x265_param *param, char json[PROPERTIES_SIZE], char reason[REASON_SIZE]);
/* A JSON object with the properties of rate control that may change in an open session. */
int map_rate_change(const x265_param *from, const x265_param *to, char json[PROPERTIES_SIZE], char reason[REASON_SIZE]);
/* Whether each picture is to be returned by the call that gives it. */
bool is_synchronous(const x265_param *param);

/* A JSON object under construction. */
typedef struct properties {
    char *json;
    size_t length;
    bool overflow;
} properties;

void add_property(properties *to, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
int map_color(const x265_param *param, properties *to, char reason[REASON_SIZE]);

/* ---- hardware.c: a session's life ---- */

/* A session of verified hardware whose encoder is open; NULL and the reason. */
hardware *hardware_open(const x265_param *param, char reason[REASON_SIZE]);
void hardware_close(hardware *encoder);
void hardware_parameters(const hardware *encoder, x265_param *param);
int hardware_headers(hardware *encoder, x265_nal **nals, uint32_t *count);
int hardware_reconfigure(hardware *encoder, const x265_param *param);

/* ---- pictures.c, packets.c, output.c, statistics.c ---- */

int hardware_encode(hardware *encoder, x265_nal **nals, uint32_t *count, const x265_picture *in, x265_picture *out);
void hardware_statistics(const hardware *encoder, x265_stats *statistics, uint32_t size);

#endif
