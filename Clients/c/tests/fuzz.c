// SPDX-License-Identifier: MIT
// fuzz COUNT SEED: a worker's messages, mutated; every session must end in an error, without a report of a sanitizer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <hwdaemon.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_MESSAGES = 16, MEMORY = 65536 };

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
static unsigned reply_fault; // the reply to Create is mutated, unless 0

static unsigned random_below(unsigned limit) {
    seed = seed * 1103515245 + 12345;
    return limit ? (seed >> 8) % limit : 0;
}

static void die(const char *what) {
    fprintf(stderr, "fuzz: %s\n", what);
    exit(1);
}

static void put(uint8_t *at, uint64_t value, int size) {
    for (int i = 0; i < size; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// ---- Valid messages, from docs/protocol.md

static uint8_t *add(uint32_t opcode, size_t length, bool has_memory) {
    sent *message = &stream[stream_length++];
    memset(message, 0, sizeof *message);
    message->size = 16 + length;
    message->has_memory = has_memory;
    put(message->bytes, length, 4);
    put(message->bytes + 4, opcode, 4);
    put(message->bytes + 8, has_memory, 4);
    put(message->bytes + 12, (uint64_t)stream_length + 1, 4); // 1 answered addPool
    return message->bytes + 16;
}

static void add_arena(uint32_t number) {
    uint8_t *at = add(66, 16, true);
    put(at, number, 4);
    put(at + 8, MEMORY, 8);
}

static void add_packet(uint64_t number, uint32_t arena, uint32_t size) {
    uint8_t *at = add(68, 64, arena == UINT32_MAX);
    put(at, number, 8);
    put(at + 8, 1, 8);
    put(at + 40, arena, 4);
    put(at + 44, 1, 4);
    put(at + 48, 128, 8);
    put(at + 56, size, 4);
    at[60] = 20;
}

static void add_picture(uint64_t number) {
    uint8_t *at = add(70, 88 + 32 + 12, false);
    put(at, number, 8);
    put(at + 8, 1, 8);
    put(at + 32, 1, 4);
    put(at + 36, 1, 4);
    memcpy(at + 40, "NV12", 4);
    put(at + 44, 64, 4);
    put(at + 48, 48, 4);
    put(at + 60, 64, 4);
    put(at + 64, 48, 4);
    at[73] = 8;
    at[74] = 2;
    at[75] = 1;
    put(at + 80, 1, 4);
    put(at + 96, 64, 4);
    put(at + 104, 4096, 8);
    put(at + 112, 64, 4);
    put(at + 120, 2, 4);
    put(at + 124, 4, 4);
}

static void make_stream(void) {
    stream_length = 0;
    if (kind == HWD_COMPRESSION) {
        add_arena(1);
        memset(add(65, 40, false), 1, 40);
        put(add(73, 40, false), 1, 8);
        add_packet(1, 1, 500);
        add_packet(2, UINT32_MAX, 100);
    } else if (kind == HWD_DECOMPRESSION) {
        add_arena(1);
        add_picture(1);
        put(add(71, 24, false), 1, 8);
        add_arena(2);
        add_picture(2);
        put(add(72, 4, false), 1, 4);
    }
    put(add(kind == HWD_TRANSFER ? 80 : 67, kind == HWD_TRANSFER ? 16 : 8, false), 1, 8);
    put(add(64, 12, false), 3, 4); // answers hwd_complete
    put(add(69, 20, false), (uint64_t)-12912, 4);
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
        case 5: put(message->bytes, random_below(400), 4); break;
        case 6: put(message->bytes + 16 + random_below(12) * 8, (uint64_t)-1 >> random_below(64), 8); break;
        default: *message = stream[random_below((unsigned)stream_length)]; break;
        }
    }
}

// ---- The worker

static void send_with_memory(int fd, const sent *message) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {(void *)message->bytes, message->size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (message->has_memory && message->size > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &memory, sizeof memory);
    }
    if (sendmsg(fd, &header, MSG_NOSIGNAL) < 0) return;
}

static bool read_exactly(int fd, size_t size) {
    uint8_t bytes[4096];
    while (size > 0) {
        ssize_t count = read(fd, bytes, size < sizeof bytes ? size : sizeof bytes);
        if (count <= 0) return false;
        size -= (size_t)count;
    }
    return true;
}

static const char *replies[] = {
    "{\"parameters\":{\"finished\":true,\"code\":-12912,\"reason\":\"it died\",\"frames_in\":1,\"frames_out\":1}}",
    "{\"parameters\":{\"session\":\"0a1b\",\"encoder_id\":\"e\",\"using_hardware\":false,"
    "\"max_frames_in_flight\":4,\"max_packets_in_flight\":4}}",
    "{\"parameters\":{\"session\":\"0a1b\",\"decoder_id\":\"d\",\"using_hardware\":false,"
    "\"width\":64,\"height\":48,\"pixel_format\":\"NV12\","
    "\"max_packets_in_flight\":4,\"max_frames_in_flight\":4}}",
    "{\"parameters\":{\"session\":\"0a1b\",\"device\":\"cpu\",\"device_reason\":\"asked\",\"using_gpu\":false,\"max_frames_in_flight\":4}}",
};

static void serve(int fd) {
    char call[8192];
    ssize_t count = 0, got;
    while (count == 0 || call[count - 1] != 0) {
        if ((got = read(fd, call + count, sizeof call - (size_t)count)) <= 0) return;
        count += got;
    }
    if (strstr(call, "GetSessionResult")) {
        if (write(fd, replies[0], strlen(replies[0]) + 1) < 0) return;
        return;
    }
    sent messages[MAX_MESSAGES];
    char reply[512];
    pthread_mutex_lock(&lock);
    int count_of_messages = stream_length;
    memcpy(messages, stream, sizeof messages);
    strcpy(reply, replies[kind]);
    if (reply_fault) reply[reply_fault / 256 % strlen(reply)] = (char)reply_fault;
    pthread_mutex_unlock(&lock);
    if (write(fd, reply, strlen(reply) + 1) < 0) return;
    // addPool, then its reply, then the frame.
    if (!read_exactly(fd, 16 + 16)) return;
    uint8_t ok[24] = {8, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    if (send(fd, ok, sizeof ok, MSG_NOSIGNAL) < 0 || !read_exactly(fd, 16 + 40)) return;
    for (int i = 0; i < count_of_messages; i++) send_with_memory(fd, &messages[i]);
}

static void *run_worker(void *context) {
    (void)context;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) serve(fd);
    return NULL;
}

// ---- The client

static int create(hwd_daemon *daemon, hwd_session **session) {
    hwd_rational time_base = {1, 30};
    if (kind == HWD_COMPRESSION) {
        hwd_compression_config config;
        HWD_INIT(config);
        config.width = 64, config.height = 48, config.pixel_format = HWD_NV12, config.time_base = time_base;
        return hwd_compression_create(daemon, &config, session);
    }
    if (kind == HWD_DECOMPRESSION) {
        hwd_decompression_config config;
        HWD_INIT(config);
        config.format = "format", config.format_size = 6, config.time_base = time_base;
        return hwd_decompression_create(daemon, &config, session);
    }
    hwd_transfer_config config;
    HWD_INIT(config);
    config.width = 64, config.height = 48, config.source.pixel_format = HWD_NV12, config.target.pixel_format = HWD_NV12;
    return hwd_transfer_create(daemon, &config, session);
}

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
    if (create(daemon, &session) < 0) return true;
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
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(address, sizeof address, "@hwd-fuzz-%d", (int)getpid());
    memcpy(at.sun_path + 1, address + 1, strlen(address) - 1);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))) < 0 ||
        listen(listener, 16) < 0)
        die("no listener");
    memory = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(memory, MEMORY) < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) < 0) die("no memory");
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
