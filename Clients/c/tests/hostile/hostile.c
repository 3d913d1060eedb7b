// SPDX-License-Identifier: MIT
// hostile: workers that flood, answer what was not asked, read nothing or vanish. Calls return in time, credits are kept, and
// threads of the app do not break the protocol for each other.
#include "hostile/hostile.h"

#include <signal.h>
#include <sys/socket.h>

int listener, memory;
pthread_t serving;
static hwd_daemon *daemon_at;
static void (*worker)(int fd);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int signals, sequence; // signals of the app to the worker; messages of the worker

void give_signal(void) {
    pthread_mutex_lock(&lock);
    signals++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void await_signal(void) {
    pthread_mutex_lock(&lock);
    while (signals == 0) pthread_cond_wait(&changed, &lock);
    signals--;
    pthread_mutex_unlock(&lock);
}

// ---- The worker

void write_header(uint8_t *at, uint32_t opcode, uint32_t length, uint32_t fds) {
    memset(at, 0, 16 + length);
    fake_put(at, length, 4);
    fake_put(at + 4, opcode, 4);
    fake_put(at + 8, fds, 4);
    fake_put(at + 12, (uint64_t)++sequence, 4);
}

bool reply_to(int fd, uint32_t message) {
    uint8_t reply[24];
    write_header(reply, REPLY, 8, 0);
    fake_put(reply + 16, message, 4);
    return fake_send(fd, reply, sizeof reply, -1);
}

void write_replies(uint8_t *bytes, size_t size) {
    for (uint8_t *at = bytes; at + 24 <= bytes + size; at += 24) {
        write_header(at, REPLY, 8, 0);
        fake_put(at + 16, 1, 4);
    }
}

uint32_t read_message(int fd, uint8_t payload[128]) {
    uint8_t header[16], rest[65536];
    if (!fake_read(fd, header, sizeof header) || !fake_read(fd, rest, fake_get(header, 4))) return 0;
    memcpy(payload, rest, 128);
    return (uint32_t)fake_get(header + 4, 4);
}

void read_to_end(int fd) {
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

hwd_session *open_session(void (*with)(int fd), int timeout_ms) {
    hwd_session *session;
    worker = with;
    signals = 0;
    CHECK(pthread_create(&serving, NULL, serve, NULL) == 0);
    CHECK(fake_create(daemon_at, HWD_COMPRESSION, timeout_ms, &session) == 0);
    return session;
}

void close_session(hwd_session *session) {
    hwd_destroy(session);
    CHECK(pthread_join(serving, NULL) == 0);
}

static void too_late(int number) {
    static const char text[] = "hostile: a call did not return\n";
    (void)number;
    if (write(2, text, sizeof text - 1) > 0) _exit(1);
    _exit(2);
}

int main(void) {
    static void (*const tests[])(void) = {
        test_flood, test_events, test_burst, test_future, test_completions, test_release, test_invalidate_full,
        test_invalidate_dead, test_two_frames, test_removed_pool};
    char address[32];
    signal(SIGALRM, too_late);
    listener = fake_listen(address);
    memory = fake_memory();
    CHECK(hwd_open(address, 0, &daemon_at) == 0);
    // hwd_open has connected to see whether a daemon listens.
    close(accept(listener, NULL, NULL));
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        // Less than the 60 s of a session whose configuration has no timeout.
        alarm(50);
        tests[i]();
    }
    hwd_close(daemon_at);
    close(listener);
    close(memory);
    printf("hostile: calls return in time, credits are kept, and threads break no rule for each other\n");
    return 0;
}
