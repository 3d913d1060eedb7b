// SPDX-License-Identifier: MIT
// Outputs over the sessions of a daemon: a coded clip whose frames have their number as luma.
#include "outputs.h"
#include "output/output.h"

enum { FRAMES = 90, GROUP = 30, STAYS = 9 };

typedef struct clip {
    uint8_t record[65536], *packets[FRAMES];
    size_t record_size, sizes[FRAMES];
    int64_t times[FRAMES];
    bool is_key[FRAMES];
    int count, next, slow;
    int (*hostile)(struct clip *of, hwd_output_packet *packet);
    int seek_result, calls;
} clip;

static void keep(clip *of, const hwd_event *event) {
    if (event->type == HWD_EVENT_FORMAT) memcpy(of->record, event->data, of->record_size = event->data_size);
    if (event->type != HWD_EVENT_PACKET) return;
    CHECK(of->count < FRAMES && (of->packets[of->count] = malloc(event->data_size)));
    memcpy(of->packets[of->count], event->data, of->sizes[of->count] = event->data_size);
    of->times[of->count] = event->pts;
    of->is_key[of->count++] = event->flags & HWD_SYNC;
}

static void make_clip(clip *of, hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    hwd_event event = {.size = sizeof event};
    CHECK(hwd_set_int(session, "MaxKeyFrameInterval", GROUP) == 0);
    for (int i = 0; i < FRAMES; i++) {
        CHECK(encode(session, i, TIMEOUT) == 0);
        for (; hwd_next_event(session, &event, 0) > 0; hwd_release(session, &event)) keep(of, &event);
    }
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    do {
        CHECK(hwd_next_event(session, &event, TIMEOUT) == 1);
        keep(of, &event);
        hwd_release(session, &event);
    } while (event.type != HWD_EVENT_COMPLETED);
    // One picture refers to the key frame behind it.
    CHECK(of->count == FRAMES && of->record_size > 0 && of->is_key[GROUP - 1]);
    hwd_destroy(session);
}

static int next(void *context, hwd_output_packet *packet) {
    clip *of = context;
    of->calls++;
    if (of->slow) usleep((useconds_t)of->slow);
    if (of->next == of->count) return 0;
    int i = of->next++;
    packet->data = of->packets[i], packet->data_size = of->sizes[i];
    packet->pts = of->times[i], packet->duration = 1;
    packet->flags = of->is_key[i] ? HWD_OUTPUT_KEY : 0;
    return of->hostile ? of->hostile(of, packet) : 1;
}

static int seek(void *context, int64_t pts) {
    clip *of = context;
    if (of->seek_result < 0) return of->seek_result;
    of->next = 0;
    for (int i = 0; i < of->count; i++)
        if (of->is_key[i] && of->times[i] <= pts) of->next = i;
    return 0;
}

static hwd_video_output *open_output(hwd_daemon *daemon, clip *of, uint32_t format, uint32_t loops) {
    hwd_output_config config;
    hwd_video_output *output;
    HWD_INIT(config);
    config.source.context = of, config.source.next = next, config.source.seek = seek;
    config.source.time_base = (hwd_rational){1, 30};
    config.source.format = of->record, config.source.format_size = of->record_size;
    config.target.pixel_format = format;
    config.loops = loops;
    CHECK(hwd_output_open(daemon, &config, &output) == 0);
    return output;
}

static int copy(hwd_video_output *output, int64_t host, hwd_output_frame *frame) {
    HWD_INIT(*frame);
    int result = hwd_output_copy_frame(output, host, TIMEOUT, frame);
    if (result != HWD_OUTPUT_FRAME) return result;
    CHECK(frame->width == 64 && frame->height == 48 && frame->display_time == (frame->pts * 1000000000 + 29) / 30);
    if (frame->pixel_format == HWD_NV12 || frame->pixel_format == HWD_YU12)
        CHECK(abs(frame->planes[0].data[0] - (16 + (int)frame->pts)) <= 3);
    CHECK(hwd_output_release(output, frame) == 0 && hwd_output_release(output, frame) == -EINVAL);
    return result;
}

// The whole clip at a display's rate: every frame, in order, for as many refreshes as it should.
static void play(hwd_daemon *daemon, clip *of, int numerator, int denominator, uint32_t format, int kill_at) {
    hwd_video_output *output = open_output(daemon, of, format, 0);
    hwd_output_frame frame;
    int shown = 0, stays = 0, found[STAYS] = {0}, result;
    CHECK(hwd_output_play(output, 1, 0) == 0 && hwd_output_play(output, -1, 0) == HWD_PARAMETER);
    for (int64_t refresh = 0; (result = copy(output, refresh * 1000000000 * denominator / numerator, &frame)) != HWD_OUTPUT_AFTER_END; refresh++) {
        CHECK(result == HWD_OUTPUT_FRAME || result == HWD_OUTPUT_SAME);
        if (result == HWD_OUTPUT_FRAME) CHECK(frame.pts == shown++ && frame.epoch == 1);
        if (result == HWD_OUTPUT_FRAME && stays) found[stays]++, stays = 0;
        CHECK(++stays < STAYS);
        if (result == HWD_OUTPUT_FRAME && shown == kill_at) kill_worker(daemon, output->decoder);
        if (result == HWD_OUTPUT_FRAME && shown == 2 * kill_at && format) kill_worker(daemon, output->converter.session);
    }
    hwd_output_counts counts;
    HWD_INIT(counts);
    CHECK(shown == FRAMES && hwd_output_get_counts(output, &counts) == 0);
    CHECK(counts.shown == FRAMES && counts.late == 0 && counts.dropped == 0 && counts.skipped == 0 && counts.cut_short == 0);
    CHECK(counts.restarts == (kill_at ? 1u + (format != 0) : 0));
    int least = numerator / denominator / 30;
    CHECK(found[least] + found[least + 1] == FRAMES - 1);
    hwd_output_close(output);
}

static void test_seeks(hwd_daemon *daemon, clip *of) {
    hwd_video_output *output = open_output(daemon, of, HWD_AB24, 0);
    hwd_output_frame frame;
    const int64_t second = 1000000000;
    CHECK(copy(output, 0, &frame) == HWD_OUTPUT_FRAME && frame.pts == 0);
    CHECK(hwd_output_seek(output, 3 * second / 2, HWD_OUTPUT_EXACT) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_FRAME && frame.pts == 45);
    CHECK(copy(output, 5 * second, &frame) == HWD_OUTPUT_SAME && frame.epoch == 0);
    CHECK(hwd_output_seek(output, 3 * second / 2, HWD_OUTPUT_TO_KEY) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_FRAME && frame.pts == GROUP);
    CHECK(hwd_output_seek(output, 19 * second / 10, second / 5) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_FRAME && frame.pts == 2 * GROUP);
    CHECK(hwd_output_seek(output, 3 * second / 2, second / 5) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_FRAME && frame.pts == 45);
    CHECK(hwd_output_seek(output, 9 * second, HWD_OUTPUT_EXACT) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_AFTER_END);
    CHECK(hwd_output_seek(output, INT64_MAX, INT64_MAX) == 0 && copy(output, INT64_MIN, &frame) == HWD_OUTPUT_FRAME && frame.pts == 60);
    CHECK(hwd_output_seek(output, 0, -2) == HWD_PARAMETER);
    hwd_output_close(output);
}

static void test_loop(hwd_daemon *daemon, clip *of) {
    hwd_video_output *output = open_output(daemon, of, 0, 1);
    hwd_output_frame frame;
    CHECK(hwd_output_play(output, 2, 0) == 0);
    for (int64_t i = 0; i < 2 * FRAMES; i++) {
        CHECK(copy(output, i * 1000000000 / 30, &frame) == HWD_OUTPUT_FRAME);
        CHECK(frame.pts == 2 * i % FRAMES && frame.epoch == (uint64_t)(1 + 2 * i / FRAMES));
    }
    hwd_output_close(output);
}

static int backwards(clip *of, hwd_output_packet *packet) { return packet->pts = 1000 - 7 * of->next, 1; }
static int equal(clip *of, hwd_output_packet *packet) { return (void)of, packet->pts = 3, 1; }
static int huge(clip *of, hwd_output_packet *packet) { return packet->pts = of->next > 3 ? INT64_MAX : packet->pts, packet->duration = INT64_MAX, 1; }
static int empty(clip *of, hwd_output_packet *packet) { return of->next = 1, packet->data_size = 0, 1; }
static int no_data(clip *of, hwd_output_packet *packet) { return packet->data = of->next > 5 ? NULL : packet->data, 1; }
static int failing(clip *of, hwd_output_packet *packet) { return (void)packet, of->next > 8 ? -EIO : 1; }
static int oversized(clip *of, hwd_output_packet *packet) { return packet->data_size = of->next > 5 ? SIZE_MAX : packet->data_size, 1; }
static int other_format(clip *of, hwd_output_packet *packet) {
    if (of->next == 9) packet->format = "nonsense", packet->format_size = 8;
    return 1;
}

// Whatever the source gives, the output ends or shows frames in order, and says why it was cut short.
static void test_hostile(hwd_daemon *daemon, clip *of) {
    static const struct { int (*function)(clip *, hwd_output_packet *); int cut_short; } sources[] = {
        {backwards, 0}, {equal, 0}, {huge, -EINVAL}, {empty, -EINVAL}, {no_data, -EINVAL}, {failing, -EIO}, {oversized, -EINVAL}, {other_format, 1}};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        of->hostile = sources[i].function;
        hwd_video_output *output = open_output(daemon, of, i % 2 ? HWD_AR24 : 0, 0);
        hwd_output_frame frame;
        hwd_output_counts counts;
        HWD_INIT(counts);
        CHECK(hwd_output_play(output, 1, 0) == 0);
        int64_t last = INT64_MIN;
        for (int64_t refresh = 0; refresh < 150; refresh++) {
            HWD_INIT(frame);
            int result = hwd_output_copy_frame(output, refresh * 33333333, TIMEOUT, &frame);
            CHECK(result >= 0 && result != HWD_OUTPUT_NOT_DECODED && result != HWD_OUTPUT_SEEKING);
            if (result != HWD_OUTPUT_FRAME) continue;
            CHECK(frame.pts > last && hwd_output_release(output, &frame) == 0);
            last = frame.pts;
        }
        CHECK(hwd_output_get_counts(output, &counts) == 0);
        CHECK(sources[i].cut_short > 0 ? counts.cut_short < 0 : counts.cut_short == sources[i].cut_short);
        hwd_output_close(output);
    }
    of->hostile = NULL;
    of->seek_result = -EIO;
    hwd_video_output *output = open_output(daemon, of, 0, 1);
    hwd_output_frame frame;
    int result = copy(output, 0, &frame);
    CHECK(result > 0 && result != HWD_OUTPUT_NOT_DECODED && result != HWD_OUTPUT_SEEKING);
    hwd_output_close(output);
    of->seek_result = 0;
}

// Questions that do not wait are late while the source is slow, and frames come in order all the same.
static void test_slow(hwd_daemon *daemon, clip *of) {
    hwd_video_output *output = open_output(daemon, of, 0, 0);
    hwd_output_frame frame;
    hwd_output_counts counts;
    HWD_INIT(counts);
    CHECK(hwd_output_play(output, 1, 0) == 0 && copy(output, 0, &frame) == HWD_OUTPUT_FRAME);
    of->slow = 3000;
    int64_t last = 0;
    for (int64_t refresh = 1; refresh < 2 * FRAMES; refresh++) {
        HWD_INIT(frame);
        int result = hwd_output_copy_frame(output, refresh * 500000000 / 30, 0, &frame);
        CHECK(result >= 0 && result != HWD_OUTPUT_SEEKING);
        if (result != HWD_OUTPUT_FRAME) continue;
        CHECK(frame.pts > last && hwd_output_release(output, &frame) == 0);
        last = frame.pts;
    }
    of->slow = 0;
    // The last picture comes whatever was left out, unless it was among that.
    int result = copy(output, (FRAMES - 1) * (int64_t)1000000000 / 30, &frame);
    CHECK(result == HWD_OUTPUT_FRAME || result == HWD_OUTPUT_SAME);
    CHECK(hwd_output_get_counts(output, &counts) == 0 && counts.cut_short == 0 && counts.late > 0);
    CHECK(counts.shown + counts.dropped + counts.skipped <= FRAMES && counts.shown > 1);
    hwd_output_close(output);
}

void test_sessions(hwd_daemon *daemon) {
    static clip of;
    make_clip(&of, daemon);
    play(daemon, &of, 60, 1, 0, 0);
    play(daemon, &of, 60000, 1001, HWD_NV12, 0);
    play(daemon, &of, 144, 1, HWD_AB4H, 0);
    play(daemon, &of, 60, 1, HWD_NV12, 40);
    test_seeks(daemon, &of);
    test_loop(daemon, &of);
    test_hostile(daemon, &of);
    test_slow(daemon, &of);
    for (int i = 0; i < of.count; i++) free(of.packets[i]);
}
