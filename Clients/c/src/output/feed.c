// SPDX-License-Identifier: MIT
// The decompression session of an output: which packets it gets, and what becomes of its pictures.
#include "output/output.h"

enum {
    MAX_OUTSTANDING = 20, // the pictures that decoders hold back, and a few
    CREDITS_LEFT = 2,     // pictures of the decoder that stay free, so that it can work
    LEAST_AHEAD = 3, MOST_AHEAD = 64,
    LEAST_LEAD = 2,       // pictures behind the present one, where the decoder keeps up
    SEND_TIMEOUT = 20,    // ms; twice as long with each try
    MAX_TRIES = 10,
    FIRST_TRIES = 7,
};
#define MAX_LATENESS 500000000 // ns behind which decoding continues with the next key frame
#define AHEAD_TIME 100000000   // ns

void hwdi_free_picture(hwd_video_output *of, hwd_event *picture) {
    if (!picture) return;
    hwd_release(of->decoder, picture);
    free(picture);
}

static int take(hwd_video_output *of, const hwd_event *event) {
    bool gives_picture = event->type == HWD_EVENT_PICTURE || (event->type == HWD_EVENT_REPORT && (event->flags & HWD_DROPPED));
    of->outstanding -= gives_picture && of->outstanding > 0;
    if (event->type == HWD_EVENT_COMPLETED && ++of->completed == of->last_completion && of->run == of->playback.run)
        hwdi_complete_playback(&of->playback);
    if (event->type != HWD_EVENT_PICTURE || event->number <= of->last_old || of->run != of->playback.run || event->pts == HWD_NO_PTS)
        return hwd_release(of->decoder, event);
    hwd_event *picture = malloc(sizeof *picture);
    if (!picture) {
        hwd_release(of->decoder, event);
        return hwdi_fail_errno(ENOMEM, "a picture");
    }
    *picture = *event;
    hwdi_queue(&of->playback, event->pts, event->duration, picture);
    return 0;
}

static int receive(hwd_video_output *of) {
    hwd_event event;
    HWD_INIT(event);
    int result;
    while ((result = hwd_next_event(of->decoder, &event, 0)) > 0)
        if ((result = take(of, &event)) < 0) return result;
    return result;
}

// Lets the decoder return every picture; the packet behind is a key frame.
static int flush(hwd_video_output *of) {
    if (!of->is_fed) return 0;
    of->is_fed = false;
    int result = hwd_complete(of->decoder, HWD_ALL_FRAMES, HWD_DEFAULT_TIMEOUT);
    of->completions += result == 0;
    return result;
}

// The source has no more packets, or fails.
static int end_source(hwd_video_output *of, int fault) {
    of->is_read = true;
    if (fault < 0 && of->playback.counts.cut_short == 0) of->playback.counts.cut_short = fault;
    int64_t end = hwdi_span_end(of);
    if (end != NONE) hwdi_measure(&of->playback, end);
    bool was_fed = of->is_fed;
    int result = flush(of);
    if (result < 0) return result;
    if (was_fed || of->completed < of->completions) of->last_completion = of->completions;
    else hwdi_complete_playback(&of->playback);
    return 0;
}

static void clear_span(hwd_video_output *of) {
    of->span_last = of->span_before = NONE;
    of->span_duration = 0;
}

// The key frame behind a time, up to a limit; NONE.
static int64_t key_after(hwd_video_output *of, int64_t time, int64_t limit) {
    // What is decoded before a key frame is shown before it (H.265, 8.1.3 and the constraints of 7.4.2.2).
    while (hwdi_read_packet(of) > 0) {
        bool is_key = of->pending.flags & HWD_OUTPUT_KEY;
        if (of->pending.pts > limit) return NONE;
        if (is_key && of->pending.pts > time) return of->pending.pts;
        of->is_pending = false;
    }
    return NONE;
}

// Lets a seek that need not be exact land on a key frame.
static int land(hwd_video_output *of, int64_t target) {
    playback *playback = &of->playback;
    int64_t landed = of->key, tolerance = playback->tolerance;
    if (tolerance == 0) return 0;
    if (tolerance > 0 && target - of->key > tolerance) {
        landed = key_after(of, target, target + tolerance);
        int result = hwdi_seek_source(of, landed == NONE ? target : landed, &of->key);
        if (result < 0) return result;
    }
    if (landed != NONE) hwdi_land(playback, landed);
    return 0;
}

static int begin(hwd_video_output *of) {
    playback *playback = &of->playback;
    int result = flush(of);
    if (result < 0) return result;
    of->run = playback->run;
    of->last_old = of->last_number;
    of->last_completion = 0;
    of->is_read = of->skips_to_key = false;
    of->offset = (playback->loops ? hwdi_laps(playback, playback->target) : playback->lap) * playback->length;
    clear_span(of);
    int64_t target = playback->target - of->offset;
    result = hwdi_seek_source(of, target, &of->key);
    if (result == 0) result = land(of, target);
    return result < 0 ? end_source(of, result) : 0;
}

static int next_lap(hwd_video_output *of) {
    int64_t end = hwdi_span_end(of);
    if (end != NONE) hwdi_measure(&of->playback, end);
    if (!of->playback.loops || of->playback.length <= 0 || of->offset > MOST_TIME / 128) return end_source(of, 0);
    int result = flush(of);
    if (result < 0) return result;
    result = hwdi_seek_source(of, of->config.source.start, &of->key);
    if (result < 0) return end_source(of, result);
    // A source with no packet behind its start would not end.
    if (!of->is_pending || end == NONE) return end_source(of, -EINVAL);
    of->offset += of->playback.length;
    clear_span(of);
    return 0;
}

static void note_span(hwd_video_output *of) {
    const hwd_output_packet *packet = &of->pending;
    if (packet->flags & HWD_OUTPUT_HIDDEN) return;
    if (of->span_last == NONE || packet->pts > of->span_last) {
        of->span_before = of->span_last;
        of->span_last = packet->pts, of->span_duration = packet->duration;
    } else if (packet->pts < of->span_last && (of->span_before == NONE || packet->pts > of->span_before)) {
        of->span_before = packet->pts;
    }
}

// Whether the pending packet is not decoded: because it would come too late, or because what it refers to was not decoded.
static bool is_left_out(hwd_video_output *of) {
    playback *playback = &of->playback;
    const hwd_output_packet *packet = &of->pending;
    int64_t time = packet->pts + of->offset;
    if (packet->flags & HWD_OUTPUT_KEY) {
        if (of->skips_to_key) of->skips_to_key = false, of->key = packet->pts;
        return false;
    }
    if (packet->pts < of->key) return true;
    if (!playback->is_strained || playback->refresh == NONE) return false;
    bool is_free = hwdi_can_be_left_out(of);
    bool is_playing = !playback->map.is_held && playback->map.rate > 0;
    int64_t late = hwdi_map_at(&playback->map, playback->refresh) - hwdi_nanoseconds(playback, time);
    if (is_playing && late > MAX_LATENESS) of->skips_to_key = true;
    if (!of->skips_to_key && !(is_free && hwdi_lead(playback) < LEAST_LEAD)) return false;
    hwdi_skip(playback, time);
    return true;
}

static int change_format(hwd_video_output *of) {
    hwd_output_packet *pending = &of->pending;
    if (!pending->format) return 0;
    int result = hwd_change_format(of->decoder, pending->format, pending->format_size, HWD_DEFAULT_TIMEOUT);
    if (result == 0) hwdi_note_format(of, pending->format, pending->format_size);
    pending->format = NULL;
    return result;
}

// Sends the pending packet; 1: it was sent or left out, 0: it waits.
static int send_pending(hwd_video_output *of) {
    const hwd_output_packet *pending = &of->pending;
    if (of->tries == 0) {
        note_span(of);
        int result = change_format(of);
        if (result < 0) return end_source(of, result);
        if (is_left_out(of)) {
            of->is_pending = false;
            return 1;
        }
    }
    hwd_packet packet;
    HWD_INIT(packet);
    packet.data = pending->data, packet.data_size = (uint32_t)pending->data_size;
    packet.pts = pending->pts + of->offset, packet.duration = pending->duration;
    packet.flags = pending->flags & HWD_OUTPUT_HIDDEN ? HWD_DO_NOT_OUTPUT : 0;
    int tries = of->last_number == 0 ? FIRST_TRIES : of->tries;
    int result = hwd_decode(of->decoder, &packet, SEND_TIMEOUT << tries);
    if (result == -EAGAIN || result == -ETIMEDOUT) {
        of->tries = of->tries < MAX_TRIES ? of->tries + 1 : MAX_TRIES;
        return 0;
    }
    of->is_pending = false;
    if (result == HWD_PARAMETER) return end_source(of, result);
    if (result < 0) return result;
    of->last_number = packet.number;
    of->is_fed = true;
    of->outstanding += !(pending->flags & HWD_OUTPUT_HIDDEN);
    return 1;
}

// Pictures that are decoded ahead: a tenth of a second, as the decoder and the bound allow.
static int ahead(const hwd_video_output *of) {
    const playback *playback = &of->playback;
    int64_t duration = hwdi_nanoseconds(playback, of->span_duration > 0 ? of->span_duration : 0);
    int64_t rate = playback->map.is_held ? playback->map.held_rate : playback->map.rate;
    int64_t wanted = LEAST_AHEAD;
    if (duration > 0) wanted = AHEAD_TIME / duration * (rate > RATE_ONE ? 2 : 1) + 1;
    if (wanted > MOST_AHEAD) wanted = MOST_AHEAD;
    if (wanted < LEAST_AHEAD) wanted = LEAST_AHEAD;
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t size = 1;
    hwd_layout(of->info.pixel_format, of->info.width, of->info.height, 0, planes, &size);
    uint64_t bound = of->config.queue_bytes / (size ? size : 1);
    if ((uint64_t)wanted > bound) wanted = (int64_t)bound;
    int64_t credits = (int64_t)of->info.max_frames_in_flight - CREDITS_LEFT;
    if (wanted > credits) wanted = credits;
    return wanted < 2 ? 2 : (int)wanted;
}

int hwdi_feed(hwd_video_output *of) {
    int result = receive(of);
    if (result < 0) return result;
    if (of->run != of->playback.run && (result = begin(of)) < 0) return result;
    while (!of->is_read && of->outstanding < MAX_OUTSTANDING && hwdi_waiting(&of->playback) < ahead(of)) {
        result = hwdi_read_packet(of);
        if (result <= 0) result = result == 0 ? next_lap(of) : end_source(of, result);
        else if ((result = send_pending(of)) == 0) break;
        if (result < 0) return result;
        if ((result = receive(of)) < 0) return result;
    }
    return 0;
}
