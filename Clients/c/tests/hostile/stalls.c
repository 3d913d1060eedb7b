// SPDX-License-Identifier: MIT
// Workers that read nothing or vanish.
#include "hostile/hostile.h"

// ---- A worker that stops reading, and reads again

static int releases;

static void stop_reading(int fd) {
    uint8_t payload[128], message[16 + 64];
    if (!read_message(fd, payload) || !reply_to(fd, 1) || !read_message(fd, payload)) return;
    write_header(message, ARENA, 16, 1);
    fake_put(message + 16, 1, 4);
    fake_put(message + 24, FAKE_MEMORY, 8);
    if (!fake_send(fd, message, 16 + 16, memory)) return;
    write_header(message, PACKET, 64, 0);
    fake_put(message + 16, 7, 8);
    fake_put(message + 24, 1, 8);
    fake_put(message + 56, 1, 4);
    fake_put(message + 72, 100, 4);
    if (!fake_send(fd, message, sizeof message, -1)) return;
    await_signal();
    for (uint32_t opcode; (opcode = read_message(fd, payload)) != 0;)
        if (opcode == RELEASE_PACKET && fake_get(payload, 8) == 7) __atomic_add_fetch(&releases, 1, __ATOMIC_SEQ_CST);
}

static int encode(hwd_session *session, int64_t pts) {
    hwd_frame frame;
    HWD_INIT(frame);
    int result = hwd_acquire_frame(session, &frame, TIMEOUT);
    frame.pts = pts;
    return result < 0 ? result : hwd_encode(session, &frame, TIMEOUT);
}

static void fill_socket(hwd_session *session) {
    int result, sent = 0;
    do {
        result = hwd_set_properties(session, "{\"Quality\": 0.5}", 0);
    } while (result == -ETIMEDOUT && strstr(hwd_last_error(), "did not answer") && ++sent < 100000);
    CHECK(result == -ETIMEDOUT && strstr(hwd_last_error(), "read no message"));
}

// A packet that cannot be given back stays the app's.
void test_release(void) {
    hwd_session *session = open_session(stop_reading, SHORT);
    hwd_event event;
    HWD_INIT(event);
    CHECK(encode(session, 0) == 0);
    CHECK(hwd_next_event(session, &event, TIMEOUT) == 1 && event.type == HWD_EVENT_PACKET && event.data_size == 100);
    fill_socket(session);
    CHECK(hwd_release(session, &event) == -ETIMEDOUT);
    CHECK(event.data[99] == 0);
    give_signal();
    int result = -ETIMEDOUT;
    for (int i = 0; i < 100 && result == -ETIMEDOUT; i++) result = hwd_release(session, &event);
    CHECK(result == 0 && hwd_release(session, &event) == -EINVAL);
    close_session(session);
    CHECK(releases == 1);
}

// Ending a session needs nothing of its worker.
void test_invalidate_full(void) {
    hwd_session *session = open_session(stop_reading, 0);
    CHECK(encode(session, 0) == 0);
    fill_socket(session);
    hwd_invalidate(session);
    CHECK(encode(session, 1) == HWD_INVALID_SESSION);
    give_signal();
    close_session(session);
}

// ---- A worker that vanishes, and a daemon that does not say why

static void vanish(int fd) { (void)fd; }

static int questions; // calls of GetSessionResult

static void *count_questions(void *context) {
    (void)context;
    struct pollfd entry = {listener, POLLIN, 0};
    questions = poll(&entry, 1, 500);
    return NULL;
}

void test_invalidate_dead(void) {
    hwd_session *session = open_session(vanish, 0);
    struct pollfd entry = {hwd_get_fd(session), POLLIN, 0};
    pthread_t counting;
    CHECK(poll(&entry, 1, TIMEOUT) == 1 && pthread_join(serving, NULL) == 0);
    CHECK(pthread_create(&counting, NULL, count_questions, NULL) == 0);
    hwd_invalidate(session);
    CHECK(pthread_join(counting, NULL) == 0 && questions == 0);
    hwd_destroy(session);
}
