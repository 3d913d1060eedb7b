// SPDX-License-Identifier: GPL-2.0-or-later
// What streams contain, unit by unit.
#include "tests.h"

static const uint8_t message[] = {0x12, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 0, 0};

static uint32_t unit_size(const x265_nal *nal, bool start_codes) {
    if (start_codes) return memcmp(nal->payload, "\0\0\0\1", 4) == 0 ? nal->sizeBytes - 4 : 0;
    return (uint32_t)nal->payload[0] << 24 | (uint32_t)nal->payload[1] << 16 | (uint32_t)nal->payload[2] << 8 | nal->payload[3];
}

// Whether an SEI unit has the message, with emulation prevention bytes removed.
static bool has_message(const x265_nal *nal) {
    uint8_t plain[64];
    size_t size = 0;
    int zeros = 0;
    if (nal->type != NAL_UNIT_PREFIX_SEI) return false;
    for (uint32_t i = 6; i < nal->sizeBytes && size < sizeof plain; i++) {
        uint8_t byte = nal->payload[i];
        if (zeros >= 2 && byte == 3) {
            zeros = 0;
            continue;
        }
        CHECK(zeros < 2 || byte > 2);
        zeros = byte ? 0 : zeros + 1;
        plain[size++] = byte;
    }
    return size == 3 + sizeof message && plain[0] == USER_DATA_UNREGISTERED && plain[1] == sizeof message &&
           memcmp(plain + 2, message, sizeof message) == 0 && plain[size - 1] == 0x80;
}

// Delimiter, parameter sets before key pictures, the app's messages, slices.
static void check_units(const run *at, const x265_nal *nals, uint32_t count) {
    const result *last = &at->results[at->returned - 1];
    bool is_key = last->type == X265_TYPE_IDR || last->type == X265_TYPE_I, found = false;
    uint32_t slices = 0;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(unit_size(&nals[i], at->param->bAnnexB) == nals[i].sizeBytes - 4 && nals[i].payload[4] >> 1 == (int)nals[i].type);
        found = found || has_message(&nals[i]);
        if (nals[i].type < NAL_UNIT_VPS) slices++;
        if (slices) CHECK(nals[i].type < NAL_UNIT_VPS || nals[i].type == NAL_UNIT_SUFFIX_SEI);
    }
    CHECK(slices >= 1);
    CHECK(found == (last->pts % 4 == 0));
    if (at->param->bEnableAccessUnitDelimiters) CHECK(nals[0].type == NAL_UNIT_ACCESS_UNIT_DELIMITER);
    uint32_t first = at->param->bEnableAccessUnitDelimiters ? 1 : 0;
    bool has_sets = count > first + 3 && nals[first].type == NAL_UNIT_VPS && nals[first + 1].type == NAL_UNIT_SPS;
    CHECK(has_sets == (is_key && at->param->bRepeatHeaders));
}

static void test_stream(int depth, const char *options) {
    run at;
    x265_sei_payload payload = {sizeof message, USER_DATA_UNREGISTERED, (uint8_t *)message};
    open_run(&at, depth, "fast", NULL, options);
    CHECK(is_hardware(&at));
    for (int i = 0; i < 30 || at.returned < at.sent; i++) {
        x265_picture picture;
        x265_nal *nals = NULL;
        uint32_t count = 0;
        if (i < 30) {
            fill_picture(&at, &picture, i);
            if (i % 4 == 0) picture.userSEI = (x265_sei){1, &payload};
        }
        int came = give(&at, i < 30 ? &picture : NULL, &nals, &count);
        CHECK(came >= 0);
        if (came > 0) check_units(&at, nals, count);
    }
    flush_run(&at);
    check_results(&at);
    close_run(&at);
}

// Without look-ahead and B pictures each call returns its picture.
static void test_latency(void) {
    run at;
    x265_picture picture;
    open_run(&at, 8, "ultrafast", "zerolatency", "");
    CHECK(is_hardware(&at));
    x265_param found;
    at.api->encoder_parameters(at.encoder, &found);
    CHECK(found.bframes + found.lookaheadDepth + found.frameNumThreads - 1 == 0);
    for (int i = 0; i < 20; i++) {
        fill_picture(&at, &picture, i);
        CHECK(give(&at, &picture, NULL, NULL) == 1);
        CHECK(at.results[i].pts == i && at.results[i].dts == i);
    }
    flush_run(&at);
    close_run(&at);
}

// Samples of other depths than the encoder's, as the x265 program gives them.
static void test_depths(void) {
    static const int depths[][2] = {{8, 10}, {8, 16}, {10, 8}, {10, 12}};
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        run at;
        x265_picture picture;
        open_run(&at, depths[k][0], "fast", NULL, "");
        CHECK(is_hardware(&at));
        for (int i = 0; i < 8; i++) {
            int own = at.param->internalBitDepth;
            at.param->internalBitDepth = depths[k][1];
            fill_picture(&at, &picture, i);
            at.param->internalBitDepth = own;
            CHECK(give(&at, &picture, NULL, NULL) >= 0);
        }
        flush_run(&at);
        check_results(&at);
        close_run(&at);
    }
}

void test_streams(void) {
    test_stream(8, "repeat-headers=1;keyint=10");
    test_stream(8, "aud=1;keyint=8;open-gop=0");
    test_stream(10, "aud=1;repeat-headers=1;annexb=0;bframes=0;keyint=7");
    test_latency();
    test_depths();
}
