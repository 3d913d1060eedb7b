// SPDX-License-Identifier: MIT
// hostile: workers that flood, answer what was not asked, read nothing or vanish. Calls return in time, credits are kept, and
// threads of the app do not break the protocol for each other.
#include "fake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "hostile: %s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, hwd_last_error());         \
            exit(1);                                                                                               \
        }                                                                                                          \
    } while (0)

enum { TIMEOUT = 30000, SHORT = 200, REPLY = 64, FORMAT = 65, ARENA = 66, RELEASED = 67, PACKET = 68 };
enum { ADD_POOL_SIZE = 16 + 16, FRAME_SIZE = 16 + 72 };

static int listener, memory;
static hwd_daemon *daemon_at;
static void (*worker)(int fd);
static pthread_t serving;
static int questions; // calls of GetSessionResult
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int signals, sequence; // signals of the app to the worker; messages of the worker

static void give_signal(void) {
    pthread_mutex_lock(&lock);
    signals++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_signal(void) {
    pthread_mutex_lock(&lock);
    while (signals == 0) pthread_cond_wait(&changed, &lock);
    signals--;
    pthread_mutex_unlock(&lock);
}

// ---- The worker

static void write_header(uint8_t *at, uint32_t opcode, uint32_t length, uint32_t fds) {
    memset(at, 0, 16 + length);
    fake_put(at, length, 4);
    fake_put(at + 4, opcode, 4);
    fake_put(at + 8, fds, 4);
    fake_put(at + 12, (uint64_t)++sequence, 4);
}

static bool reply_to(int fd, uint32_t message) {
    uint8_t reply[24];
    write_header(reply, REPLY, 8, 0);
    fake_put(reply + 16, message, 4);
    return fake_send(fd, reply, sizeof reply, -1);
}

static bool release(int fd, uint64_t frame) {
    uint8_t released[24];
    write_header(released, RELEASED, 8, 0);
    fake_put(released + 16, frame, 8);
    return fake_send(fd, released, sizeof released, -1);
}

// Reads a message; its opcode, or 0 at the end. The payload's first bytes go to `payload`.
static uint32_t read_message(int fd, uint8_t payload[128]) {
    uint8_t header[16], rest[65536];
    if (!fake_read(fd, header, sizeof header) || !fake_read(fd, rest, fake_get(header, 4))) return 0;
    memcpy(payload, rest, 128);
    return (uint32_t)fake_get(header + 4, 4);
}

static void read_to_end(int fd) {
    uint8_t byte;
    while (fake_read(fd, &byte, 1)) continue;
}

static void *serve(void *context) {
    int fd = accept(listener, NULL, NULL);
    char call[8192];
    (void)context;
    sequence = 0;
    if (fake_read_call(fd, call, sizeof call) && fake_send(fd, fake_reply(HWD_COMPRESSION), strlen(fake_reply(HWD_COMPRESSION)) + 1, -1))
        worker(fd);
    close(fd);
    return NULL;
}

// ---- The app

static hwd_session *open_session(void (*with)(int fd), int timeout_ms) {
    hwd_session *session;
    worker = with;
    signals = 0;
    CHECK(pthread_create(&serving, NULL, serve, NULL) == 0);
    CHECK(fake_create(daemon_at, HWD_COMPRESSION, timeout_ms, &session) == 0);
    return session;
}

static void close_session(hwd_session *session) {
    hwd_destroy(session);
    CHECK(pthread_join(serving, NULL) == 0);
}

// ---- A flood of messages that mean nothing

static void flood(int fd) {
    enum { COUNT = 4096 };
    static uint8_t bytes[COUNT * 24];
    uint8_t payload[128];
    if (!read_message(fd, payload)) return;
    do {
        for (uint8_t *at = bytes; at < bytes + sizeof bytes; at += 24) {
            write_header(at, REPLY, 8, 0);
            fake_put(at + 16, 1, 4);
        }
    } while (fake_send(fd, bytes, sizeof bytes, -1));
}

static void *wait_for_end(void *context) {
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_next_event(context, &event, TIMEOUT) == HWD_INVALID_SESSION);
    return NULL;
}

// Every call keeps its timeout, and another thread can end the session.
static void test_flood(void) {
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

// ---- More messages without an event than one call handles, in one burst

static void burst(int fd) {
    enum { COUNT = 1200 };
    static uint8_t bytes[COUNT * 24 + 16 + 32];
    uint8_t payload[128];
    if (!read_message(fd, payload) || !reply_to(fd, 1)) return;
    await_signal();
    uint8_t *at = bytes;
    for (; at < bytes + COUNT * 24; at += 24) {
        write_header(at, REPLY, 8, 0);
        fake_put(at + 16, 1, 4);
    }
    write_header(at, FORMAT, 32, 0);
    if (fake_send(fd, bytes, sizeof bytes, -1)) read_to_end(fd);
}

// The descriptor stays readable while messages wait that were read from the socket and not handled.
static void test_burst(void) {
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

static void test_future(void) {
    hwd_session *session = open_session(answer_the_future, 0);
    CHECK(hwd_set_int(session, "Quality", 1) == HWD_VIDEO_ENCODER_MALFUNCTION);
    CHECK(strstr(hwd_last_error(), "not sent"));
    close_session(session);
}

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
        if (opcode == 8 && fake_get(payload, 8) == 7) __atomic_add_fetch(&releases, 1, __ATOMIC_SEQ_CST);
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
static void test_release(void) {
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
static void test_invalidate_full(void) {
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

static void *count_questions(void *context) {
    (void)context;
    struct pollfd entry = {listener, POLLIN, 0};
    questions = poll(&entry, 1, 500);
    return NULL;
}

static void test_invalidate_dead(void) {
    hwd_session *session = open_session(vanish, 0);
    struct pollfd entry = {hwd_get_fd(session), POLLIN, 0};
    pthread_t counting;
    CHECK(poll(&entry, 1, TIMEOUT) == 1 && pthread_join(serving, NULL) == 0);
    CHECK(pthread_create(&counting, NULL, count_questions, NULL) == 0);
    hwd_invalidate(session);
    CHECK(pthread_join(counting, NULL) == 0 && questions == 0);
    hwd_destroy(session);
}

// ---- Threads that wait for a credit

static int sent_frames;

static void take_frames(int fd) {
    uint8_t payload[128];
    uint32_t opcode, number = 0;
    uint64_t removed = 0;
    int64_t last = -1;
    while ((opcode = read_message(fd, payload)) != 0) {
        number++;
        if (opcode == 4) removed = fake_get(payload, 4);
        if (opcode == 3 || opcode == 4) {
            reply_to(fd, number);
        } else if (opcode == 6) {
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
static void test_two_frames(void) {
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
static void test_removed_pool(void) {
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

static void test_completions(void) {
    hwd_session *session = open_session(answer_at_once, 0);
    pthread_t counting;
    CHECK(pthread_create(&counting, NULL, count_completions, session) == 0);
    for (int i = 0; i < COMPLETIONS; i++) CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    CHECK(pthread_join(counting, NULL) == 0);
    close_session(session);
}

static void too_late(int number) {
    static const char text[] = "hostile: a call did not return\n";
    (void)number;
    if (write(2, text, sizeof text - 1) > 0) _exit(1);
    _exit(2);
}

int main(void) {
    char address[32];
    signal(SIGALRM, too_late);
    alarm(240);
    listener = fake_listen(address);
    memory = fake_memory();
    CHECK(hwd_open(address, 0, &daemon_at) == 0);
    // hwd_open has connected to see whether a daemon listens.
    close(accept(listener, NULL, NULL));
    test_flood();
    test_burst();
    test_future();
    test_release();
    test_invalidate_full();
    test_invalidate_dead();
    test_two_frames();
    test_removed_pool();
    test_completions();
    hwd_close(daemon_at);
    close(listener);
    close(memory);
    printf("hostile: calls return in time, credits are kept, and threads break no rule for each other\n");
    return 0;
}
