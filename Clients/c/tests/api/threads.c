// SPDX-License-Identifier: MIT
// Any function from any thread.
#include "api/api.h"

enum { FRAMES = 60 };

typedef struct shared {
    hwd_session *session;
    int packets; // of all threads
    bool done;
} shared;

static void *fetch(void *context) {
    shared *with = context;
    hwd_event event;
    HWD_INIT(event);
    while (!__atomic_load_n(&with->done, __ATOMIC_ACQUIRE)) {
        int result = hwd_next_event(with->session, &event, 20);
        CHECK(result >= 0);
        if (result == 0) continue;
        if (event.type == HWD_EVENT_PACKET) __atomic_add_fetch(&with->packets, 1, __ATOMIC_RELAXED);
        if (event.type == HWD_EVENT_COMPLETED) __atomic_store_n(&with->done, true, __ATOMIC_RELEASE);
        CHECK(hwd_release(with->session, &event) == 0);
    }
    return NULL;
}

static void *ask(void *context) {
    shared *with = context;
    while (!__atomic_load_n(&with->done, __ATOMIC_ACQUIRE)) {
        char *values;
        hwd_session_info info;
        HWD_INIT(info);
        CHECK(hwd_copy_properties(with->session, "[\"EncoderID\"]", TIMEOUT, &values) == 0 && strstr(values, "org.hwdaemon"));
        hwd_free(values);
        CHECK(hwd_get_info(with->session, &info) == 0 && hwd_get_fd(with->session) >= 0);
        CHECK(hwd_set_int(with->session, "NoSuchProperty", 1) == HWD_PROPERTY_NOT_SUPPORTED);
        CHECK(strstr(hwd_last_error(), "NoSuchProperty"));
    }
    return NULL;
}

void test_threads(hwd_daemon *daemon) {
    shared with = {open_session(daemon), 0, false};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, i < 2 ? fetch : ask, &with) == 0);
    for (int number = 0; number < FRAMES; number++) CHECK(encode(with.session, number, TIMEOUT) == 0);
    CHECK(hwd_complete(with.session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(with.packets == FRAMES);
    hwd_destroy(with.session);
}

static void *wait_for_end(void *context) {
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_next_event(context, &event, TIMEOUT) == HWD_INVALID_SESSION);
    return NULL;
}

void test_invalidation(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_end, session) == 0);
    usleep(50000);
    hwd_invalidate(session);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(encode(session, 0, TIMEOUT) == HWD_INVALID_SESSION);
    CHECK(hwd_set_int(session, "Quality", 1) == HWD_INVALID_SESSION);
    hwd_destroy(session);
}

// Without fetching, credits run out in bounded time; afterwards the session continues.
void test_credits(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    int result = 0, number = 0;
    while (number < 2000 && (result = encode(session, number, 300)) == 0) number++;
    CHECK(result == -EAGAIN && number >= 64);
    CHECK(finish(session) == number);
    CHECK(encode(session, number, TIMEOUT) == 0 && finish(session) == 1);
    hwd_destroy(session);
}
