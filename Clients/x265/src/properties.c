// SPDX-License-Identifier: GPL-2.0-or-later
// Rate control and picture structure as properties of a session; docs/x265.md has the table.
#include "preload.h"

#include <stdarg.h>
#include <stdio.h>

void add_property(properties *to, const char *name, const char *format, ...) {
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    size_t left = PROPERTIES_SIZE - to->length;
    int length = snprintf(to->json + to->length, left, "%s\"%s\":%s", to->length > 1 ? "," : "", name, value);
    // The closing brace and the NUL follow.
    if (written < 0 || (size_t)written >= sizeof value || length < 0 || (size_t)length + 2 > left)
        to->overflow = true;
    else
        to->length += (size_t)length;
}

static properties begin(char json[PROPERTIES_SIZE]) {
    json[0] = '{';
    return (properties){json, 1, false};
}

static int end(properties *made, char reason[REASON_SIZE]) {
    if (made->overflow) return refuse(reason, "the options are too long");
    made->json[made->length++] = '}';
    made->json[made->length] = 0;
    return 0;
}

// A number of at least 0, rounded down. printf's %f depends on the app's locale.
static void add_decimal(properties *to, const char *name, double value) {
    long long millionths = (long long)(value * 1e6);
    add_property(to, name, "%lld.%06lld", millionths / 1000000, millionths % 1000000);
}

// Bit rates as libx265 completes them; 0 for none.
typedef struct rates {
    long long average, peak, buffer;  // kbit/s, kbit/s, kbit
} rates;

static rates rates_of(const x265_param *param) {
    rates found = {0, param->rc.vbvMaxBitrate, param->rc.vbvBufferSize};
    bool has_average = param->rc.rateControlMode == X265_RC_ABR;
    if (has_average) found.average = param->rc.bitrate;
    if (has_average && found.buffer > 0 && found.peak <= 0) found.peak = found.average;
    if (param->rc.rateControlMode == X265_RC_CQP || found.buffer <= 0 || found.peak <= 0) found.peak = found.buffer = 0;
    if (has_average && found.peak && found.peak < found.average) found.average = found.peak;
    return found;
}

static void add_limit(properties *to, rates found) {
    // buffer / peak seconds, rounded down, because the limit may not be below the average.
    long long nanoseconds = (long long)((double)found.buffer / (double)found.peak * 1e9) - 1;
    if (nanoseconds < 1) nanoseconds = 1;
    add_property(to, "DataRateLimits", "[%lld,%lld.%09lld]", found.buffer * 125, nanoseconds / 1000000000, nanoseconds % 1000000000);
}

static int add_quality(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    // A session's Quality is 1 for CRF 2 and 0 for CRF 40.
    double factor = param->rc.rfConstant;
    if (!(factor >= 2 && factor <= 40)) return refuse(reason, "crf %.1f is not between 2 and 40", factor);
    add_decimal(to, "Quality", (40 - factor) / 38 + 5e-7);
    return 0;
}

static int add_rate(const x265_param *param, rates found, properties *to, char reason[REASON_SIZE]) {
    switch (param->rc.rateControlMode) {
    case X265_RC_ABR:
        if (found.average < 1 || found.average > 800000)
            return refuse(reason, "bitrate %lld kbit/s is not between 1 and 800000", found.average);
        add_property(to, "AverageBitRate", "%lld", found.average * 1000);
        return 0;
    case X265_RC_CRF: return add_quality(param, to, reason);
    case X265_RC_CQP:
        if (param->rc.qp < 0 || param->rc.qp > 51) return refuse(reason, "qp %d is not between 0 and 51", param->rc.qp);
        add_property(to, "QP", "%d", param->rc.qp);
        return 0;
    default: return refuse(reason, "rate control mode %d is unknown", param->rc.rateControlMode);
    }
}

static int map_rate(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    rates found = rates_of(param);
    if (add_rate(param, found, to, reason) < 0) return -1;
    if (found.peak) add_limit(to, found);
    if (param->rc.rateControlMode != X265_RC_CQP) {
        if (param->rc.qpMin > 0) add_property(to, "MinAllowedFrameQP", "%d", param->rc.qpMin);
        if (param->rc.qpMax < 51) add_property(to, "MaxAllowedFrameQP", "%d", param->rc.qpMax);
    }
    if (param->rc.aqMode == X265_AQ_NONE) add_property(to, "SpatialAdaptiveQPLevel", "0");
    return 0;
}

bool is_synchronous(const x265_param *param) {
    return param->bframes == 0 && param->lookaheadDepth == 0 && param->frameNumThreads == 1;
}

static int map_structure(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    if (param->keyframeMax < 0 || param->keyframeMax > 100000)
        return refuse(reason, "keyint %d is not between 0 and 100000", param->keyframeMax);
    add_property(to, "MaxKeyFrameInterval", "%d", param->keyframeMax > 1 ? param->keyframeMax : 1);
    add_property(to, "AllowOpenGOP", param->bOpenGOP ? "true" : "false");
    if (param->bframes == 0) add_property(to, "AllowFrameReordering", "false");
    if (is_synchronous(param)) add_property(to, "RealTime", "true");
    return 0;
}

static int map_level(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    static const int levels[] = {10, 20, 21, 30, 31, 40, 41, 50, 51, 52, 60, 61, 62};
    if (param->levelIdc == 0) return 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (levels[i] != param->levelIdc) continue;
        char minor[4] = "";
        if (levels[i] % 10) snprintf(minor, sizeof minor, "_%d", levels[i] % 10);
        add_property(to, "ProfileLevel", "\"HEVC_Main%s_%d%s\"", param->internalBitDepth > 8 ? "10" : "", levels[i] / 10, minor);
        return 0;
    }
    return refuse(reason, "level-idc %d is not a level of hardware sessions", param->levelIdc);
}

static int map_frame_rate(const x265_param *param, properties *to, char reason[REASON_SIZE]) {
    double rate = param->fpsDenom ? (double)param->fpsNum / param->fpsDenom : 0;
    if (param->fpsNum > INT32_MAX || param->fpsDenom > INT32_MAX || !(rate >= 0.001 && rate <= 1000))
        return refuse(reason, "a frame rate of %u/%u Hz", param->fpsNum, param->fpsDenom);
    add_property(to, "ExpectedFrameRate", "\"%u/%u\"", param->fpsNum, param->fpsDenom);
    return 0;
}

int map_properties(const x265_param *param, char json[PROPERTIES_SIZE], char reason[REASON_SIZE]) {
    properties made = begin(json);
    if (map_frame_rate(param, &made, reason) < 0 || map_rate(param, &made, reason) < 0 || map_structure(param, &made, reason) < 0 ||
        map_level(param, &made, reason) < 0 || map_color(param, &made, reason) < 0)
        return -1;
    return end(&made, reason);
}

int map_rate_change(const x265_param *from, const x265_param *to, char json[PROPERTIES_SIZE], char reason[REASON_SIZE]) {
    properties made = begin(json);
    if (from->rc.rateControlMode != to->rc.rateControlMode) return refuse(reason, "the rate control mode cannot change");
    if (to->rc.rateControlMode == X265_RC_CQP) {
        if (from->rc.qp != to->rc.qp) return refuse(reason, "qp cannot change");
        return end(&made, reason);
    }
    rates found = rates_of(to);
    if (add_rate(to, found, &made, reason) < 0) return -1;
    if (found.peak)
        add_limit(&made, found);
    else
        add_property(&made, "DataRateLimits", "null");
    return end(&made, reason);
}
