// SPDX-License-Identifier: MIT
#include "failover/clip.h"

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    CHECK(in && fseek(in, 0, SEEK_END) == 0);
    *size = (size_t)ftell(in);
    rewind(in);
    uint8_t *bytes = malloc(*size + 1);
    CHECK(bytes && fread(bytes, 1, *size, in) == *size);
    fclose(in);
    return bytes;
}

static int compare(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void load_clip(clip *of, const char *file, const char *index, const char *pictures) {
    memset(of, 0, sizeof *of);
    of->file = read_file(file, &of->file_size);
    const uint8_t *box = memmem(of->file, of->file_size, "hvcC", 4);
    CHECK(box);
    of->record = box + 4;
    of->record_size = ((size_t)box[-4] << 24 | (size_t)box[-3] << 16 | (size_t)box[-2] << 8 | box[-1]) - 8;
    FILE *lines = fopen(index, "r");
    long long pts, position;
    unsigned size;
    CHECK(lines);
    while (of->count < MAX_PACKETS && fscanf(lines, "%lld,%u,%lld\n", &pts, &size, &position) == 3) {
        CHECK((size_t)position + size <= of->file_size);
        of->times[of->count] = pts;
        of->packets[of->count++] = (struct unit){of->file + position, size, pts, false};
    }
    fclose(lines);
    qsort(of->times, (size_t)of->count, sizeof *of->times, compare);
    size_t all;
    of->pictures = read_file(pictures, &all);
    CHECK(of->count > 0 && all % (size_t)of->count == 0);
    of->picture_size = all / (size_t)of->count;
}

void use_start_codes(clip *of) {
    static uint8_t sets[65536];
    size_t size;
    CHECK(hwd_parameter_sets(of->record, of->record_size, sets, sizeof sets, &size) == 0);
    of->record = sets, of->record_size = size;
    for (int i = 0; i < of->count; i++) {
        uint8_t *bytes = malloc(of->packets[i].size);
        CHECK(bytes && hwd_annex_b(of->packets[i].bytes, of->packets[i].size, bytes) == 0);
        of->packets[i].bytes = bytes;
    }
}

void open_decoding(decoding *run, hwd_daemon *daemon, const clip *of, uint32_t pixel_format, const char *properties, bool own_pool) {
    hwd_decompression_config config;
    memset(run, 0, sizeof *run);
    HWD_INIT(config);
    config.format = of->record, config.format_size = of->record_size;
    config.time_base = (hwd_rational){1, 90000};
    config.pixel_format = pixel_format;
    config.properties = properties;
    run->of = of, run->daemon = daemon;
    CHECK(hwd_decompression_create(daemon, &config, &run->session) == 0);
    for (int i = 0; i < of->count && own_pool; i++)
        if (of->packets[i].size > run->place_size) run->place_size = of->packets[i].size;
    if (!own_pool) return;
    CHECK(hwd_pool_create(run->place_size * PLACES, &run->pool) == 0);
    CHECK((run->pool_number = hwd_add_pool(run->session, run->pool, TIMEOUT)) > 0);
}

static bool is_same(const decoding *run, const hwd_event *picture) {
    const uint8_t *expected = run->of->pictures + (size_t)run->picture_count * run->of->picture_size;
    for (uint32_t plane = 0; plane < picture->plane_count; plane++)
        for (uint32_t row = 0; row < picture->planes[plane].rows; row++, expected += picture->planes[plane].row_bytes)
            if (memcmp(picture->planes[plane].data + (size_t)row * picture->planes[plane].stride, expected, picture->planes[plane].row_bytes))
                return false;
    return expected == run->of->pictures + (size_t)(run->picture_count + 1) * run->of->picture_size;
}

// Compares the oldest picture that is held, and gives it back.
static void check_oldest(decoding *run) {
    const hwd_event *picture = &run->held[0];
    CHECK(run->is_partial || (run->picture_count < run->of->count && picture->pts == run->of->times[run->picture_count]));
    CHECK(run->is_partial || is_same(run, picture));
    CHECK(!(picture->flags & HWD_DAMAGED) && hwd_release(run->session, picture) == 0);
    run->picture_count++;
    memmove(run->held, run->held + 1, (size_t)--run->held_count * sizeof *run->held);
}

static void take(decoding *run, const hwd_event *event) {
    if (run->watch) run->watch(event, run->watched);
    for (int i = 0; i < PLACES && event->type == HWD_EVENT_FRAME_RELEASED; i++)
        if (run->places[i] == event->number) run->places[i] = 0;
    run->report_count += event->type == HWD_EVENT_REPORT;
    run->answers += event->type == HWD_EVENT_COMPLETED;
    if (event->type != HWD_EVENT_PICTURE) {
        CHECK(hwd_release(run->session, event) == 0);
        return;
    }
    run->held[run->held_count++] = *event;
    if (run->held_count == HELD) check_oldest(run);
}

bool fetch_decoded(decoding *run, bool wait) {
    hwd_event event;
    HWD_INIT(event);
    int result = hwd_next_event(run->session, &event, wait ? TIMEOUT : 0);
    CHECK(!wait || result != 0);
    for (; result > 0; result = hwd_next_event(run->session, &event, 0)) take(run, &event);
    return result == 0;
}

int send_packet(decoding *run, int index, uint32_t flags) {
    const struct unit *from = &run->of->packets[index];
    hwd_packet packet;
    HWD_INIT(packet);
    packet.pts = from->pts, packet.flags = flags;
    packet.data = from->bytes, packet.data_size = from->size;
    int place = 0;
    if (run->pool && index % 2) {
        for (; run->places[place]; place = (place + 1) % PLACES)
            if (place == PLACES - 1) CHECK(fetch_decoded(run, true));
        packet.pool = (uint32_t)run->pool_number, packet.offset = (uint64_t)place * run->place_size;
        memcpy((uint8_t *)hwd_pool_data(run->pool) + packet.offset, from->bytes, from->size);
    }
    int result = hwd_decode(run->session, &packet, TIMEOUT);
    if (result == 0 && packet.pool) run->places[place] = packet.number;
    return result;
}

void finish_decoding(decoding *run) {
    int answers = run->answers;
    CHECK(hwd_complete(run->session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    while (run->answers == answers) CHECK(fetch_decoded(run, true));
    CHECK(run->answers == answers + 1);
}

void drain_decoded(decoding *run) {
    enum { QUIET = 40 };
    hwd_event event;
    HWD_INIT(event);
    int result;
    while ((result = hwd_next_event(run->session, &event, QUIET)) > 0) take(run, &event);
    CHECK(result == 0);
}

void kill_decoder(decoding *run, uint32_t deaths) {
    hwd_session_info info;
    HWD_INIT(info);
    hwd_event event;
    HWD_INIT(event);
    while (hwd_get_info(run->session, &info) == 0 && info.restart_count < deaths) {
        int result = hwd_next_event(run->session, &event, 100);
        CHECK(result >= 0);
        if (result > 0) take(run, &event);
    }
    kill_worker(run->daemon, run->session);
}

void free_decoding(decoding *run) {
    hwd_destroy(run->session);
    hwd_pool_unref(run->pool);
}

void close_decoding(decoding *run, uint32_t restarts) {
    hwd_session_info info;
    HWD_INIT(info);
    while (run->held_count > 0) check_oldest(run);
    CHECK(hwd_get_info(run->session, &info) == 0 && info.restart_count == restarts);
    CHECK(run->is_partial || (run->picture_count == run->of->count && run->report_count == 0));
    for (int i = 0; i < PLACES; i++) CHECK(run->places[i] == 0);
    CHECK(!run->pool || hwd_remove_pool(run->session, run->pool_number, TIMEOUT) == 0);
    char *notices;
    CHECK(hwd_copy_properties(run->session, "[\"Notices\"]", TIMEOUT, &notices) == 0);
    CHECK(restarts == 0 || strstr(notices, "continued in another process"));
    hwd_free(notices);
    free_decoding(run);
}
