// SPDX-License-Identifier: MIT
// failover ADDRESS NV12|YUVA WIDTHxHEIGHT IN OUT.hevc TIMES PROPERTIES [own|app] [KILL]: encodes every frame of a file while the
// session's process fails, and writes the stream, without its alpha layer, and a line "number pts dts key" for each packet. Frames are
// in the session's own memory, or in a pool of the program. KILL: after so many frames the session's process is killed. It prints
// how often the session continued in another process, whether it is in hardware, how many packets had alpha, and its notices.
#include "api/api.h"

#include <poll.h>

enum { SLOTS = 6, KEY_FRAME = 33, CAPTION_STEP = 6 };

static struct {
    hwd_daemon *daemon;
    hwd_session *session;
    FILE *input, *output, *times;
    uint32_t format, width, height;
    int with_alpha; // packets
    size_t frame_size;
    hwd_pool *pool; // of the program; NULL: the session's memory
    int pool_number;
    bool used[SLOTS];
    uint64_t frames[SLOTS]; // in the slots
    bool completed;
} run;

// Where the next start code is, or the end.
static size_t next_unit(const uint8_t *stream, size_t size, size_t at) {
    static const uint8_t start_code[] = {0, 0, 0, 1};
    const uint8_t *found = at < size ? memmem(stream + at, size - at, start_code, sizeof start_code) : NULL;
    return found ? (size_t)(found - stream) : size;
}

// Writes the NAL units of the base layer (H.265 7.3.1.2); whether there were slices of another one.
static bool write_units(const uint8_t *stream, size_t size) {
    enum { HEADER = 4, FIRST_NON_SLICE = 32 };
    bool has_others = false;
    CHECK(next_unit(stream, size, 0) == 0);
    for (size_t at = 0, end; at < size; at = end) {
        end = next_unit(stream, size, at + HEADER);
        CHECK(end - at > HEADER + 2);
        const uint8_t *header = stream + at + HEADER;
        if (((header[0] & 1) << 5 | header[1] >> 3) == 0) CHECK(fwrite(stream + at, 1, end - at, run.output) == end - at);
        else has_others |= (header[0] >> 1 & 63) < FIRST_NON_SLICE;
    }
    return has_others;
}

static void write_record(const hwd_event *event) {
    static uint8_t sets[65536];
    size_t size;
    CHECK(hwd_parameter_sets(event->data, event->data_size, sets, sizeof sets, &size) == 0);
    write_units(sets, size);
}

static void write_packet(const hwd_event *event) {
    uint8_t *stream = malloc(event->data_size);
    CHECK(stream && hwd_annex_b(event->data, event->data_size, stream) == 0);
    run.with_alpha += write_units(stream, event->data_size);
    free(stream);
    fprintf(run.times, "%llu %lld %lld %d\n", (unsigned long long)event->number, (long long)event->pts, (long long)event->dts,
            event->flags & HWD_SYNC);
}

static void take(const hwd_event *event) {
    if (event->type == HWD_EVENT_FORMAT) write_record(event);
    if (event->type == HWD_EVENT_PACKET) write_packet(event);
    for (int i = 0; i < SLOTS && event->type == HWD_EVENT_FRAME_RELEASED; i++)
        if (run.used[i] && run.frames[i] == event->number) run.used[i] = false;
    run.completed |= event->type == HWD_EVENT_COMPLETED;
    CHECK(hwd_release(run.session, event) == 0);
}

// Fetches what has come, and waits for one event at least where `wait` is set.
static void fetch(bool wait) {
    hwd_event event;
    HWD_INIT(event);
    struct pollfd entry = {hwd_get_fd(run.session), POLLIN, 0};
    int result = hwd_next_event(run.session, &event, 0);
    while (result == 0 && wait) {
        CHECK(poll(&entry, 1, TIMEOUT) == 1);
        result = hwd_next_event(run.session, &event, 0);
    }
    while (result > 0) {
        take(&event);
        result = hwd_next_event(run.session, &event, 0);
    }
    CHECK(result == 0);
}

static int free_slot(void) {
    for (int i = 0; i < SLOTS; i++)
        if (!run.used[i]) return i;
    return -1;
}

// A frame's samples, without padding, in planes.
static bool read_frame(hwd_frame *frame) {
    for (uint32_t plane = 0; plane < frame->plane_count; plane++)
        for (uint32_t row = 0; row < frame->planes[plane].rows; row++) {
            const hwd_plane *to = &frame->planes[plane];
            if (fread(to->data + (size_t)row * to->stride, 1, to->row_bytes, run.input) != to->row_bytes) return false;
        }
    return true;
}

static bool send_frame(int64_t number) {
    hwd_frame frame;
    HWD_INIT(frame);
    int slot = -1;
    if (run.pool) {
        while ((slot = free_slot()) < 0) fetch(true);
        frame.pool = (uint32_t)run.pool_number;
        frame.plane_count = (uint32_t)hwd_layout(run.format, run.width, run.height, run.frame_size * (size_t)slot, frame.planes, NULL);
        for (uint32_t i = 0; i < frame.plane_count; i++)
            frame.planes[i].data = (uint8_t *)hwd_pool_data(run.pool) + frame.planes[i].offset;
    } else {
        CHECK(hwd_acquire_frame(run.session, &frame, TIMEOUT) == 0);
    }
    if (!read_frame(&frame)) {
        CHECK(run.pool || hwd_discard_frame(run.session, &frame) == 0);
        return false;
    }
    // What belongs to single frames is sent again with them: a key frame, and captions of one triplet (ATSC A/53 part 4, 6.2.3).
    static const uint8_t captions[] = {0xb5, 0, 0x31, 'G', 'A', '9', '4', 3, 0xc1, 0xff, 0xfc, 0x94, 0x2c, 0xff};
    static const hwd_side_data data = {HWD_CLOSED_CAPTIONS, sizeof captions, captions};
    if (number == KEY_FRAME) frame.flags = HWD_FORCE_KEY_FRAME;
    if (number % CAPTION_STEP == 0) frame.side_data = &data, frame.side_data_count = 1;
    frame.pts = number * 3 + 1;
    frame.duration = 3;
    CHECK(hwd_encode(run.session, &frame, TIMEOUT) == 0 && frame.number == (uint64_t)number + 1);
    if (slot >= 0) run.used[slot] = true, run.frames[slot] = frame.number;
    return true;
}

static void open_run(char **argv) {
    hwd_compression_config config;
    unsigned width, height;
    CHECK(hwd_open(argv[1], 0, &run.daemon) == 0 && sscanf(argv[3], "%ux%u", &width, &height) == 2);
    run.input = fopen(argv[4], "rb"), run.output = fopen(argv[5], "wb"), run.times = fopen(argv[6], "w");
    CHECK(run.input && run.output && run.times);
    HWD_INIT(config);
    config.width = run.width = width, config.height = run.height = height;
    config.pixel_format = run.format = strcmp(argv[2], "YUVA") ? HWD_NV12 : HWD_YUVA;
    config.codec = run.format == HWD_YUVA ? "hevc-with-alpha" : "hevc";
    config.time_base = (hwd_rational){1, 90};
    config.properties = argv[7];
    CHECK(hwd_compression_create(run.daemon, &config, &run.session) == 0);
}

static void add_own_pool(void) {
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t size;
    CHECK(hwd_layout(run.format, run.width, run.height, 0, planes, &size) > 0);
    run.frame_size = size;
    CHECK(hwd_pool_create(size * SLOTS, &run.pool) == 0);
    CHECK((run.pool_number = hwd_add_pool(run.session, run.pool, TIMEOUT)) > 0);
}

int main(int argc, char **argv) {
    CHECK(argc >= 8);
    open_run(argv);
    if (argc > 8 && !strcmp(argv[8], "app")) add_own_pool();
    int kill_at = argc > 9 ? atoi(argv[9]) : -1;
    for (int64_t number = 0; send_frame(number); number++) {
        if (number + 1 == kill_at) kill_worker(run.daemon, run.session);
        // A property that changes on the way, and a request for the first frames.
        if (number == 25) CHECK(hwd_set_number(run.session, "Quality", 0.75) == 0);
        if (number % 3 == 2) fetch(false);
    }
    CHECK(hwd_complete(run.session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    while (!run.completed) fetch(true);
    if (run.pool) CHECK(free_slot() >= 0 && hwd_remove_pool(run.session, run.pool_number, TIMEOUT) == 0);
    hwd_session_info info;
    HWD_INIT(info);
    char *notices;
    CHECK(hwd_get_info(run.session, &info) == 0 && hwd_copy_properties(run.session, "[\"Notices\"]", TIMEOUT, &notices) == 0);
    printf("%u %u %d %s\n", info.restart_count, info.using_hardware, run.with_alpha, notices);
    hwd_free(notices);
    hwd_destroy(run.session);
    hwd_pool_unref(run.pool);
    hwd_close(run.daemon);
    CHECK(fclose(run.input) == 0 && fclose(run.output) == 0 && fclose(run.times) == 0);
    return 0;
}
