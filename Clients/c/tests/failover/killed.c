// SPDX-License-Identifier: MIT
// killed ADDRESS [transfers]: sessions whose process is killed, in the ways of using the library that `failover` does not have: transfers,
// several threads, a session that ends meanwhile, memory that is taken back; decoders.c has those that decode. With `transfers`: transfers alone, killed at each frame.
#include "api/api.h"

#include <poll.h>
#include <signal.h>

enum { WIDTH = 320, HEIGHT = 180, FRAMES = 40, SLOTS = 4 };
// More than a worker can be ahead of the app.
enum { CODED_FRAMES = 400 };

// ---- Transfers

typedef struct pictures {
    hwd_session *session;
    hwd_pool *from, *to;
    uint32_t source, target;
    uint64_t from_size, to_size;
    uint64_t numbers[SLOTS];
    uint8_t *result; // FRAMES pictures
    uint64_t frame_of[SLOTS];
    int waiting;
} pictures;

// A table that bends each channel, and one that halves them.
static const char *const CURVED = "LUT_1D_SIZE 3\n0 0 0\n0.3 0.5 0.7\n1 1 1\n", *const HALVED = "LUT_1D_SIZE 2\n0 0 0\n0.5 0.5 0.5\n";

// The effects from frame `number` on.
static void effects_at(uint64_t number, char *text, size_t size) {
    snprintf(text, size, "[\"exposure:ev=0.%llu\",\"lut:table=%llu\"]", (unsigned long long)number % 10, (unsigned long long)number / 5 % 2);
}

static void open_transfer(hwd_daemon *daemon, pictures *of) {
    const hwd_table tables[] = {{CURVED, strlen(CURVED)}, {HALVED, strlen(HALVED)}};
    hwd_transfer_config config;
    hwd_plane planes[HWD_MAX_PLANES];
    memset(of, 0, sizeof *of);
    HWD_INIT(config);
    config.width = WIDTH, config.height = HEIGHT;
    config.source.pixel_format = HWD_P010, config.target.pixel_format = HWD_AR24;
    config.device = "cpu";
    config.options = "{\"effects\":[\"exposure\",\"lut:table=0\"]}";
    config.tables = tables, config.table_count = 2;
    CHECK(hwd_transfer_create(daemon, &config, &of->session) == 0);
    CHECK(hwd_layout(HWD_P010, WIDTH, HEIGHT, 0, planes, &of->from_size) == 2);
    CHECK(hwd_layout(HWD_AR24, WIDTH, HEIGHT, 0, planes, &of->to_size) == 1);
    CHECK(hwd_pool_create(of->from_size * SLOTS, &of->from) == 0 && hwd_pool_create(of->to_size * SLOTS, &of->to) == 0);
    int source = hwd_add_pool(of->session, of->from, TIMEOUT), target = hwd_add_pool(of->session, of->to, TIMEOUT);
    CHECK(source > 0 && target > 0);
    of->source = (uint32_t)source, of->target = (uint32_t)target;
    CHECK((of->result = calloc(FRAMES, of->to_size)) != NULL);
}

static void close_transfer(pictures *of) {
    hwd_destroy(of->session);
    hwd_pool_unref(of->from);
    hwd_pool_unref(of->to);
}

static void take_picture(pictures *of) {
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_next_event(of->session, &event, TIMEOUT) == 1 && event.type == HWD_EVENT_TRANSFERRED && event.status == 0);
    for (int i = 0; i < SLOTS; i++) {
        if (of->numbers[i] != event.number) continue;
        memcpy(of->result + of->frame_of[i] * of->to_size, (const uint8_t *)hwd_pool_bytes(of->to) + of->to_size * (size_t)i, of->to_size);
        of->numbers[i] = 0;
        of->waiting--;
    }
    CHECK(hwd_release(of->session, &event) == 0);
}

static void describe(pictures *of, hwd_transfer *frame, int slot) {
    HWD_INIT(*frame);
    frame->source_pool = of->source, frame->target_pool = of->target;
    frame->source_plane_count = (uint32_t)hwd_layout(HWD_P010, WIDTH, HEIGHT, of->from_size * (size_t)slot, frame->source, NULL);
    frame->target_plane_count = (uint32_t)hwd_layout(HWD_AR24, WIDTH, HEIGHT, of->to_size * (size_t)slot, frame->target, NULL);
}

// Converts FRAMES pictures while the process is killed `kills` times: after frame `first`, and then each 13 frames.
static void convert(hwd_daemon *daemon, pictures *of, uint64_t first, int kills) {
    hwd_transfer frame;
    char effects[64];
    open_transfer(daemon, of);
    // The first half of the changes waits from the beginning, the others come with their frames.
    for (uint64_t number = 5; number < FRAMES; number += 5) {
        effects_at(number, effects, sizeof effects);
        if (number < FRAMES / 2) CHECK(hwd_change_effects(of->session, effects, (int64_t)number * 100, TIMEOUT) == 0);
    }
    for (uint64_t number = 0; number < FRAMES; number++) {
        effects_at(number, effects, sizeof effects);
        if (number >= FRAMES / 2 && number % 5 == 0)
            CHECK(hwd_change_effects(of->session, effects, number % 10 ? HWD_NEXT_FRAME : (int64_t)number * 100 - 50, TIMEOUT) == 0);
        while (of->waiting == SLOTS) take_picture(of);
        int slot = 0;
        while (of->numbers[slot]) slot++;
        uint16_t *samples = (uint16_t *)((uint8_t *)hwd_pool_data(of->from) + of->from_size * (size_t)slot);
        for (size_t i = 0; i < of->from_size / 2; i++) samples[i] = (uint16_t)((i * 7 + number * 131) % 800 << 6);
        describe(of, &frame, slot);
        frame.flags |= HWD_HAS_PTS, frame.pts = (int64_t)number * 100;
        CHECK(hwd_transfer_submit(of->session, &frame, TIMEOUT) == 0);
        of->numbers[slot] = frame.number, of->frame_of[slot] = number;
        of->waiting++;
        if (number >= first && (number - first) % 13 == 0 && kills-- > 0) kill_worker(daemon, of->session);
    }
    while (of->waiting > 0) take_picture(of);
}

// The pictures are those of an undisturbed session, bit by bit. How often sessions continued in another process.
static int test_transfers(hwd_daemon *daemon, uint64_t from, uint64_t to, int kills) {
    pictures undisturbed, killed;
    hwd_session_info info;
    HWD_INIT(info);
    int restarts = 0;
    convert(daemon, &undisturbed, 0, 0);
    for (uint64_t first = from; first <= to; first++) {
        convert(daemon, &killed, first, kills);
        CHECK(hwd_get_info(killed.session, &info) == 0 && (kills == 1 || (int)info.restart_count == kills));
        CHECK(!memcmp(undisturbed.result, killed.result, FRAMES * killed.to_size));
        // After the last frames nothing may be left that has to be repeated.
        restarts += (int)info.restart_count;
        close_transfer(&killed);
        free(killed.result);
    }
    close_transfer(&undisturbed);
    free(undisturbed.result);
    return restarts;
}

// A frame in flight that is written onto its own source may have lost it: the session ends, and says why.
static void test_overwritten(hwd_daemon *daemon) {
    hwd_transfer_config config;
    hwd_transfer frame;
    hwd_event event;
    hwd_session *session;
    hwd_pool *pool;
    HWD_INIT(config);
    HWD_INIT(frame);
    HWD_INIT(event);
    config.width = WIDTH, config.height = HEIGHT, config.device = "cpu";
    config.source.pixel_format = config.target.pixel_format = HWD_NV12, config.target.range = "full";
    CHECK(hwd_transfer_create(daemon, &config, &session) == 0 && hwd_pool_create(WIDTH * HEIGHT * 2, &pool) == 0);
    int number = hwd_add_pool(session, pool, TIMEOUT);
    CHECK(number > 0);
    frame.source_pool = frame.target_pool = (uint32_t)number;
    frame.source_plane_count = frame.target_plane_count = (uint32_t)hwd_layout(HWD_NV12, WIDTH, HEIGHT, 0, frame.source, NULL);
    memcpy(frame.target, frame.source, sizeof frame.target);
    // It reads the frame no more before it is killed.
    signal_worker(daemon, session, SIGSTOP);
    CHECK(hwd_transfer_submit(session, &frame, TIMEOUT) == 0);
    kill_worker(daemon, session);
    CHECK(hwd_next_event(session, &event, TIMEOUT) == HWD_INVALID_SESSION && strstr(hwd_last_error(), "overwritten"));
    hwd_destroy(session);
    hwd_pool_unref(pool);
}

// ---- Compression

static void *encode_frames(void *context) {
    for (int number = 0; number < CODED_FRAMES; number++) CHECK(encode(context, number, TIMEOUT) == 0);
    CHECK(hwd_complete(context, HWD_ALL_FRAMES, TIMEOUT) == 0);
    return NULL;
}

static void *set_quality(void *context) {
    for (int i = 0; i < FRAMES; i++) {
        char *values;
        CHECK(hwd_set_number(context, "Quality", 0.25 + i / 100.0) == 0);
        CHECK(hwd_copy_properties(context, "[\"Quality\"]", TIMEOUT, &values) == 0);
        hwd_free(values);
        usleep(2000);
    }
    return NULL;
}

// Threads that send, change properties and receive, while the process is killed three times.
static void test_threads_of_killed(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    pthread_t sending, setting;
    hwd_event event;
    hwd_session_info info;
    HWD_INIT(event);
    HWD_INIT(info);
    int packets = 0, completed = 0;
    uint32_t kills = 0;
    int64_t last = INT64_MIN;
    CHECK(pthread_create(&sending, NULL, encode_frames, session) == 0 && pthread_create(&setting, NULL, set_quality, session) == 0);
    while (!completed) {
        CHECK(hwd_next_event(session, &event, TIMEOUT) == 1);
        completed = event.type == HWD_EVENT_COMPLETED;
        if (event.type == HWD_EVENT_PACKET) {
            CHECK(event.dts > last && event.dts <= event.pts);
            last = event.dts;
            packets++;
        }
        CHECK(hwd_get_info(session, &info) == 0);
        // The one before has been noticed: packets that came before it may still wait.
        if (event.type == HWD_EVENT_PACKET && kills < 3 && info.restart_count == kills && packets > 5) {
            kill_worker(daemon, session);
            kills++;
        }
        CHECK(hwd_release(session, &event) == 0);
    }
    CHECK(packets == CODED_FRAMES && info.restart_count > 0);
    CHECK(pthread_join(sending, NULL) == 0 && pthread_join(setting, NULL) == 0);
    hwd_destroy(session);
}

// The app ends a session whose process has just been killed; and one is killed that is idle, which the next call meets.
static void test_ends(hwd_daemon *daemon) {
    hwd_event event;
    HWD_INIT(event);
    hwd_session *session = open_session(daemon);
    CHECK(encode(session, 0, TIMEOUT) == 0);
    kill_worker(daemon, session);
    hwd_invalidate(session);
    CHECK(hwd_next_event(session, &event, TIMEOUT) == HWD_INVALID_SESSION);
    hwd_destroy(session);
    session = open_session(daemon);
    CHECK(encode(session, 0, TIMEOUT) == 0 && encode(session, 1, TIMEOUT) == 0);
    kill_worker(daemon, session);
    struct pollfd entry = {hwd_get_fd(session), POLLIN, 0};
    CHECK(poll(&entry, 1, TIMEOUT) == 1);
    CHECK(encode(session, 2, TIMEOUT) == 0 && finish(session) == 3);
    CHECK(hwd_get_fd(session) == entry.fd);
    hwd_destroy(session);
}

// Where too much would have to be kept, Notices says so.
static void test_notice(hwd_daemon *daemon) {
    hwd_compression_config config;
    hwd_session *session;
    char *values;
    HWD_INIT(config);
    config.width = 3840, config.height = 2160, config.pixel_format = HWD_P010, config.time_base = (hwd_rational){1, 30};
    config.properties = "{\"X265Preset\": \"medium\"}";
    CHECK(hwd_compression_create(daemon, &config, &session) == 0);
    CHECK(hwd_copy_properties(session, "[\"Notices\"]", TIMEOUT, &values) == 0 && strstr(values, "more than 512 MiB"));
    hwd_free(values);
    CHECK(hwd_copy_properties(session, "[\"Quality\"]", TIMEOUT, &values) == 0 && !strstr(values, "512 MiB"));
    hwd_free(values);
    CHECK(hwd_set_properties(session, "{\"ReplaysAfterFailure\": false}", TIMEOUT) == 0);
    CHECK(hwd_copy_properties(session, NULL, TIMEOUT, &values) == 0 && !strstr(values, "512 MiB"));
    hwd_free(values);
    hwd_destroy(session);
}

int main(int argc, char **argv) {
    hwd_daemon *daemon;
    CHECK(argc > 1 && hwd_open(argv[1], 0, &daemon) == 0);
    if (argc > 2) {
        int restarts = test_transfers(daemon, 0, FRAMES - 1, 1);
        CHECK(restarts > FRAMES / 2);
        printf("%d\n", restarts);
        hwd_close(daemon);
        return 0;
    }
    test_transfers(daemon, 7, 7, 3);
    test_overwritten(daemon);
    test_threads_of_killed(daemon);
    test_ends(daemon);
    test_notice(daemon);
    test_decoders(daemon);
    hwd_close(daemon);
    printf("killed: sessions continue in another process\n");
    return 0;
}
