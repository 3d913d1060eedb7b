// SPDX-License-Identifier: MIT
// The conversion of pictures that are shown next: one at a time, by a transfer session for each size and format.
#include "output/output.h"

#include <stdio.h>

void hwdi_free_target(target *of) {
    if (!of) return;
    hwd_pool_unref(of->pool);
    free(of);
}

static void free_use(target *of) {
    if (!of) return;
    of->is_used = false;
    if (of->is_old) hwdi_free_target(of);
}

void hwdi_drop_frame(void *owner, queued *frame) {
    hwd_video_output *of = owner;
    free_use(frame->shown);
    if (frame->picture && frame->picture == of->converter.converting) of->converter.is_orphan = true;
    else hwdi_free_picture(of, frame->picture);
}

static void end_conversion(hwd_video_output *of) {
    converter *by = &of->converter;
    if (by->is_orphan) hwdi_free_picture(of, by->converting);
    by->converting = NULL;
    by->into = NULL;
    by->is_orphan = false;
}

void hwdi_close_converter(hwd_video_output *of) {
    converter *by = &of->converter;
    hwd_session_info info;
    HWD_INIT(info);
    if (by->session && hwd_get_info(by->session, &info) == 0) by->restarts += info.restart_count;
    hwd_destroy(by->session);
    by->session = NULL;
    free_use(by->into);
    if (by->converting) end_conversion(of);
    for (int i = 0; i < MAX_TARGETS; i++) {
        target *each = by->targets[i];
        by->targets[i] = NULL;
        if (each && each->is_used) each->is_old = true;
        else hwdi_free_target(each);
    }
    for (int i = 0; i < MAX_SOURCES; i++) hwd_pool_unref(by->sources[i].pool);
    memset(by->sources, 0, sizeof by->sources);
}

static int create(hwd_video_output *of, const hwd_event *picture) {
    converter *by = &of->converter;
    hwdi_close_converter(of);
    hwd_transfer_config config;
    HWD_INIT(config);
    config.width = picture->width, config.height = picture->height;
    config.source.pixel_format = picture->pixel_format;
    config.target = of->config.target;
    config.options = of->config.transfer_options;
    int result = hwd_transfer_create(of->daemon, &config, &by->session);
    if (result < 0) return result;
    by->width = picture->width, by->height = picture->height, by->pixel_format = picture->pixel_format;
    return 0;
}

// The number of a picture's memory in the session.
static int source_number(converter *by, hwd_pool *pool) {
    for (int i = 0; i < MAX_SOURCES; i++)
        if (by->sources[i].pool == pool) return by->sources[i].number;
    struct source_pool *place = &by->sources[by->next_source];
    by->next_source = (by->next_source + 1) % MAX_SOURCES;
    if (place->pool) {
        int result = hwd_remove_pool(by->session, place->number, HWD_DEFAULT_TIMEOUT);
        if (result < 0) return result;
        hwd_pool_unref(place->pool);
        place->pool = NULL;
    }
    int number = hwd_add_pool(by->session, pool, HWD_DEFAULT_TIMEOUT);
    if (number > 0) place->pool = hwd_pool_ref(pool), place->number = number;
    return number;
}

static int make_target(hwd_video_output *of, target *made) {
    converter *by = &of->converter;
    uint64_t size;
    made->width = by->width, made->height = by->height;
    int result = hwd_layout(of->config.target.pixel_format, made->width, made->height, 0, made->planes, &size);
    if (result < 0) return result;
    made->plane_count = (uint32_t)result;
    if ((result = hwd_pool_create(size, &made->pool)) < 0) return result;
    for (uint32_t i = 0; i < made->plane_count; i++) made->planes[i].data = (uint8_t *)hwd_pool_data(made->pool) + made->planes[i].offset;
    return made->number = hwd_add_pool(by->session, made->pool, HWD_DEFAULT_TIMEOUT);
}

// 1: `found` is free; 0: all are used.
static int free_target(hwd_video_output *of, target **found) {
    for (uint32_t i = 0; i < of->config.max_frames; i++) {
        target **place = &of->converter.targets[i];
        if (*place && (*place)->is_used) continue;
        if (!*place) {
            target *made = calloc(1, sizeof *made);
            if (!made) return hwdi_fail_errno(ENOMEM, "a frame");
            int result = make_target(of, made);
            if (result < 0) {
                hwdi_free_target(made);
                return result;
            }
            *place = made;
        }
        *found = *place;
        return 1;
    }
    return 0;
}

static int submit(hwd_video_output *of, hwd_event *picture) {
    converter *by = &of->converter;
    bool is_other = picture->width != by->width || picture->height != by->height || picture->pixel_format != by->pixel_format;
    int result = !by->session || is_other ? create(of, picture) : 0;
    target *into = NULL;
    if (result == 0) result = free_target(of, &into);
    if (result <= 0) return result;
    hwd_transfer frame;
    HWD_INIT(frame);
    frame.flags = HWD_HAS_COLOR, frame.color = picture->color;
    int number = source_number(by, picture->pool);
    if (number < 0) return number;
    frame.source_pool = (uint32_t)number, frame.target_pool = (uint32_t)into->number;
    frame.source_plane_count = picture->plane_count, frame.target_plane_count = into->plane_count;
    memcpy(frame.source, picture->planes, sizeof frame.source);
    memcpy(frame.target, into->planes, sizeof frame.target);
    if ((result = hwd_transfer_submit(by->session, &frame, HWD_DEFAULT_TIMEOUT)) < 0) return result;
    into->is_used = true;
    by->converting = picture, by->into = into;
    return 1;
}

static queued *find(hwd_video_output *of, const hwd_event *picture) {
    for (int i = 0; i < of->playback.count; i++)
        if (of->playback.frames[i].picture == picture) return &of->playback.frames[i];
    return NULL;
}

static void fail(queued *frame, int status, const char *reason) {
    if (!frame) return;
    frame->status = status;
    snprintf(frame->reason, sizeof frame->reason, "%s", reason ? reason : "");
}

// Takes the answer, if it has come.
static int receive(hwd_video_output *of) {
    converter *by = &of->converter;
    hwd_event event;
    HWD_INIT(event);
    int result;
    while (by->converting && (result = hwd_next_event(by->session, &event, 0)) != 0) {
        if (result < 0) return result;
        if (event.type == HWD_EVENT_TRANSFERRED) {
            queued *frame = by->is_orphan ? NULL : find(of, by->converting);
            if (event.status < 0) fail(frame, event.status, event.reason);
            else if (frame) frame->shown = by->into;
            of->playback.counts.converted += event.status == 0;
            if (!frame || event.status < 0) free_use(by->into);
            end_conversion(of);
        }
        hwd_release(by->session, &event);
    }
    return 0;
}

int hwdi_convert(hwd_video_output *of, int64_t host) {
    if (!of->config.target.pixel_format) return 0;
    int result = receive(of);
    if (result < 0 || of->converter.converting) return result;
    queued *found[2];
    int count = hwdi_expected(&of->playback, host, found);
    for (int i = 0; i < count; i++) {
        if (found[i]->shown || found[i]->status < 0) continue;
        result = submit(of, found[i]->picture);
        if (result < 0) fail(found[i], result, hwd_last_error());
        return 0;
    }
    return 0;
}
