// SPDX-License-Identifier: MIT
// Pools of the app's own, imported memfds, and a decoder's memory as an encoder's pool.
#include "api/api.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

// Encodes a frame in pool `number`, and waits until its memory is the app's again and its packet has come.
static void encode_in(hwd_session *session, int number, int64_t pts) {
    hwd_frame frame;
    hwd_event event;
    bool released = false;
    HWD_INIT(frame);
    HWD_INIT(event);
    frame.plane_count = (uint32_t)hwd_layout(HWD_NV12, 64, 48, 0, frame.planes, NULL);
    frame.pool = (uint32_t)number;
    frame.pts = pts;
    CHECK(hwd_encode(session, &frame, TIMEOUT) == 0);
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    while (true) {
        CHECK(hwd_next_event(session, &event, TIMEOUT) == 1);
        if (event.type == HWD_EVENT_COMPLETED) break;
        if (event.type == HWD_EVENT_FRAME_RELEASED) released = event.number == frame.number;
        CHECK(hwd_release(session, &event) == 0);
    }
    CHECK(released);
}

void test_own_pool(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    hwd_pool *pool;
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t size;
    CHECK(hwd_layout(HWD_NV12, 64, 48, 0, planes, &size) == 2 && size == 64 * 72 && planes[1].rows == 24);
    CHECK(hwd_layout(HWD_NV12, 0, 48, 0, planes, &size) == HWD_PARAMETER);
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = (struct rlimit){size - 1, before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0 && hwd_pool_create(size, &pool) == -EFBIG && !pool);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(hwd_pool_create(0, &pool) == -EINVAL && hwd_pool_create(size, &pool) == 0);
    memset(hwd_pool_data(pool), 128, size);
    int number = hwd_add_pool(session, pool, TIMEOUT);
    CHECK(number > 0 && hwd_pool_fd(pool) >= 0 && hwd_pool_size(pool) == size);
    // The session holds it.
    hwd_pool_unref(pool);
    encode_in(session, number, 0);
    encode_in(session, number, 1);
    CHECK(hwd_remove_pool(session, number, TIMEOUT) == 0);
    CHECK(hwd_remove_pool(session, number, TIMEOUT) == HWD_PARAMETER);
    hwd_destroy(session);
}

void test_import(hwd_daemon *daemon) {
    hwd_pool *pool;
    int pipes[2];
    CHECK(pipe(pipes) == 0 && hwd_pool_import(pipes[0], &pool) == -EINVAL && !pool);
    close(pipes[0]);
    close(pipes[1]);
    CHECK(hwd_pool_import(-1, &pool) == -EBADF);
    int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(ftruncate(fd, 4608) == 0 && hwd_pool_import(fd, &pool) == -EINVAL);
    close(fd);
    // A seal that is missing is added.
    fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(ftruncate(fd, 4608) == 0 && hwd_pool_import(fd, &pool) == 0);
    CHECK(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK && hwd_pool_data(pool));
    close(fd);
    hwd_session *session = open_session(daemon);
    encode_in(session, hwd_add_pool(session, pool, TIMEOUT), 0);
    hwd_destroy(session);
    hwd_pool_unref(pool);
    fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(ftruncate(fd, 4608) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
    CHECK(hwd_pool_import(fd, &pool) == 0 && !hwd_pool_data(pool) && hwd_pool_bytes(pool));
    close(fd);
    hwd_pool_unref(pool);
}

static hwd_session *open_decoder(hwd_daemon *daemon, const hwd_event *format) {
    hwd_decompression_config config;
    hwd_session *session;
    HWD_INIT(config);
    config.format = format->data;
    config.format_size = format->data_size;
    config.time_base.numerator = 1;
    config.time_base.denominator = 30;
    config.pixel_format = HWD_NV12;
    CHECK(hwd_decompression_create(daemon, &config, &session) == 0);
    return session;
}

// What is decoded is encoded again where it is; packets are decoded from the encoder's memory.
void test_arena_as_pool(hwd_daemon *daemon) {
    hwd_session *first = open_session(daemon), *second = open_session(daemon), *decoder;
    hwd_event format, event;
    HWD_INIT(format);
    HWD_INIT(event);
    CHECK(encode(first, 0, TIMEOUT) == 0 && hwd_complete(first, HWD_ALL_FRAMES, TIMEOUT) == 0);
    CHECK(hwd_next_event(first, &format, TIMEOUT) == 1 && format.type == HWD_EVENT_FORMAT);
    decoder = open_decoder(daemon, &format);
    CHECK(hwd_release(first, &format) == 0);
    while (event.type != HWD_EVENT_PACKET) CHECK(hwd_next_event(first, &event, TIMEOUT) == 1);
    hwd_packet packet;
    HWD_INIT(packet);
    int number = hwd_add_pool(decoder, event.pool, TIMEOUT);
    CHECK(number > 0);
    packet.pool = (uint32_t)number;
    packet.offset = (uint64_t)(event.data - (const uint8_t *)hwd_pool_bytes(event.pool));
    packet.data_size = (uint32_t)event.data_size;
    packet.flags = HWD_SYNCHRONOUS;
    packet.pts = HWD_NO_PTS;
    CHECK(hwd_decode(decoder, &packet, TIMEOUT) == 0);
    CHECK(hwd_complete(decoder, 0, TIMEOUT) == 0);
    while (event.type != HWD_EVENT_PICTURE) CHECK(hwd_next_event(decoder, &event, TIMEOUT) == 1);
    CHECK(event.pts == HWD_NO_PTS && event.width == 64 && event.plane_count == 2);
    hwd_frame frame;
    HWD_INIT(frame);
    number = hwd_add_pool(second, event.pool, TIMEOUT);
    CHECK(number > 0 && !hwd_pool_data(event.pool));
    frame.pool = (uint32_t)number;
    frame.plane_count = event.plane_count;
    memcpy(frame.planes, event.planes, sizeof frame.planes);
    CHECK(hwd_encode(second, &frame, TIMEOUT) == 0 && finish(second) == 1);
    hwd_destroy(first);
    hwd_destroy(second);
    // Memory of events that were not released goes with the session.
    hwd_destroy(decoder);
}
