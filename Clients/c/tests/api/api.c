// SPDX-License-Identifier: MIT
// api ADDRESS [private]: the library's rules, against a daemon. `private` also starts private ones ($PATH has hwdaemon).
#include "api/api.h"

#include <poll.h>

// A client of another version of the header has larger or smaller structures.
void test_structures(hwd_daemon *daemon) {
    struct {
        hwd_compression_config config;
        uint64_t later;
    } newer;
    hwd_session *session;
    memset(&newer, 0, sizeof newer);
    newer.config.size = sizeof newer;
    newer.config.width = 64, newer.config.height = 48, newer.config.pixel_format = HWD_NV12;
    newer.config.time_base.numerator = 1, newer.config.time_base.denominator = 30;
    CHECK(hwd_compression_create(daemon, &newer.config, &session) == 0);
    hwd_session_info info, older;
    HWD_INIT(info);
    CHECK(hwd_get_info(session, &info) == 0 && info.kind == HWD_COMPRESSION && info.codec_id[0]);
    memset(&older, 0xee, sizeof older);
    older.size = offsetof(hwd_session_info, width);
    CHECK(hwd_get_info(session, &older) == 0 && older.kind == HWD_COMPRESSION && older.width == 0xeeeeeeee);
    hwd_destroy(session);
    newer.later = 1;
    CHECK(hwd_compression_create(daemon, &newer.config, &session) == -E2BIG && !session);
    newer.config.size = 0;
    CHECK(hwd_compression_create(daemon, &newer.config, &session) == -EINVAL);
    CHECK(hwd_compression_create(daemon, NULL, &session) == -EINVAL);
}

static bool is_not_created(hwd_daemon *daemon, const hwd_compression_config *config, const char *reason) {
    hwd_session *session;
    return hwd_compression_create(daemon, config, &session) == HWD_PARAMETER && !session && !strcmp(hwd_last_error(), reason);
}

// What Create refuses before it connects, in the words of the Python client; and what the daemon refuses, in words.
void test_refused_sessions(hwd_daemon *daemon) {
    hwd_compression_config config;
    hwd_transfer_config transfer;
    hwd_session *session;
    char *reply;
    HWD_INIT(config);
    config.pixel_format = HWD_NV12;
    CHECK(is_not_created(daemon, &config, "a frame of 0x0 is not between 1x1 and 16384x16384"));
    config.width = 64, config.height = 16385;
    CHECK(is_not_created(daemon, &config, "a frame of 64x16385 is not between 1x1 and 16384x16384"));
    config.height = 48;
    CHECK(is_not_created(daemon, &config, "the time base 0/0 is not a fraction of two numbers from 1 to 2147483647"));
    config.time_base.numerator = 1, config.time_base.denominator = -30;
    CHECK(is_not_created(daemon, &config, "the time base 1/-30 is not a fraction of two numbers from 1 to 2147483647"));
    HWD_INIT(transfer);
    transfer.source.pixel_format = transfer.target.pixel_format = HWD_NV12;
    CHECK(hwd_transfer_create(daemon, &transfer, &session) == HWD_PARAMETER && strstr(hwd_last_error(), "a frame of 0x0"));
    CHECK(hwd_call(daemon, "org.hwdaemon.GetSessionResult", "{\"session\": 1}", TIMEOUT, &reply) == HWD_PARAMETER);
    CHECK(!strcmp(hwd_last_error(), "the daemon does not accept the parameter \"session\""));
}

// Mistakes of the app are refused, and its session continues.
void test_misuse(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    hwd_frame frame, other;
    hwd_event event;
    char *text;
    HWD_INIT(frame);
    HWD_INIT(event);
    CHECK(hwd_set_properties(session, "{\"Quality\": 0.5", TIMEOUT) == HWD_PARAMETER);
    CHECK(hwd_set_properties(session, "[]", TIMEOUT) == HWD_PARAMETER);
    CHECK(hwd_set_int(session, "NoSuchProperty", 1) == HWD_PROPERTY_NOT_SUPPORTED);
    CHECK(hwd_set_number(session, "Quality", 0.5) == 0);
    CHECK(hwd_set_properties(session, "{\"Quality\": 0.25, \"NoSuchProperty\": 1}", TIMEOUT) == HWD_PROPERTY_NOT_SUPPORTED);
    CHECK(strstr(hwd_last_error(), "NoSuchProperty"));
    CHECK(hwd_copy_properties(session, "[\"Quality\"]", TIMEOUT, &text) == 0 && strstr(text, "0.5"));
    hwd_free(text);
    CHECK(hwd_call(daemon, "org.hwdaemon.GetFeatures", NULL, TIMEOUT, &text) == 0 && strstr(text, "\"frame-metadata\""));
    hwd_free(text);
    CHECK(hwd_call(daemon, "org.hwdaemon.NoSuchMethod", NULL, TIMEOUT, &text) == HWD_PARAMETER && !text);
    CHECK(hwd_call(daemon, "org.hwdaemon.GetFeatures", "nothing", TIMEOUT, &text) == HWD_PARAMETER);
    CHECK(hwd_decode(session, NULL, 0) == -EINVAL);
    CHECK(hwd_can_accept_format(session, "format", 6, 0) == -EINVAL);
    CHECK(hwd_encode(session, &frame, 0) == HWD_PARAMETER);
    CHECK(hwd_acquire_frame(session, &frame, TIMEOUT) == 0);
    other = frame;
    frame.planes[1].stride = 8;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == HWD_PARAMETER);
    frame.planes[1].stride = 64, frame.planes[1].offset = UINT64_MAX - 63;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == HWD_PARAMETER);
    frame.planes[1].offset = 4096, frame.pts = INT64_MIN;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == HWD_PARAMETER);
    frame = other;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == 0 && frame.number == 1);
    CHECK(hwd_encode(session, &frame, TIMEOUT) == HWD_PARAMETER && hwd_discard_frame(session, &other) == -EINVAL);
    CHECK(encode(session, 0, TIMEOUT) == HWD_PARAMETER && encode(session, 7, TIMEOUT) == 0);
    CHECK(hwd_remove_pool(session, 1, TIMEOUT) == HWD_PARAMETER);
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    CHECK(hwd_next_event(session, &event, TIMEOUT) == 1 && hwd_release(session, &event) == 0);
    CHECK(hwd_release(session, &event) == -EINVAL);
    CHECK(finish(session) == 1 || finish(session) >= 0);
    hwd_destroy(session);
}

static hwd_session *open_alpha_session(hwd_daemon *daemon) {
    hwd_compression_config config;
    hwd_session *session = NULL;
    HWD_INIT(config);
    config.codec = "hevc-with-alpha";
    config.width = 64, config.height = 48, config.pixel_format = HWD_YUVA;
    config.time_base.numerator = 1, config.time_base.denominator = 30;
    CHECK(hwd_compression_create(daemon, &config, &session) == 0);
    return session;
}

static bool is_refused(hwd_session *session, const hwd_frame *frame, const char *reason) {
    hwd_frame given = *frame;
    return hwd_encode(session, &given, TIMEOUT) == HWD_PARAMETER && strstr(hwd_last_error(), reason);
}

// Options of a frame for which a worker would end the session.
void test_refused_options(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    static const uint8_t bytes[49153];
    hwd_side_data data[HWD_MAX_SIDE_DATA + 1] = {{0}};
    hwd_frame frame, wrong;
    HWD_INIT(frame);
    CHECK(hwd_acquire_frame(session, &frame, TIMEOUT) == 0);
    wrong = frame, wrong.flags = HWD_HAS_BASE_FRAME_QP, wrong.base_frame_qp = 52;
    CHECK(is_refused(session, &wrong, "BaseFrameQP 52"));
    wrong.base_frame_qp = -1;
    CHECK(is_refused(session, &wrong, "BaseFrameQP -1"));
    wrong = frame, wrong.flags = 32;
    CHECK(is_refused(session, &wrong, "unknown flags"));
    wrong.flags = HWD_ALPHA_STRAIGHT;
    CHECK(is_refused(session, &wrong, "codes no alpha"));
    wrong.flags = HWD_HAS_COLOR, wrong.color.full_range = 2;
    CHECK(is_refused(session, &wrong, "full_range"));
    wrong = frame, wrong.side_data = data, wrong.side_data_count = 1;
    data[0] = (hwd_side_data){7, 4, bytes};
    CHECK(is_refused(session, &wrong, "unknown kind 7"));
    data[0].kind = HWD_CONTENT_LIGHT, data[0].size = 5;
    CHECK(is_refused(session, &wrong, "kind 2 have 5 bytes"));
    data[0].size = 4, data[0].bytes = NULL;
    CHECK(is_refused(session, &wrong, "kind 2"));
    data[0].bytes = bytes, data[1] = data[0], wrong.side_data_count = 2;
    CHECK(is_refused(session, &wrong, "several side data of kind 2"));
    data[1] = (hwd_side_data){HWD_HDR10_PLUS, sizeof bytes - 4, bytes};
    CHECK(is_refused(session, &wrong, "49153 bytes"));
    wrong.side_data_count = HWD_MAX_SIDE_DATA + 1;
    CHECK(is_refused(session, &wrong, "17 side data"));
    // The limits themselves are allowed; the worker leaves out what it cannot read.
    data[1].size--, frame.side_data = data, frame.side_data_count = 2;
    frame.flags = HWD_HAS_BASE_FRAME_QP, frame.base_frame_qp = 51;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == 0 && finish(session) == 1);
    hwd_destroy(session);
    session = open_alpha_session(daemon);
    CHECK(hwd_acquire_frame(session, &frame, TIMEOUT) == 0);
    frame.flags = HWD_ALPHA_PREMULTIPLIED | HWD_ALPHA_STRAIGHT;
    CHECK(is_refused(session, &frame, "both premultiplied and straight"));
    frame.flags = HWD_ALPHA_STRAIGHT;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == 0 && finish(session) == 1);
    hwd_destroy(session);
}

// An event loop sees events that a synchronous call has queued, although the socket is silent.
// The byte stream of the event of a format description.
static void check_parameter_sets(const hwd_event *event, const uint8_t *sets, size_t needed) {
    uint8_t *bytes;
    size_t size;
    CHECK(hwd_byte_stream(event, &bytes, &size) == 0 && size == needed && !memcmp(bytes, sets, needed));
    hwd_free(bytes);
    hwd_event damaged = *event;
    damaged.data_size = 22;
    CHECK(hwd_byte_stream(&damaged, &bytes, &size) == -EINVAL && !bytes && size == 0);
    CHECK(hwd_byte_stream(NULL, &bytes, &size) == -EINVAL);
}

// The byte stream of a packet; other events have none.
static void check_stream(const hwd_event *event) {
    uint8_t *bytes;
    size_t size;
    CHECK(hwd_byte_stream(event, &bytes, &size) == 0);
    if (event->type == HWD_EVENT_PACKET) {
        CHECK(size == event->data_size && bytes[3] == 1);
        uint8_t *same = malloc(size);
        CHECK(same && hwd_annex_b(event->data, size, same) == 0 && !memcmp(bytes, same, size));
        free(same);
    } else {
        CHECK(!bytes && size == 0);
    }
    hwd_free(bytes);
}

void test_descriptor(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    hwd_event event;
    HWD_INIT(event);
    struct pollfd entry = {hwd_get_fd(session), POLLIN, 0};
    CHECK(entry.fd >= 0 && hwd_get_fd(session) == entry.fd);
    CHECK(hwd_next_event(session, &event, 0) == 0);
    CHECK(hwd_prepare(session, TIMEOUT) == 0);
    CHECK(poll(&entry, 1, 0) == 1);
    CHECK(hwd_next_event(session, &event, 0) == 1 && event.type == HWD_EVENT_FORMAT && event.data_size > 23);
    uint8_t sets[4096];
    size_t size;
    CHECK(hwd_parameter_sets(event.data, event.data_size, NULL, 0, &size) == 0 && size > 23 && size < sizeof sets);
    const size_t needed = size;
    CHECK(hwd_parameter_sets(event.data, event.data_size, sets, needed - 1, &size) == -ENOSPC && size == needed);
    CHECK(hwd_parameter_sets(event.data, event.data_size, sets, needed, &size) == 0 && size == needed && sets[3] == 1);
    CHECK(hwd_parameter_sets(event.data, 22, NULL, 0, &size) == -EINVAL && size == 0);
    check_parameter_sets(&event, sets, needed);
    CHECK(hwd_release(session, &event) == 0);
    CHECK(poll(&entry, 1, 0) == 0 && hwd_next_event(session, &event, 0) == 0);
    for (int number = 0; number < 5; number++) CHECK(encode(session, number, TIMEOUT) == 0);
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    int packets = 0, result = 0;
    for (bool done = false; !done;) {
        CHECK(poll(&entry, 1, TIMEOUT) == 1);
        while ((result = hwd_next_event(session, &event, 0)) == 1) {
            check_stream(&event);
            packets += event.type == HWD_EVENT_PACKET;
            done |= event.type == HWD_EVENT_COMPLETED;
            CHECK(hwd_release(session, &event) == 0);
        }
        CHECK(result == 0);
    }
    CHECK(packets == 5);
    hwd_invalidate(session);
    CHECK(poll(&entry, 1, 0) == 1 && hwd_next_event(session, &event, 0) == HWD_INVALID_SESSION);
    hwd_destroy(session);
}

// The final pass has the times of the first one, which rise again.
void test_two_passes(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    CHECK(hwd_set_properties(session, "{\"AverageBitRate\":300000,\"MultiPassStorage\":\"FirstPass\"}", TIMEOUT) == 0);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t pts = 0; pts < 3; pts++) CHECK(encode(session, pts, TIMEOUT) == 0);
        CHECK(encode(session, 2, TIMEOUT) == HWD_PARAMETER);
        CHECK(finish(session) == 3);
        CHECK(hwd_set_properties(session, "{\"MultiPassStorage\":\"FinalPass\"}", TIMEOUT) == 0);
    }
    CHECK(encode(session, 0, TIMEOUT) == HWD_PARAMETER);
    hwd_destroy(session);
}

int main(int argc, char **argv) {
    hwd_daemon *daemon;
    CHECK(argc > 1);
    CHECK(hwd_open("/nowhere/socket", 0, &daemon) == -ECONNREFUSED && !daemon);
    CHECK(hwd_open(argv[1], 0, &daemon) == 0 && !hwd_is_private(daemon));
    CHECK(!strcmp(hwd_status_name(HWD_INVALID_SESSION), "InvalidSession") && hwd_version() == 200);
    test_structures(daemon);
    test_refused_sessions(daemon);
    test_misuse(daemon);
    test_refused_options(daemon);
    test_two_passes(daemon);
    test_descriptor(daemon);
    test_threads(daemon);
    test_invalidation(daemon);
    test_credits(daemon);
    test_own_pool(daemon);
    test_import(daemon);
    test_arena_as_pool(daemon);
    test_fork(daemon);
    test_peers();
    hwd_close(daemon);
    hwd_close(NULL);
    hwd_destroy(NULL);
    if (argc > 2) test_private_daemon();
    printf("api: the library keeps its rules\n");
    return 0;
}
