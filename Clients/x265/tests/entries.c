// SPDX-License-Identifier: GPL-2.0-or-later
// Every entry of the interface.
#include "tests.h"

// Times that are not even: 0, 3, 10, 13, 20 …
static int64_t time_of(int number) { return number / 2 * 10 + number % 2 * 3; }

static void test_tables(void) {
    int error = -1;
    const x265_api *main8 = x265_api_get(8), *main10 = x265_api_get(10);
    CHECK(main8 && main10 && main8 != main10 && main8 == x265_api_get(0) && main8 == x265_api_get(8));
    CHECK(x265_api_query(8, X265_BUILD, &error) == main8 && error == X265_API_QUERY_ERR_NONE);
    // Another build's version is for another build's library, which this process does not have.
    CHECK(!x265_api_query(8, 1, &error) && error == X265_API_QUERY_ERR_FUNC_NOT_FOUND);
    CHECK(main8->encoder_encode == x265_encoder_encode && main8->encoder_open != main10->encoder_open);
    CHECK(!main8->encoder_open(NULL) && !x265_encoder_open(NULL));
    CHECK(x265_encoder_encode(NULL, NULL, NULL, NULL, NULL) < 0);
    x265_encoder_close(NULL);
}

static void test_headers(run *at) {
    x265_nal *nals = NULL;
    uint32_t count = 0;
    int size = at->api->encoder_headers(at->encoder, &nals, &count);
    CHECK(size > 0 && count >= 3);
    CHECK(nals[0].type == NAL_UNIT_VPS && nals[1].type == NAL_UNIT_SPS && nals[2].type == NAL_UNIT_PPS);
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(nals[i].sizeBytes > 6 && memcmp(nals[i].payload, "\0\0\0\1", 4) == 0 && nals[i].payload[4] >> 1 == (int)nals[i].type);
        total += nals[i].sizeBytes;
    }
    CHECK(total == (uint32_t)size);
    CHECK(at->api->encoder_headers(at->encoder, NULL, &count) == -1);
}

// What an encoder without the options of these calls answers.
static void test_unused(run *at) {
    int type, poc, cut;
    x265_picyuv *list = NULL;
    x265_analysis_data data;
    x265_ctu_info_t *info = NULL;
    x265_zone zone;
    memset(&data, 0, sizeof data);
    memset(&zone, 0, sizeof zone);
    CHECK(at->api->encoder_reconfig_zone(at->encoder, &zone) < 0);
    CHECK(at->api->encoder_ctu_info(at->encoder, 0, &info) < 0);
    CHECK(at->api->get_slicetype_poc_and_scenecut(at->encoder, &type, &poc, &cut) < 0);
    CHECK(at->api->get_ref_frame_list(at->encoder, &list, &list, 0, 0, &poc, &poc) < 0);
    CHECK(at->api->set_analysis_data(at->encoder, &data, 0, 0) < 0);
    at->api->encoder_log(at->encoder, 0, NULL);
}

static void test_statistics(const run *at) {
    x265_stats statistics;
    memset(&statistics, 7, sizeof statistics);
    at->api->encoder_get_stats(at->encoder, &statistics, sizeof statistics);
    CHECK(statistics.encodedPictureCount == (uint32_t)at->returned && statistics.accBits > 0 && statistics.bitrate > 0);
    CHECK(statistics.statsI.numPics >= 1 && statistics.statsP.numPics > 1 && statistics.statsB.numPics > 1);
    CHECK(statistics.statsI.numPics + statistics.statsP.numPics + statistics.statsB.numPics == (uint32_t)at->returned);
    CHECK(statistics.elapsedEncodeTime > 0 && statistics.elapsedVideoTime == at->returned / 30.0);
    CHECK(statistics.globalPsnr == 0 && statistics.aggregateVmafScore == 0);
    // A smaller structure is that of another build.
    at->api->encoder_get_stats(at->encoder, &statistics, 8);
}

static void test_parameters(const run *at) {
    x265_param found;
    at->api->encoder_parameters(at->encoder, &found);
    CHECK(found.sourceWidth == WIDTH && found.rc.bitrate == 300 && found.bframes == at->param->bframes);
    CHECK(found.lookaheadDepth > 0 && found.frameNumThreads == 1);
    CHECK(strcmp(found.masteringDisplayColorVolume, at->param->masteringDisplayColorVolume) == 0);
    CHECK(found.masteringDisplayColorVolume != at->param->masteringDisplayColorVolume);
}

static void test_reconfiguration(run *at) {
    x265_param changed = *at->param;
    changed.rc.bitrate = 600;
    changed.rc.vbvMaxBitrate = 900;
    changed.rc.vbvBufferSize = 900;
    CHECK(at->api->encoder_reconfig(at->encoder, &changed) == 0);
    x265_param found;
    at->api->encoder_parameters(at->encoder, &found);
    CHECK(found.rc.bitrate == 600 && found.rc.vbvMaxBitrate == 900);
    changed.rc.rateControlMode = X265_RC_CRF;
    CHECK(at->api->encoder_reconfig(at->encoder, &changed) == -1);
    changed.rc.rateControlMode = X265_RC_ABR;
    changed.rc.bitrate = 0;
    CHECK(at->api->encoder_reconfig(at->encoder, &changed) == -1);
    CHECK(at->api->encoder_reconfig(at->encoder, NULL) == -1);
}

// A picture that cannot be read is refused, and the next ones are coded.
static void test_wrong_pictures(run *at) {
    x265_picture picture;
    fill_picture(at, &picture, 0);
    picture.planes[1] = NULL;
    CHECK(at->api->encoder_encode(at->encoder, NULL, NULL, &picture, NULL) == -1);
    fill_picture(at, &picture, 0);
    picture.colorSpace = X265_CSP_I444;
    CHECK(at->api->encoder_encode(at->encoder, NULL, NULL, &picture, NULL) == -1);
    fill_picture(at, &picture, 0);
    x265_sei_payload payload = {-1, USER_DATA_UNREGISTERED, NULL};
    picture.userSEI = (x265_sei){1, &payload};
    CHECK(at->api->encoder_encode(at->encoder, NULL, NULL, &picture, NULL) == -1);
    picture.userSEI.numPayloads = 100000;
    CHECK(at->api->encoder_encode(at->encoder, NULL, NULL, &picture, NULL) == -1);
    fill_picture(at, &picture, 0);
    picture.bitDepth = 7;
    CHECK(at->api->encoder_encode(at->encoder, NULL, NULL, &picture, NULL) == -1);
}

void test_entries(void) {
    run at;
    x265_picture picture;
    test_tables();
    open_run(&at, 8, "medium", NULL, "bitrate=300;master-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(9,10)");
    CHECK(is_hardware(&at));
    test_headers(&at);
    test_parameters(&at);
    test_unused(&at);
    test_wrong_pictures(&at);
    for (int i = 0; i < 60; i++) {
        if (i == 20) test_reconfiguration(&at);
        fill_picture(&at, &picture, time_of(i));
        if (i == 33) picture.sliceType = X265_TYPE_IDR;
        if (i == 40) picture.forceqp = 31;
        if (i == 41) picture.sliceType = X265_TYPE_B;
        CHECK(give(&at, &picture, NULL, NULL) >= 0);
    }
    flush_run(&at);
    check_results(&at);
    test_statistics(&at);
    for (int i = 0; i < at.returned; i++)
        if (at.results[i].pts == 0 || at.results[i].pts == time_of(33)) CHECK(at.results[i].type == X265_TYPE_IDR);
    // Frames may follow a flush.
    fill_picture(&at, &picture, time_of(60));
    CHECK(give(&at, &picture, NULL, NULL) >= 0);
    flush_run(&at);
    check_results(&at);
    close_run(&at);
    // Closed with pictures in it, and without any.
    open_run(&at, 8, "medium", NULL, "");
    for (int i = 0; i < 5; i++) {
        fill_picture(&at, &picture, i);
        CHECK(give(&at, &picture, NULL, NULL) >= 0);
    }
    close_run(&at);
    open_run(&at, 8, "medium", NULL, "");
    flush_run(&at);
    close_run(&at);
}
