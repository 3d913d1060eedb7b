// SPDX-License-Identifier: GPL-2.0-or-later
// One encoder, used as apps use it.
#include "tests.h"

static void parse(run *at, const char *options) {
    char *copy = strdup(options), *rest = NULL;
    for (char *option = strtok_r(copy, ";", &rest); option; option = strtok_r(NULL, ";", &rest)) {
        char *value = strchr(option, '=');
        if (value) *value++ = 0;
        CHECK(at->api->param_parse(at->param, option, value) == 0);
    }
    free(copy);
}

void open_run(run *at, int depth, const char *preset, const char *tune, const char *options) {
    memset(at, 0, sizeof *at);
    at->api = x265_api_get(depth);
    CHECK(at->api && at->api->bit_depth == depth && at->api->api_build_number == X265_BUILD);
    at->param = at->api->param_alloc();
    CHECK(at->api->param_default_preset(at->param, preset, tune) == 0);
    at->param->sourceWidth = WIDTH;
    at->param->sourceHeight = HEIGHT;
    at->param->fpsNum = 30;
    at->param->fpsDenom = 1;
    at->param->logLevel = X265_LOG_NONE;
    at->param->internalCsp = X265_CSP_I420;
    parse(at, options);
    at->encoder = at->api->encoder_open(at->param);
    CHECK(at->encoder);
    // Enough for every chroma format and for 2 bytes a sample.
    for (int i = 0; i < 3; i++) CHECK(at->planes[i] = calloc(2 * WIDTH, HEIGHT));
}

void close_run(run *at) {
    at->api->encoder_close(at->encoder);
    at->api->param_free(at->param);
    for (int i = 0; i < 3; i++) free(at->planes[i]);
}

bool is_hardware(const run *at) { return at->api->encoder_intra_refresh(at->encoder) == -1; }

void fill_picture(run *at, x265_picture *picture, int64_t pts) {
    at->api->picture_init(at->param, picture);
    bool wide = picture->bitDepth > 8;
    for (int i = 0; i < 3; i++) {
        picture->planes[i] = at->planes[i];
        picture->stride[i] = wide ? 2 * WIDTH : WIDTH;
        for (int k = 0; k < WIDTH * HEIGHT; k++) {
            int value = i ? 128 : 40 + (k % WIDTH + k / WIDTH + 2 * at->sent) % 150;
            if (wide)
                ((uint16_t *)(void *)at->planes[i])[k] = (uint16_t)(value << (picture->bitDepth - 8));
            else
                at->planes[i][k] = (uint8_t)value;
        }
    }
    picture->pts = pts;
    picture->userData = (void *)(intptr_t)(pts + 1000);
}

int give(run *at, x265_picture *picture, x265_nal **nals, uint32_t *count) {
    x265_picture out;
    x265_nal *units = NULL;
    uint32_t number = 99;
    if (picture) at->sent++;
    int came = at->api->encoder_encode(at->encoder, &units, &number, picture, &out);
    CHECK(came <= 0 ? number == 0 || came < 0 : number > 0);
    if (came > 0) {
        CHECK(at->returned < MOST_PICTURES);
        at->results[at->returned++] = (result){out.pts, out.dts, out.userData, out.sliceType, at->sent};
        // Payloads lie in one block.
        for (uint32_t i = 1; i < number; i++) CHECK(units[i].payload == units[i - 1].payload + units[i - 1].sizeBytes);
        if (nals) *nals = units;
        if (count) *count = number;
    }
    return came;
}

void flush_run(run *at) {
    int came;
    while ((came = give(at, NULL, NULL, NULL)) > 0) continue;
    CHECK(came == 0);
    CHECK(at->returned == at->sent);
    CHECK(give(at, NULL, NULL, NULL) == 0);
}

void check_results(const run *at) {
    int64_t last = INT64_MIN;
    for (int i = 0; i < at->returned; i++) {
        const result *found = &at->results[i];
        CHECK(found->dts > last && found->dts <= found->pts);
        CHECK(found->user_data == (void *)(intptr_t)(found->pts + 1000));
        for (int k = 0; k < i; k++) CHECK(at->results[k].pts != found->pts);
        last = found->dts;
    }
}
