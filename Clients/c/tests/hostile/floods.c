// SPDX-License-Identifier: MIT
// Workers that send more than was asked.
#include "hostile/hostile.h"

// ---- A flood of messages that mean nothing

static void flood(int fd) {
    enum { COUNT = 4096 };
    static uint8_t bytes[COUNT * 24];
    uint8_t payload[128];
    if (!read_message(fd, payload)) return;
    do {
        write_replies(bytes, sizeof bytes);
    } while (fake_send(fd, bytes, sizeof bytes, -1));
}

static void *wait_for_end(void *context) {
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_next_event(context, &event, TIMEOUT) == HWD_INVALID_SESSION);
    return NULL;
}

// Every call keeps its timeout, and another thread can end the session.
void test_flood(void) {
    hwd_session *session = open_session(flood, SHORT);
    hwd_event event;
    hwd_frame frame;
    pthread_t waiting;
    HWD_INIT(event);
    HWD_INIT(frame);
    CHECK(hwd_set_int(session, "Quality", 1) == 0);
    CHECK(hwd_next_event(session, &event, SHORT) == 0 && hwd_next_event(session, &event, 0) == 0);
    CHECK(hwd_set_int(session, "Quality", 1) == -ETIMEDOUT);
    CHECK(hwd_acquire_frame(session, &frame, 0) == -ETIMEDOUT);
    CHECK(hwd_prepare(session, SHORT) == -ETIMEDOUT && hwd_prepare(session, HWD_DEFAULT_TIMEOUT) == -ETIMEDOUT);
    CHECK(pthread_create(&waiting, NULL, wait_for_end, session) == 0);
    usleep(50000);
    hwd_invalidate(session);
    CHECK(pthread_join(waiting, NULL) == 0);
    close_session(session);
}

// ---- A flood of events

static void flood_formats(int fd) {
    static uint8_t bytes[16 + 65536];
    uint8_t payload[128];
    if (!read_message(fd, payload)) return;
    do {
        write_header(bytes, FORMAT, 65536, 0);
    } while (fake_send(fd, bytes, sizeof bytes, -1));
}

// What an app has not fetched is bounded, in bytes too.
void test_events(void) {
    hwd_session *session = open_session(flood_formats, 0);
    hwd_event event;
    size_t bytes = 0;
    int result;
    HWD_INIT(event);
    CHECK(hwd_set_int(session, "Quality", 1) == HWD_VIDEO_ENCODER_MALFUNCTION && strstr(hwd_last_error(), "more events"));
    while ((result = hwd_next_event(session, &event, 0)) == 1) {
        bytes += event.data_size;
        CHECK(hwd_release(session, &event) == 0);
    }
    CHECK(result == HWD_VIDEO_ENCODER_MALFUNCTION && bytes > 0 && bytes <= 16 << 20);
    close_session(session);
}

// ---- More messages without an event than one call handles, in one burst

static void burst(int fd) {
    enum { COUNT = 1200 };
    static uint8_t bytes[COUNT * 24 + 16 + 32];
    uint8_t payload[128];
    if (!read_message(fd, payload) || !reply_to(fd, 1)) return;
    await_signal();
    write_replies(bytes, COUNT * 24);
    write_header(bytes + COUNT * 24, FORMAT, 32, 0);
    if (fake_send(fd, bytes, sizeof bytes, -1)) read_to_end(fd);
}

// The descriptor stays readable while messages wait that were read from the socket and not handled.
void test_burst(void) {
    hwd_session *session = open_session(burst, 0);
    struct pollfd entry = {hwd_get_fd(session), POLLIN, 0};
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_set_int(session, "Quality", 1) == 0 && poll(&entry, 1, 0) == 0);
    give_signal();
    int result = 0;
    for (int rounds = 0; result == 0 && rounds < 100; rounds++) {
        CHECK(poll(&entry, 1, TIMEOUT) == 1);
        result = hwd_next_event(session, &event, 0);
    }
    CHECK(result == 1 && event.type == HWD_EVENT_FORMAT && event.data_size == 32 && hwd_release(session, &event) == 0);
    CHECK(poll(&entry, 1, 0) == 0);
    close_session(session);
}

// ---- An answer to a message that was not sent

static void answer_the_future(int fd) {
    uint8_t payload[128];
    if (read_message(fd, payload) && reply_to(fd, 2)) read_to_end(fd);
}

void test_future(void) {
    hwd_session *session = open_session(answer_the_future, 0);
    CHECK(hwd_set_int(session, "Quality", 1) == HWD_VIDEO_ENCODER_MALFUNCTION);
    CHECK(strstr(hwd_last_error(), "not sent"));
    close_session(session);
}

// ---- Answers that come while hwd_complete returns

enum { COMPLETIONS = 3000 };

static void answer_at_once(int fd) {
    uint8_t payload[128];
    for (uint32_t number = 1; read_message(fd, payload) != 0 && reply_to(fd, number); number++) continue;
}

static void *count_completions(void *context) {
    hwd_event event;
    HWD_INIT(event);
    for (int count = 0; count < COMPLETIONS; count++)
        CHECK(hwd_next_event(context, &event, TIMEOUT) == 1 && event.type == HWD_EVENT_COMPLETED);
    return NULL;
}

void test_completions(void) {
    hwd_session *session = open_session(answer_at_once, 0);
    pthread_t counting;
    CHECK(pthread_create(&counting, NULL, count_completions, session) == 0);
    for (int i = 0; i < COMPLETIONS; i++) CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    CHECK(pthread_join(counting, NULL) == 0);
    close_session(session);
}
