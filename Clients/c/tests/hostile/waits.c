// SPDX-License-Identifier: MIT
// Threads that wait for a credit while others act.
#include "hostile/hostile.h"

static int sent_frames;

static bool release(int fd, uint64_t frame) {
    uint8_t released[24];
    write_header(released, RELEASED, 8, 0);
    fake_put(released + 16, frame, 8);
    return fake_send(fd, released, sizeof released, -1);
}

static void take_frames(int fd) {
    uint8_t payload[128];
    uint32_t opcode, number = 0;
    uint64_t removed = 0;
    int64_t last = -1;
    while ((opcode = read_message(fd, payload)) != 0) {
        number++;
        if (opcode == REMOVE_POOL) removed = fake_get(payload, 4);
        if (opcode == ADD_POOL || opcode == REMOVE_POOL) {
            reply_to(fd, number);
        } else if (opcode == ENCODE_FRAME) {
            // A worker of the daemon's ends the session.
            CHECK((int64_t)fake_get(payload + 8, 8) > last && fake_get(payload + 24, 4) != removed);
            last = (int64_t)fake_get(payload + 8, 8);
            if (++sent_frames != FAKE_CREDITS) continue;
            await_signal();
            for (uint64_t frame = 1; frame <= FAKE_CREDITS; frame++) release(fd, frame);
        }
    }
}

typedef struct job {
    hwd_session *session;
    hwd_frame frame;
    int result;
    pthread_t thread;
} job;

static void *run_job(void *context) {
    job *with = context;
    with->result = hwd_encode(with->session, &with->frame, TIMEOUT);
    return NULL;
}

static void start(job *with, hwd_session *session, int pool, int64_t pts) {
    HWD_INIT(with->frame);
    with->session = session;
    with->frame.plane_count = (uint32_t)hwd_layout(HWD_NV12, 64, 48, 0, with->frame.planes, NULL);
    with->frame.pool = (uint32_t)pool;
    with->frame.pts = pts;
    CHECK(pthread_create(&with->thread, NULL, run_job, with) == 0);
}

static void *remove_pool(void *context) {
    CHECK(hwd_remove_pool(context, 2, TIMEOUT) == 0);
    return NULL;
}

// Sends as many frames as there are credits, from pool 1 of 2.
static hwd_session *use_credits(void) {
    hwd_session *session = open_session(take_frames, 0);
    hwd_pool *pool;
    sent_frames = 0;
    CHECK(hwd_pool_create(FAKE_MEMORY, &pool) == 0);
    CHECK(hwd_add_pool(session, pool, TIMEOUT) == 1 && hwd_add_pool(session, pool, TIMEOUT) == 2);
    hwd_pool_unref(pool);
    for (int i = 0; i < FAKE_CREDITS; i++) {
        job with;
        start(&with, session, 1, i);
        CHECK(pthread_join(with.thread, NULL) == 0 && with.result == 0);
    }
    return session;
}

// Most likely the other threads wait by then; where they do not, the results are the same.
static void let_wait(void) { usleep(100000); }

// Two frames with one pts wait for a credit: one of them is refused, not sent.
void test_two_frames(void) {
    hwd_session *session = use_credits();
    job one, other;
    start(&one, session, 2, FAKE_CREDITS);
    start(&other, session, 2, FAKE_CREDITS);
    let_wait();
    give_signal();
    CHECK(pthread_join(one.thread, NULL) == 0 && pthread_join(other.thread, NULL) == 0);
    CHECK(one.result + other.result == HWD_PARAMETER && (one.result == 0 || other.result == 0));
    close_session(session);
    CHECK(sent_frames == FAKE_CREDITS + 1);
}

// A frame waits for a credit while its pool is removed.
void test_removed_pool(void) {
    hwd_session *session = use_credits();
    job one;
    pthread_t removing;
    start(&one, session, 2, FAKE_CREDITS);
    let_wait();
    CHECK(pthread_create(&removing, NULL, remove_pool, session) == 0);
    let_wait();
    give_signal();
    CHECK(pthread_join(one.thread, NULL) == 0 && pthread_join(removing, NULL) == 0);
    CHECK(one.result == HWD_PARAMETER);
    close_session(session);
    CHECK(sent_frames == FAKE_CREDITS);
}
