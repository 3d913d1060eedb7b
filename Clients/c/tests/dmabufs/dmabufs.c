// SPDX-License-Identifier: MIT
// Pictures in dma-bufs, for which memfds stand (Tests/FakeDMABuf): dmabufs SOCKET none|daemon|both says who takes them for dma-bufs:
// nobody, the daemon alone, or this program, too, which preloads the stand-in.
#include <hwdaemon-dmabuf.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WIDTH = 66, HEIGHT = 38, SIZE = 1 << 15, FRAMES = 4 };

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "dmabufs.c:%d: %s: %s\n", __LINE__, #condition, hwd_last_error()); \
            exit(1); \
        } \
    } while (0)

static hwd_dmabuf make_picture(uint32_t format, uint32_t uses) {
    hwd_dmabuf made = {.size = sizeof made, .fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    CHECK(made.fd >= 0 && ftruncate(made.fd, SIZE) == 0);
    made.pixel_format = format, made.uses = uses, made.width = WIDTH, made.height = HEIGHT;
    int planes = hwd_layout(format, WIDTH, HEIGHT, 256, made.planes, NULL);
    CHECK(planes > 0);
    made.plane_count = (uint32_t)planes;
    return made;
}

static void wait_for_answer(hwd_session *session) {
    hwd_event event;
    HWD_INIT(event);
    CHECK(hwd_next_event(session, &event, 60000) >= 0);
    CHECK(event.type == HWD_EVENT_TRANSFERRED && event.status == 0);
    hwd_release(session, &event);
}

static void transfer(hwd_session *session, int from, const hwd_dmabuf *source, int to, const hwd_dmabuf *target) {
    hwd_transfer frame;
    HWD_INIT(frame);
    frame.source_pool = (uint32_t)from, frame.target_pool = (uint32_t)to;
    frame.source_plane_count = source->plane_count, frame.target_plane_count = target->plane_count;
    memcpy(frame.source, source->planes, sizeof frame.source);
    memcpy(frame.target, target->planes, sizeof frame.target);
    CHECK(hwd_transfer_submit(session, &frame, 60000) == 0);
    wait_for_answer(session);
}

// The session, its pictures and pools of the same frames.
typedef struct test {
    hwd_session *session;
    hwd_dmabuf source, target;
    hwd_pool *from, *to, *own_from, *own_to;
    int pool_from, pool_to;
} test;

static void kill_worker(void) {
    char command[256];
    snprintf(command, sizeof command, "kill -9 $(pgrep -P %s hwdaemon-transf)", getenv("DAEMON"));
    CHECK(system(command) == 0);
}

static void check_refusals(const test *of, int has_stand_in) {
    hwd_dmabuf wrong = of->source;
    hwd_pool *tiled;
    wrong.planes[1].offset = SIZE - 8;
    CHECK(hwd_pool_import_dmabuf(&wrong, &tiled) == -EINVAL && !tiled);
    wrong = of->source;
    wrong.modifier = 7;
    CHECK(hwd_pool_import_dmabuf(&wrong, &tiled) == 0);
    CHECK(hwd_add_pool(of->session, tiled, -1) == (has_stand_in ? HWD_PIXEL_TRANSFER_NOT_SUPPORTED : HWD_PARAMETER));
    CHECK(strstr(hwd_last_error(), has_stand_in ? "the modifier 0x0 (linear)" : "is not a dma-buf"));
    hwd_pool_unref(tiled);
}

// Converts frames between pictures and between pools, with a worker that is killed.
static void check_frames(test *of) {
    int picture_from = hwd_add_pool(of->session, of->from, -1), picture_to = hwd_add_pool(of->session, of->to, -1), fence[2];
    CHECK(picture_from > 0 && picture_to > 0 && pipe(fence) == 0 && write(fence[1], "", 1) == 1);
    CHECK(hwd_add_fence(of->session, picture_from, of->source.fd, -1) == HWD_PARAMETER);
    CHECK(hwd_add_fence(of->session, of->pool_from, fence[0], -1) == HWD_PARAMETER);
    for (int number = 0; number < FRAMES; number++) {
        uint8_t *samples = hwd_pool_data(of->from);
        for (int i = 0; i < SIZE; i++) samples[i] = (uint8_t)(i * 7 + number * i / 5);
        memcpy(hwd_pool_data(of->own_from), samples, SIZE);
        CHECK(hwd_add_fence(of->session, picture_from, fence[0], -1) == 0);
        // Another worker gets the pictures and the fence again.
        if (number == 2) kill_worker();
        transfer(of->session, picture_from, &of->source, picture_to, &of->target);
        transfer(of->session, of->pool_from, &of->source, of->pool_to, &of->target);
        CHECK(memcmp(hwd_pool_bytes(of->to), hwd_pool_bytes(of->own_to), SIZE) == 0);
    }
    CHECK(hwd_remove_pool(of->session, picture_from, -1) == 0);
}

// A source that can only be read.
static void check_read_only(const test *of) {
    char name[64];
    hwd_dmabuf source = of->source, target = of->target;
    hwd_pool *pool;
    snprintf(name, sizeof name, "/proc/self/fd/%d", of->source.fd);
    source.fd = target.fd = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(source.fd >= 0 && hwd_pool_import_dmabuf(&target, &pool) == -EACCES && !pool);
    CHECK(hwd_pool_import_dmabuf(&source, &pool) == 0 && !hwd_pool_data(pool) && hwd_pool_bytes(pool));
    int number = hwd_add_pool(of->session, pool, -1);
    CHECK(number > 0);
    transfer(of->session, number, &of->source, of->pool_to, &of->target);
    hwd_pool_unref(pool);
    close(source.fd);
}

// Frames to encode are copied out of a picture, unless the copy may lack what a device wrote: where the app does not take the
// memfd for a dma-buf.
static void check_copies(hwd_daemon *daemon, const test *of, bool is_copied) {
    hwd_compression_config config;
    hwd_session *session;
    HWD_INIT(config);
    config.width = WIDTH, config.height = HEIGHT, config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1, config.time_base.denominator = 30;
    CHECK(hwd_compression_create(daemon, &config, &session) == 0);
    int pool = hwd_add_pool(session, of->from, -1);
    CHECK(pool > 0);
    hwd_frame frame;
    HWD_INIT(frame);
    frame.pool = (uint32_t)pool, frame.plane_count = of->source.plane_count;
    memcpy(frame.planes, of->source.planes, sizeof frame.planes);
    CHECK(hwd_encode(session, &frame, -1) == 0);
    hwd_event event;
    do {
        HWD_INIT(event);
        CHECK(hwd_next_event(session, &event, 60000) >= 0);
        CHECK(event.type == HWD_EVENT_FORMAT || event.type == HWD_EVENT_FRAME_RELEASED);
        hwd_release(session, &event);
    } while (event.type != HWD_EVENT_FRAME_RELEASED);
    char *notices;
    CHECK(hwd_copy_properties(session, "[\"Notices\"]", -1, &notices) == 0);
    CHECK(!strstr(notices, "a frame could not be copied") == is_copied);
    hwd_free(notices);
    hwd_destroy(session);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    const bool in_both = strcmp(arguments[2], "both") == 0, has_stand_in = in_both || strcmp(arguments[2], "daemon") == 0;
    CHECK(has_stand_in || strcmp(arguments[2], "none") == 0);
    hwd_daemon *daemon;
    CHECK(hwd_open(arguments[1], 0, &daemon) == 0);
    hwd_transfer_config config;
    HWD_INIT(config);
    config.width = WIDTH, config.height = HEIGHT, config.device = "cpu";
    config.source.pixel_format = HWD_NV12, config.target.pixel_format = HWD_AR24;
    test of = {.source = make_picture(HWD_NV12, HWD_PICTURE_SOURCE), .target = make_picture(HWD_AR24, HWD_PICTURE_TARGET)};
    CHECK(hwd_transfer_create(daemon, &config, &of.session) == 0);
    CHECK(hwd_pool_import_dmabuf(&of.source, &of.from) == 0 && hwd_pool_import_dmabuf(&of.target, &of.to) == 0);
    CHECK(hwd_pool_create(SIZE, &of.own_from) == 0 && hwd_pool_create(SIZE, &of.own_to) == 0);
    of.pool_from = hwd_add_pool(of.session, of.own_from, -1), of.pool_to = hwd_add_pool(of.session, of.own_to, -1);
    CHECK(of.pool_from > 0 && of.pool_to > 0);
    check_refusals(&of, has_stand_in);
    if (has_stand_in) {
        check_frames(&of);
        check_read_only(&of);
        check_copies(daemon, &of, in_both);
    }
    transfer(of.session, of.pool_from, &of.source, of.pool_to, &of.target);
    hwd_pool_unref(of.from), hwd_pool_unref(of.to), hwd_pool_unref(of.own_from), hwd_pool_unref(of.own_to);
    hwd_destroy(of.session);
    hwd_close(daemon);
    return 0;
}
