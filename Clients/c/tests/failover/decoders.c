// SPDX-License-Identifier: MIT
// Decompression sessions whose process is killed, in the ways of using the library that `decoded` does not have.
#include "failover/clip.h"

#include <poll.h>
#include <signal.h>

enum { PICTURES = 60, LONG = 84, FILLER = 3 << 19, LARGE = 44 };

// A clip of the library's own, with two temporal levels.
static void make_clip(hwd_daemon *daemon, clip *of, int count, const char *properties) {
    hwd_compression_config config;
    hwd_session *session;
    hwd_event event;
    HWD_INIT(config);
    HWD_INIT(event);
    memset(of, 0, sizeof *of);
    config.width = 64, config.height = 48, config.pixel_format = HWD_NV12, config.time_base = (hwd_rational){1, 30};
    config.properties = properties;
    CHECK(hwd_compression_create(daemon, &config, &session) == 0);
    for (int64_t number = 0; number < count; number++) CHECK(encode(session, number, TIMEOUT) == 0);
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    do {
        CHECK(hwd_next_event(session, &event, TIMEOUT) == 1);
        uint8_t *copy = event.data_size ? malloc(event.data_size) : NULL;
        if (copy) memcpy(copy, event.data, event.data_size);
        if (event.type == HWD_EVENT_FORMAT) of->record = copy, of->record_size = event.data_size;
        if (event.type == HWD_EVENT_PACKET)
            of->packets[of->count++] = (struct unit){copy, (uint32_t)event.data_size, event.pts, event.flags & HWD_SYNC};
        CHECK(hwd_release(session, &event) == 0);
    } while (event.type != HWD_EVENT_COMPLETED);
    CHECK(of->count == count && of->record);
    hwd_destroy(session);
}

static clip *storing;

static void store(const hwd_event *event, int watched) {
    if (event->type != HWD_EVENT_PICTURE) return;
    (void)watched;
    uint8_t *to = storing->pictures;
    CHECK(storing->picture_count < storing->count);
    to += (size_t)storing->picture_count * storing->picture_size;
    storing->times[storing->picture_count++] = event->pts;
    for (uint32_t plane = 0; plane < event->plane_count; plane++)
        for (uint32_t row = 0; row < event->planes[plane].rows; row++, to += event->planes[plane].row_bytes)
            memcpy(to, event->planes[plane].data + (size_t)row * event->planes[plane].stride, event->planes[plane].row_bytes);
}

// The pictures of an undisturbed session.
static void store_pictures(hwd_daemon *daemon, clip *of) {
    decoding run;
    of->picture_size = 64 * 48 * 3 / 2;
    CHECK((of->pictures = malloc(of->picture_size * (size_t)of->count)) != NULL);
    storing = of;
    open_decoding(&run, daemon, of, HWD_YU12, NULL, false);
    run.is_partial = true, run.watch = store;
    for (int index = 0; index < of->count; index++) CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
    finish_decoding(&run);
    close_decoding(&run, 0);
    CHECK(of->picture_count == of->count);
}

static void free_clip(clip *of) {
    free(of->pictures);
    free((void *)of->record);
    for (int i = 0; i < of->count; i++) free((void *)of->packets[i].bytes);
}

static int key_frame_after(const clip *of, int index) {
    while (!of->packets[index].is_key) CHECK(++index < of->count);
    return index;
}

// ---- What was asked between packets is repeated with them, and each answer comes once

typedef struct answer { uint64_t number, sum; int64_t pts; uint32_t type; } answer;
// Pictures and answers to requests in their order; reports by the packet, as they come when the process reads it.
static struct { answer all[2 * PICTURES]; int count, reports[PICTURES + 1]; } answers[2];

static uint64_t sum_picture(const hwd_event *event) {
    uint64_t sum = 0;
    for (uint32_t plane = 0; plane < event->plane_count; plane++)
        for (uint32_t i = 0; i < event->planes[plane].row_bytes; i++) sum = sum * 31 + event->planes[plane].data[i];
    return sum;
}

static void note(const hwd_event *event, int run) {
    CHECK(answers[run].count < 2 * PICTURES && event->number <= PICTURES);
    if (event->type == HWD_EVENT_REPORT) answers[run].reports[event->number]++;
    else if (event->type != HWD_EVENT_FRAME_RELEASED)
        answers[run].all[answers[run].count++] = (answer){event->number, sum_picture(event), event->pts, event->type};
}

static void run_requests(hwd_daemon *daemon, const clip *of, int run) {
    decoding decoder;
    uint32_t deaths = 0;
    const int barrier = key_frame_after(of, 20);
    open_decoding(&decoder, daemon, of, 0, NULL, true);
    decoder.is_partial = true;
    decoder.watch = note, decoder.watched = run;
    for (int index = 0; index < of->count; index++) {
        if (index == 5) CHECK(hwd_set_int(decoder.session, "MaxTemporalLevel", 0) == 0);
        if (index == 40) CHECK(hwd_set_properties(decoder.session, "{\"MaxTemporalLevel\": null}", TIMEOUT) == 0);
        if (index == barrier) {
            finish_decoding(&decoder);
            CHECK(hwd_change_format(decoder.session, of->record, of->record_size, TIMEOUT) == 0);
        }
        if (index == 45) CHECK(hwd_complete(decoder.session, HWD_ALL_FRAMES, TIMEOUT) == 0);
        // Those after a request, up to the next key frame, give reports.
        CHECK(send_packet(&decoder, index, (index % 7 == 3 ? HWD_DO_NOT_OUTPUT : 0) | (index % 10 == 0 && index < 40 ? HWD_SYNCHRONOUS : 0)) == 0);
        if (run && (index == 10 || index == barrier || index == 46)) kill_decoder(&decoder, deaths++);
        CHECK(fetch_decoded(&decoder, false));
    }
    CHECK(hwd_complete(decoder.session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    while (decoder.answers < 3) CHECK(fetch_decoded(&decoder, true));
    close_decoding(&decoder, deaths);
}

static void test_requests(hwd_daemon *daemon, const clip *of) {
    for (int run = 0; run < 2; run++) run_requests(daemon, of, run);
    CHECK(answers[0].count > PICTURES / 2 && answers[0].count == answers[1].count);
    for (int i = 0; i < answers[0].count; i++) {
        const answer *a = &answers[0].all[i], *b = &answers[1].all[i];
        CHECK(a->number == b->number && a->type == b->type && a->pts == b->pts && a->sum == b->sum);
    }
    CHECK(!memcmp(answers[0].reports, answers[1].reports, sizeof answers[0].reports));
    CHECK(answers[0].reports[47] > 0);
}

// ---- Formats

// Parameter sets that came with the first packet, or by a change of format, are sent again.
static void test_sets(hwd_daemon *daemon, const clip *of) {
    static const uint8_t empty[23] = {1, 1, [13] = 0xf0, [15] = 0xfc, [16] = 0xfd, [17] = 0xf8, [18] = 0xf8, [21] = 0x0f};
    static uint8_t first[65536];
    clip bare = *of;
    decoding run;
    size_t size = 0, at = 23;
    // The record's arrays have lengths of two bytes, packets of four.
    for (int arrays = of->record[22]; arrays > 0; arrays--) {
        int units = of->record[at + 1] << 8 | of->record[at + 2];
        for (at += 3; units > 0; units--) {
            size_t length = (size_t)of->record[at] << 8 | of->record[at + 1];
            first[size] = first[size + 1] = 0;
            memcpy(first + size + 2, of->record + at, 2 + length);
            size += 4 + length, at += 2 + length;
        }
    }
    memcpy(first + size, of->packets[0].bytes, of->packets[0].size);
    bare.packets[0].bytes = first, bare.packets[0].size += (uint32_t)size;
    for (int change = 0; change < 2; change++) {
        if (change) bare.packets[0] = of->packets[0];
        bare.record = empty, bare.record_size = sizeof empty;
        open_decoding(&run, daemon, &bare, 0, NULL, false);
        if (change) CHECK(hwd_change_format(run.session, of->record, of->record_size, TIMEOUT) == 0);
        for (int index = 0; index < of->count; index++) {
            CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
            if (index == 40 || index == 55) {
                drain_decoded(&run);
                kill_decoder(&run, index == 55);
            }
            if (change && index == 40) CHECK(hwd_can_accept_format(run.session, of->record, of->record_size, TIMEOUT) == 0);
        }
        finish_decoding(&run);
        close_decoding(&run, 2);
    }
}

// ---- Threads

static void *send_packets(void *context) {
    decoding *run = context;
    for (int index = 0; index < run->of->count; index++) {
        CHECK(send_packet(run, index, index % 8 == 0 ? HWD_SYNCHRONOUS : 0) == 0);
        usleep(3000);
    }
    CHECK(hwd_complete(run->session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    return NULL;
}

static void *set_level(void *context) {
    decoding *run = context;
    for (int i = 0; i < PICTURES / 2; i++) {
        char *values;
        CHECK(hwd_set_int(run->session, "MaxTemporalLevel", 6) == 0);
        CHECK(hwd_copy_properties(run->session, "[\"MaxTemporalLevel\"]", TIMEOUT, &values) == 0 && strstr(values, "6"));
        hwd_free(values);
        usleep(3000);
    }
    return NULL;
}

static void test_threads_of_decoder(hwd_daemon *daemon, const clip *of) {
    decoding run;
    pthread_t sending, setting;
    uint32_t deaths = 0;
    open_decoding(&run, daemon, of, 0, NULL, false);
    CHECK(pthread_create(&sending, NULL, send_packets, &run) == 0 && pthread_create(&setting, NULL, set_level, &run) == 0);
    while (!run.answers) {
        CHECK(fetch_decoded(&run, true));
        if (!run.answers && deaths < 3 && run.picture_count > 4 + 15 * (int)deaths) kill_decoder(&run, deaths++);
    }
    CHECK(pthread_join(sending, NULL) == 0 && pthread_join(setting, NULL) == 0);
    hwd_session_info info;
    HWD_INIT(info);
    CHECK(hwd_get_info(run.session, &info) == 0 && deaths == 3);
    close_decoding(&run, info.restart_count);
}

static void *send_synchronous(void *context) {
    CHECK(send_packet(context, 9, HWD_SYNCHRONOUS) == 0);
    return NULL;
}

// The process dies while a thread waits until it has taken a packet, and another until all pictures have come.
static void test_waits_of_decoder(hwd_daemon *daemon, const clip *of) {
    decoding run;
    pthread_t sending;
    open_decoding(&run, daemon, of, 0, NULL, false);
    for (int index = 0; index < 9; index++) CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
    signal_worker(daemon, run.session, SIGSTOP);
    CHECK(pthread_create(&sending, NULL, send_synchronous, &run) == 0);
    usleep(100000);
    kill_worker(daemon, run.session);
    CHECK(pthread_join(sending, NULL) == 0);
    for (int index = 10; index < of->count; index++) CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
    signal_worker(daemon, run.session, SIGSTOP);
    CHECK(hwd_complete(run.session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    kill_worker(daemon, run.session);
    while (run.answers < 1) CHECK(fetch_decoded(&run, true));
    close_decoding(&run, 2);
}

// ---- Ends

static void expect_end(decoding *run, const char *reason) {
    hwd_event event;
    HWD_INIT(event);
    int result;
    while ((result = hwd_next_event(run->session, &event, TIMEOUT)) > 0) CHECK(hwd_release(run->session, &event) == 0);
    CHECK(result == HWD_VIDEO_DECODER_MALFUNCTION && strstr(hwd_last_error(), reason));
    free_decoding(run);
}

static void expect_notice(decoding *run, bool expected) {
    char *values;
    CHECK(hwd_copy_properties(run->session, "[\"Notices\"]", TIMEOUT, &values) == 0);
    CHECK((strstr(values, "more than 64 MiB") != NULL) == expected);
    hwd_free(values);
}

// Where the property turns it off, and after the fourth death, the session ends with its process.
static void test_ends_of_decoder(hwd_daemon *daemon, const clip *of) {
    decoding run;
    for (int late = 0; late < 2; late++) {
        open_decoding(&run, daemon, of, 0, late ? NULL : "{\"ReplaysAfterFailure\": false}", false);
        if (late) CHECK(hwd_set_properties(run.session, "{\"ReplaysAfterFailure\": false}", TIMEOUT) == 0);
        for (int index = 0; index < 20; index++) CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
        kill_worker(daemon, run.session);
        expect_end(&run, "SIGKILL");
    }
    open_decoding(&run, daemon, of, 0, NULL, false);
    for (uint32_t deaths = 0; deaths < 4; deaths++) {
        kill_decoder(&run, deaths);
        struct pollfd entry = {hwd_get_fd(run.session), POLLIN, 0};
        CHECK(poll(&entry, 1, TIMEOUT) == 1);
        CHECK(deaths == 3 || send_packet(&run, (int)deaths, HWD_SYNCHRONOUS) == 0);
    }
    expect_end(&run, "SIGKILL");
    open_decoding(&run, daemon, of, 0, NULL, false);
    CHECK(send_packet(&run, 0, 0) == 0);
    kill_worker(daemon, run.session);
    hwd_invalidate(run.session);
    CHECK(send_packet(&run, 1, 0) == HWD_INVALID_SESSION);
    free_decoding(&run);
}

// Filler data (H.265 7.3.2.8) before the slices make packets large.
static void enlarge(clip *of) {
    const uint32_t length = FILLER - 4;
    const uint8_t header[6] = {length >> 24, length >> 16 & 255, length >> 8 & 255, length & 255, 38 << 1, 1};
    for (int i = 0; i < of->count; i++) {
        uint8_t *bytes = malloc(FILLER + of->packets[i].size);
        CHECK(bytes);
        memset(bytes, 0xff, FILLER);
        memcpy(bytes, header, sizeof header);
        bytes[FILLER - 1] = 0x80;
        memcpy(bytes + FILLER, of->packets[i].bytes, of->packets[i].size);
        free((void *)of->packets[i].bytes);
        of->packets[i].bytes = bytes, of->packets[i].size += FILLER;
    }
}

// Without key frames packets are kept up to 64 MiB; the next key frame makes up for those that are not.
static void test_limit(hwd_daemon *daemon) {
    static clip of;
    make_clip(daemon, &of, LONG, "{\"X265Preset\": \"ultrafast\", \"MaxKeyFrameInterval\": 50}");
    enlarge(&of);
    CHECK(key_frame_after(&of, 1) > LARGE && key_frame_after(&of, 1) < 60);
    for (int kills = 0; kills < 2; kills++) {
        decoding run;
        open_decoding(&run, daemon, &of, 0, NULL, kills);
        run.is_partial = true;
        for (int index = 0; index < (kills ? LARGE + 1 : LONG); index++) {
            CHECK(send_packet(&run, index, 0) == 0 && fetch_decoded(&run, false));
            if (index == 30 || index == LARGE) expect_notice(&run, index == LARGE);
        }
        if (!kills) {
            while (run.picture_count < 60) CHECK(fetch_decoded(&run, true));
            expect_notice(&run, false);
        }
        kill_worker(daemon, run.session);
        if (kills) {
            expect_end(&run, "SIGKILL");
            break;
        }
        finish_decoding(&run);
        close_decoding(&run, 1);
        CHECK(run.picture_count == LONG);
    }
    free_clip(&of);
}

void test_decoders(hwd_daemon *daemon) {
    static clip of;
    make_clip(daemon, &of, PICTURES, "{\"X265Preset\": \"fast\", \"MaxKeyFrameInterval\": 12, \"BaseLayerFrameRate\": 15, \"ExpectedFrameRate\": 30}");
    store_pictures(daemon, &of);
    test_requests(daemon, &of);
    test_sets(daemon, &of);
    test_threads_of_decoder(daemon, &of);
    test_waits_of_decoder(daemon, &of);
    test_ends_of_decoder(daemon, &of);
    test_limit(daemon);
    free_clip(&of);
}
