// SPDX-License-Identifier: MIT
// fuzz COUNT SEED: a worker's messages, mutated; every session must end in an error, without a report of a sanitizer.
#include "hostile/fake.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_MESSAGES = 16 };

typedef struct sent {
    uint8_t bytes[512];
    size_t size;
    bool has_memory;
} sent;

static unsigned seed;
static int memory, listener, kind;
static char address[32];
// What the worker sends in the next session; the lock is that of all variables that both threads use.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sent stream[MAX_MESSAGES];
static int stream_length;
static bool keeps_frames;     // Create says how many frames a client that continues elsewhere keeps
static unsigned reply_fault; // the reply to Create is mutated, unless 0

static unsigned random_below(unsigned limit) {
    seed = seed * 1103515245 + 12345;
    return limit ? (seed >> 8) % limit : 0;
}

static void die(const char *what) {
    fprintf(stderr, "fuzz: %s\n", what);
    exit(1);
}

// ---- Valid messages, from docs/protocol.md

static uint8_t *add(uint32_t opcode, size_t length, bool has_memory) {
    sent *message = &stream[stream_length++];
    memset(message, 0, sizeof *message);
    message->size = 16 + length;
    message->has_memory = has_memory;
    fake_put(message->bytes, length, 4);
    fake_put(message->bytes + 4, opcode, 4);
    fake_put(message->bytes + 8, has_memory, 4);
    fake_put(message->bytes + 12, (uint64_t)stream_length + 1, 4); // 1 answered addPool
    return message->bytes + 16;
}

static void add_arena(uint32_t number) {
    uint8_t *at = add(66, 16, true);
    fake_put(at, number, 4);
    fake_put(at + 8, FAKE_MEMORY, 8);
}

static void add_packet(uint64_t number, uint32_t arena, uint32_t size) {
    uint8_t *at = add(68, 64, arena == UINT32_MAX);
    fake_put(at, number, 8);
    fake_put(at + 8, 1, 8);
    fake_put(at + 40, arena, 4);
    fake_put(at + 44, 1, 4);
    fake_put(at + 48, 128, 8);
    fake_put(at + 56, size, 4);
    at[60] = 20;
}

static void add_picture(uint64_t number) {
    uint8_t *at = add(70, 88 + 32 + 12, false);
    fake_put(at, number, 8);
    fake_put(at + 8, 1, 8);
    fake_put(at + 32, 1, 4);
    fake_put(at + 36, 1, 4);
    memcpy(at + 40, "NV12", 4);
    fake_put(at + 44, 64, 4);
    fake_put(at + 48, 48, 4);
    fake_put(at + 60, 64, 4);
    fake_put(at + 64, 48, 4);
    at[73] = 8;
    at[74] = 2;
    at[75] = 1;
    fake_put(at + 80, 1, 4);
    fake_put(at + 96, 64, 4);
    fake_put(at + 104, 4096, 8);
    fake_put(at + 112, 64, 4);
    fake_put(at + 120, 2, 4);
    fake_put(at + 124, 4, 4);
}

static void make_stream(void) {
    stream_length = 0;
    if (kind == HWD_COMPRESSION) {
        add_arena(1);
        memset(add(65, 40, false), 1, 40);
        fake_put(add(73, 40, false), 1, 8);
        add_packet(1, 1, 500);
        if (!keeps_frames) add_packet(2, UINT32_MAX, 100);
    } else if (kind == HWD_DECOMPRESSION) {
        add_arena(1);
        add_picture(1);
        fake_put(add(71, 24, false), 1, 8);
        add_arena(2);
        add_picture(2);
        fake_put(add(72, 4, false), 1, 4);
    }
    fake_put(add(kind == HWD_TRANSFER ? 80 : 67, kind == HWD_TRANSFER ? 16 : 8, false), 1, 8);
    fake_put(add(64, 12, false), 3, 4); // answers hwd_complete
    fake_put(add(69, 20, false), (uint64_t)-12912, 4);
}

static void mutate(void) {
    for (unsigned count = 1 + random_below(4); count > 0; count--) {
        sent *message = &stream[random_below((unsigned)stream_length)];
        unsigned place = random_below((unsigned)message->size);
        switch (random_below(8)) {
        case 0: message->bytes[place] ^= (uint8_t)(1u << random_below(8)); break;
        case 1: message->bytes[place] = 0xff; break;
        case 2: message->bytes[place] = (uint8_t)random_below(256); break;
        case 3: message->size = place; break;
        case 4: message->has_memory = !message->has_memory; break;
        case 5: fake_put(message->bytes, random_below(400), 4); break;
        case 6: fake_put(message->bytes + 16 + random_below(12) * 8, (uint64_t)-1 >> random_below(64), 8); break;
        default: *message = stream[random_below((unsigned)stream_length)]; break;
        }
    }
}

// ---- The worker

static void serve(int fd) {
    static const char result[] =
        "{\"parameters\":{\"finished\":true,\"code\":-12912,\"reason\":\"it died\",\"frames_in\":1,\"frames_out\":1}}";
    char call[8192];
    if (!fake_read_call(fd, call, sizeof call)) return;
    if (strstr(call, "GetSessionResult")) {
        fake_send(fd, result, sizeof result, -1);
        return;
    }
    sent messages[MAX_MESSAGES];
    char reply[512];
    pthread_mutex_lock(&lock);
    int count_of_messages = stream_length;
    // A frame or packet, and what hwd_complete sends.
    size_t expected = kind == HWD_COMPRESSION ? 88 + 24 : kind == HWD_DECOMPRESSION ? 64 + 16 : 104 + 16;
    memcpy(messages, stream, sizeof messages);
    strcpy(reply, fake_reply(kind));
    // Half of the compression sessions keep frames, to continue elsewhere.
    if (kind == HWD_COMPRESSION && keeps_frames) strcpy(strstr(reply, "}}"), ",\"max_frames_held\":3,\"reorder_depth\":1}}");
    if (reply_fault) reply[reply_fault / 256 % strlen(reply)] = (char)reply_fault;
    pthread_mutex_unlock(&lock);
    uint8_t request[128];
    // addPool, then its reply.
    if (!fake_send(fd, reply, strlen(reply) + 1, -1) || !fake_read(fd, request, 16 + 16)) return;
    uint8_t ok[24] = {8, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    if (!fake_send(fd, ok, sizeof ok, -1)) return;
    // A session that continues sends what it has not lost.
    if (!strstr(call, "\"resumes\"") && !fake_read(fd, request, expected)) return;
    for (int i = 0; i < count_of_messages; i++)
        fake_send(fd, messages[i].bytes, messages[i].size, messages[i].has_memory && messages[i].size > 0 ? memory : -1);
}

static void *run_worker(void *context) {
    (void)context;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) serve(fd);
    return NULL;
}

// ---- The client

static int send_one(hwd_session *session, hwd_pool *pool) {
    if (kind == HWD_COMPRESSION) {
        hwd_frame frame;
        HWD_INIT(frame);
        int result = hwd_acquire_frame(session, &frame, 2000);
        return result < 0 ? result : hwd_encode(session, &frame, 2000);
    }
    if (kind == HWD_DECOMPRESSION) {
        hwd_packet packet;
        HWD_INIT(packet);
        packet.data = "packet", packet.data_size = 6;
        return hwd_decode(session, &packet, 2000);
    }
    hwd_transfer frame;
    HWD_INIT(frame);
    int number = hwd_add_pool(session, pool, 2000);
    if (number < 0) return number;
    frame.source_pool = frame.target_pool = (uint32_t)number;
    frame.source_plane_count = (uint32_t)hwd_layout(HWD_NV12, 64, 48, 0, frame.source, NULL);
    frame.target_plane_count = (uint32_t)hwd_layout(HWD_NV12, 64, 48, 8192, frame.target, NULL);
    return hwd_transfer_submit(session, &frame, 2000);
}

static unsigned long touched;

static void use(const hwd_event *event) {
    if (event->data_size > 0) touched += (unsigned long)event->data[0] + event->data[event->data_size - 1];
    for (uint32_t i = 0; i < event->plane_count; i++) {
        const hwd_plane *plane = &event->planes[i];
        touched += plane->data[(size_t)plane->stride * (plane->rows - 1) + plane->row_bytes - 1];
    }
    for (uint32_t i = 0; i < event->side_data_count; i++)
        if (event->side_data[i].size) touched += event->side_data[i].bytes[event->side_data[i].size - 1];
    if (event->reason) touched += strlen(event->reason);
}

static bool run_session(hwd_daemon *daemon, hwd_pool *pool) {
    hwd_session *session;
    if (fake_create(daemon, kind, 0, &session) < 0) return true;
    hwd_event event;
    HWD_INIT(event);
    int result = send_one(session, pool);
    if (result >= 0) hwd_complete(session, HWD_ALL_FRAMES, 2000);
    while ((result = hwd_next_event(session, &event, 10000)) > 0) {
        use(&event);
        if (random_below(3)) hwd_release(session, &event);
    }
    hwd_destroy(session);
    return result < 0 && hwd_last_error()[0];
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 10000;
    seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    listener = fake_listen(address);
    memory = fake_memory();
    pthread_t worker;
    hwd_daemon *daemon;
    hwd_pool *pool;
    kind = HWD_COMPRESSION;
    make_stream();
    if (pthread_create(&worker, NULL, run_worker, NULL) || hwd_open(address, 0, &daemon) < 0 || hwd_pool_create(32768, &pool) < 0)
        die("no start");
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&lock);
        kind = 1 + (int)random_below(3);
        keeps_frames = random_below(2);
        make_stream();
        if (i > 3) mutate();
        reply_fault = random_below(20) == 0 ? random_below(1 << 16) : 0;
        pthread_mutex_unlock(&lock);
        if (!run_session(daemon, pool)) die("a session did not end in an error");
    }
    hwd_pool_unref(pool);
    hwd_close(daemon);
    shutdown(listener, SHUT_RDWR);
    pthread_join(worker, NULL);
    close(listener);
    close(memory);
    printf("fuzz: %d sessions with mutated messages ended in an error (%lu)\n", count, touched % 10);
    return 0;
}
