// SPDX-License-Identifier: MIT
// The functions of hwdaemon-output.h.
#include "output/output.h"

#include <poll.h>
#include <stdio.h>

enum { MAX_FRAMES = 4, MOST_WAIT = 20, NANOSECONDS = 1000000 };
#define QUEUE_BYTES ((uint64_t)256 << 20)

static int check_config(hwd_output_config *given) {
    const hwd_output_source *source = &given->source;
    if (!source->next || !source->seek || !source->format) return hwdi_fail(-EINVAL, "an output's source lacks a function or its format");
    if (source->time_base.numerator <= 0 || source->time_base.denominator <= 0)
        return hwdi_fail(HWD_PARAMETER, "the source's time base is not possible");
    if (source->start <= -TIME_BOUND / 2 || source->start >= TIME_BOUND / 2) return hwdi_fail(HWD_PARAMETER, "the source's start is not possible");
    if (given->max_frames == 0) given->max_frames = MAX_FRAMES;
    if (given->max_frames < 2 || given->max_frames > MAX_TARGETS) return hwdi_fail(HWD_PARAMETER, "max_frames is 2 to %d", MAX_TARGETS);
    if (given->display_interval < 0 || given->display_interval > 1000 * (int64_t)NANOSECONDS)
        return hwdi_fail(HWD_PARAMETER, "a display's interval is 0 to 1 s");
    if (given->queue_bytes == 0) given->queue_bytes = QUEUE_BYTES;
    if (given->target.reserved || given->loops > 1) return hwdi_fail(HWD_PARAMETER, "an unknown option is set");
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t size;
    return given->target.pixel_format ? hwd_layout(given->target.pixel_format, 2, 2, 0, planes, &size) : 0;
}

static int copy_texts(hwd_video_output *of) {
    hwd_image *target = &of->config.target;
    const char **texts[] = {&target->primaries, &target->transfer, &target->matrix, &target->range,
                            &target->siting, &target->alpha, &of->config.transfer_options};
    for (int i = 0; i <= TARGET_TEXTS; i++) {
        if (!*texts[i]) continue;
        of->texts[i] = strdup(*texts[i]);
        if (!of->texts[i]) return hwdi_fail_errno(ENOMEM, "strdup");
        *texts[i] = of->texts[i];
    }
    return 0;
}

static int create_decoder(hwd_video_output *of) {
    const hwd_output_config *from = &of->config;
    hwd_decompression_config config;
    HWD_INIT(config);
    config.format = from->source.format, config.format_size = from->source.format_size;
    config.time_base = from->source.time_base;
    config.specification = from->specification, config.properties = from->properties;
    int result = hwd_decompression_create(of->daemon, &config, &of->decoder);
    if (result < 0) return result;
    hwdi_note_format(of, config.format, config.format_size);
    of->config.source.format = NULL;
    of->config.specification = of->config.properties = NULL;
    HWD_INIT(of->info);
    return hwd_get_info(of->decoder, &of->info);
}

int hwd_output_open(hwd_daemon *daemon, const hwd_output_config *config, hwd_video_output **output) {
    if (!daemon || !output) return hwdi_fail(-EINVAL, "an output needs a daemon and a pointer");
    *output = NULL;
    hwd_output_config given;
    int result = hwdi_take(&given, sizeof given, config);
    if (result < 0 || (result = check_config(&given)) < 0) return result;
    hwd_video_output *made = calloc(1, sizeof *made);
    if (!made) return hwdi_fail_errno(ENOMEM, "an output");
    made->daemon = daemon, made->config = given;
    made->span_last = made->span_before = NONE;
    result = copy_texts(made);
    if (result == 0) result = hwdi_playback_open(&made->playback, given.source.time_base, given.source.start, given.display_interval);
    if (result == 0) result = create_decoder(made);
    if (result < 0) {
        hwd_output_close(made);
        return result;
    }
    made->playback.drop = hwdi_drop_frame, made->playback.owner = made;
    made->playback.loops = given.loops;
    *output = made;
    return 0;
}

void hwd_output_close(hwd_video_output *output) {
    if (!output) return;
    hwdi_playback_close(&output->playback);
    for (int i = 0; i < MAX_HELD_FRAMES; i++) {
        held_frame *held = &output->held[i];
        if (held->id && held->shown) held->shown->is_used = false;
        if (held->id && held->shown && held->shown->is_old) hwdi_free_target(held->shown);
        if (held->id) hwdi_free_picture(output, held->picture);
    }
    hwdi_close_converter(output);
    hwd_destroy(output->decoder);
    for (int i = 0; i <= TARGET_TEXTS; i++) free(output->texts[i]);
    free(output);
}

static int64_t within(int64_t time) {
    return time > MOST_TIME ? MOST_TIME : time < -MOST_TIME ? -MOST_TIME : time;
}

int hwd_output_play(hwd_video_output *output, double rate, int64_t host) {
    if (!output) return hwdi_fail(-EINVAL, "there is no output");
    if (!(rate >= 0 && rate <= 2))
        return hwdi_fail(HWD_PARAMETER, rate < 0 ? "an output of the C library does not play in reverse" : "a rate is 0 to 2");
    hwdi_map_set_rate(&output->playback.map, (int64_t)(rate * RATE_ONE + 0.5), within(host));
    return 0;
}

int hwd_output_pause(hwd_video_output *output, int64_t host) { return hwd_output_play(output, 0, host); }

int hwd_output_seek(hwd_video_output *output, int64_t time, int64_t tolerance) {
    if (!output) return hwdi_fail(-EINVAL, "there is no output");
    if (tolerance < HWD_OUTPUT_TO_KEY) return hwdi_fail(HWD_PARAMETER, "a tolerance of %lld ns is not possible", (long long)tolerance);
    // Ticks of pts that are possible.
    int64_t ticks = tolerance > 0 ? hwdi_ticks(&output->playback, within(tolerance)) : tolerance;
    hwdi_seek(&output->playback, within(time), ticks > TIME_BOUND ? TIME_BOUND : ticks);
    return 0;
}

int hwd_output_set_loop(hwd_video_output *output, int loops) {
    if (!output) return hwdi_fail(-EINVAL, "there is no output");
    hwdi_loop(&output->playback, loops != 0);
    return 0;
}

int64_t hwd_output_item_time(const hwd_video_output *output, int64_t host) {
    return output ? hwdi_item(&output->playback, within(host)) : 0;
}

// Does what can be done without waiting.
static int work(hwd_video_output *of, int64_t host) {
    if (of->status < 0) return hwdi_fail(of->status, "%s", of->reason);
    int result = hwdi_feed(of);
    if (result == 0) result = hwdi_convert(of, host);
    if (result >= 0) return 0;
    of->status = result;
    snprintf(of->reason, sizeof of->reason, "%s", hwd_last_error());
    return result;
}

int hwd_output_has_new_frame(hwd_video_output *output, int64_t host) {
    if (!output) return hwdi_fail(-EINVAL, "there is no output");
    int result = work(output, within(host));
    return hwdi_is_new(&output->playback, within(host), output->config.target.pixel_format != 0) ? 1 : result;
}

// Sleeps until a session has something, or a while.
static void await(hwd_video_output *of, int64_t deadline) {
    int left = deadline == INT64_MAX ? MOST_WAIT : hwdi_milliseconds_until(deadline);
    struct pollfd on[2] = {{.fd = hwd_get_fd(of->decoder), .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    if (of->converter.converting) on[1].fd = hwd_get_fd(of->converter.session);
    poll(on, 2, left < MOST_WAIT ? left : MOST_WAIT);
}

static held_frame *unused_frame(hwd_video_output *of) {
    for (int i = 0; i < MAX_HELD_FRAMES; i++)
        if (of->held[i].id == 0) return &of->held[i];
    return NULL;
}

// Hands a frame to the app; its time is that in the source.
static int give(hwd_video_output *of, held_frame *held, const queued *taken, hwd_output_frame *frame) {
    hwd_event *picture = taken->picture;
    const target *shown = taken->shown;
    const playback *playback = &of->playback;
    hwd_output_frame given = {.id = ++of->last_id, .duration = taken->duration, .epoch = playback->epoch, .color = picture->color};
    given.pts = taken->time - hwdi_laps(playback, taken->time) * playback->length;
    given.display_time = hwdi_nanoseconds(playback, given.pts);
    given.width = picture->width, given.height = picture->height;
    given.pixel_format = shown ? of->config.target.pixel_format : picture->pixel_format;
    given.plane_count = shown ? shown->plane_count : picture->plane_count;
    memcpy(given.planes, shown ? shown->planes : picture->planes, sizeof given.planes);
    given.pool = shown ? shown->pool : picture->pool;
    *held = (held_frame){given.id, taken->shown, shown ? NULL : picture};
    // A picture that is converted is not needed any more.
    if (shown) hwdi_free_picture(of, picture);
    return hwdi_return(frame, &given, sizeof given);
}

int hwd_output_copy_frame(hwd_video_output *output, int64_t host, int wait_ms, hwd_output_frame *frame) {
    if (!output || !frame || frame->size < sizeof frame->size) return hwdi_fail(-EINVAL, "an output or a frame is missing");
    bool converts = output->config.target.pixel_format != 0;
    int64_t deadline = wait_ms < 0 ? INT64_MAX : hwdi_deadline(wait_ms, 0);
    held_frame *held = unused_frame(output);
    if (!held) return hwdi_fail(-EAGAIN, "%d frames are held: release some", MAX_HELD_FRAMES);
    host = within(host);
    for (;;) {
        int fault = work(output, host);
        queued taken;
        bool waits = deadline == INT64_MAX || (wait_ms > 0 && hwdi_now() < deadline);
        int result = hwdi_choose(&output->playback, host, converts, waits, &taken);
        if (result == HWD_OUTPUT_FRAME) return give(output, held, &taken, frame);
        if (result < 0) {
            hwdi_drop_frame(output, &taken);
            return hwdi_fail(result, "%s", taken.reason);
        }
        if (result != HWD_OUTPUT_NOT_DECODED && result != HWD_OUTPUT_SEEKING) return result;
        if (fault < 0) return hwdi_fail(output->status, "%s", output->reason);
        if (!waits) {
            hwdi_give_up(&output->playback, result);
            return result;
        }
        await(output, deadline);
    }
}

int hwd_output_release(hwd_video_output *output, const hwd_output_frame *frame) {
    if (!output || !frame || frame->id == 0) return hwdi_fail(-EINVAL, "an output or a frame is missing");
    for (int i = 0; i < MAX_HELD_FRAMES; i++) {
        held_frame *held = &output->held[i];
        if (held->id != frame->id) continue;
        queued given = {.picture = held->picture, .shown = held->shown};
        *held = (held_frame){0};
        hwdi_drop_frame(output, &given);
        return 0;
    }
    return hwdi_fail(-EINVAL, "the frame was given back before");
}

int hwd_output_get_counts(hwd_video_output *output, hwd_output_counts *counts) {
    if (!output || !counts) return hwdi_fail(-EINVAL, "an output or its counts are missing");
    hwd_output_counts now = output->playback.counts;
    hwd_session_info info;
    HWD_INIT(info);
    now.restarts = output->converter.restarts;
    if (hwd_get_info(output->decoder, &info) == 0) now.restarts += info.restart_count;
    HWD_INIT(info);
    if (output->converter.session && hwd_get_info(output->converter.session, &info) == 0) now.restarts += info.restart_count;
    return hwdi_return(counts, &now, sizeof now);
}
