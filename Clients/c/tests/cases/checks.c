// SPDX-License-Identifier: MIT
// What came back, and what the table expects of it.
#include "cases/cases.h"

static double plane_error(const hwd_event *picture, uint32_t index, int64_t frame, uint32_t width, uint32_t height) {
    const hwd_plane *plane = &picture->planes[index];
    bool high = picture->pixel_format == HWD_P010, low = picture->pixel_format == HWD_I010;
    uint64_t sum = 0;
    for (uint32_t row = 0; row < height; row++) {
        const uint8_t *bytes = plane->data + (size_t)row * plane->stride;
        for (uint32_t i = 0; i < width; i++) {
            int value = high ? bytes[2 * i + 1] : low ? (bytes[2 * i] | bytes[2 * i + 1] << 8) >> 2 : bytes[i];
            sum += (uint64_t)abs(value - sample((int)index, row, i, frame));
        }
    }
    return (double)sum / width / height;
}

static void keep_picture(runner *run, const hwd_event *event) {
    shown *kept = &run->pictures[run->picture_count++];
    kept->event = *event;
    uint32_t width = event->width < run->frame_width ? event->width : run->frame_width;
    uint32_t height = event->height < run->frame_height ? event->height : run->frame_height;
    kept->luma_error = plane_error(event, 0, event->pts / TICKS, width, height);
    if (event->plane_count == 4) kept->alpha_error = plane_error(event, 3, event->pts / TICKS, width, height);
    for (uint32_t i = 0; i < event->side_data_count; i++) {
        kept->side_data[i] = malloc(event->side_data[i].size + 1);
        memcpy(kept->side_data[i], event->side_data[i].bytes, event->side_data[i].size);
    }
}

void keep_event(runner *run, const hwd_event *event) {
    if (run->packet_count == MAX_RESULTS || run->picture_count == MAX_RESULTS || run->report_count == MAX_RESULTS ||
        run->status_count == MAX_RESULTS)
        stop("too many results");
    if (event->type == HWD_EVENT_FORMAT) {
        if (event->data_size > sizeof run->format) stop("the format description is too long");
        memcpy(run->format, event->data, event->data_size);
        run->format_size = event->data_size;
    } else if (event->type == HWD_EVENT_PACKET) {
        coded *kept = &run->packets[run->packet_count++];
        kept->event = *event;
        kept->bytes = malloc(event->data_size + 1);
        memcpy(kept->bytes, event->data, event->data_size);
    } else if (event->type == HWD_EVENT_PICTURE) {
        keep_picture(run, event);
    } else if (event->type == HWD_EVENT_REPORT) {
        run->reports[run->report_count++] = *event;
    } else if (event->type == HWD_EVENT_TRANSFERRED) {
        run->statuses[run->status_count++] = event->status;
    }
}

void forget_results(runner *run, uint32_t kind) {
    for (int i = 0; kind != HWD_DECOMPRESSION && i < run->packet_count; i++) free(run->packets[i].bytes);
    if (kind != HWD_DECOMPRESSION) run->packet_count = run->frames_sent = 0;
    for (int i = 0; i < run->picture_count; i++)
        for (int j = 0; j < HWD_MAX_SIDE_DATA; j++) {
            free(run->pictures[i].side_data[j]);
            run->pictures[i].side_data[j] = NULL;
        }
    run->picture_count = run->report_count = 0;
}

// ---- Packets

static uint32_t layers_of(const coded *packet) {
    uint32_t layers = 0;
    for (size_t at = 0; at + 6 <= packet->event.data_size;) {
        const uint8_t *unit = packet->bytes + at;
        if (unit[4] >> 1 < 32) layers |= 1u << ((unit[4] & 1) << 5 | unit[5] >> 3);
        at += 4 + ((size_t)unit[0] << 24 | (size_t)unit[1] << 16 | (size_t)unit[2] << 8 | unit[3]);
    }
    return layers;
}

static void check_packet(runner *run, json step, int index) {
    const coded *packet = &run->packets[index];
    const hwd_event *event = &packet->event;
    int64_t frame = event->pts / TICKS;
    if (event->pts % TICKS || event->duration != TICKS || event->dts > event->pts) stop("packet %d has wrong times", index);
    if (index > 0 && event->dts <= run->packets[index - 1].event.dts) stop("decode times do not rise at packet %d", index);
    for (int i = 0; i < index; i++)
        if (run->packets[i].event.pts == event->pts) stop("two packets have the pts of frame %d", (int)frame);
    if (has(step, "key_frames") && contains(step, "key_frames", frame) != ((event->flags & HWD_SYNC) != 0))
        stop("frame %d: key frame or not", (int)frame);
    if (has(step, "temporal_ids") && !contains(step, "temporal_ids", event->temporal_id))
        stop("frame %d has TemporalId %d", (int)frame, event->temporal_id);
    if (truth(step, "has_errors") != ((event->flags & HWD_HAS_ERRORS) != 0)) stop("frame %d: errors measured or not", (int)frame);
    for (int layer = 0; has(step, "layers") && layer < 32; layer++)
        if (contains(step, "layers", layer) != (layers_of(packet) >> layer & 1)) stop("frame %d has other layers", (int)frame);
}

int check_packets(runner *run, json step) {
    int base = 0;
    if (run->packet_count != integer(step, "count", -1)) stop("%d packets", run->packet_count);
    for (int i = 0; i < run->packet_count; i++) {
        check_packet(run, step, i);
        base += run->packets[i].event.temporal_id == 0;
    }
    if (base != integer(step, "base_level_count", base)) stop("%d packets of temporal level 0", base);
    json list, entry;
    size_t place = 0;
    while (hwdi_json_member(step, "contain", &list) && hwdi_json_next(list, &place, NULL, &entry)) {
        uint8_t bytes[256];
        size_t size = hex_bytes(entry, "bytes", bytes, sizeof bytes);
        bool found = false;
        for (int i = 0; i < run->packet_count; i++)
            if (run->packets[i].event.pts == integer(entry, "frame", -1) * TICKS)
                found |= memmem(run->packets[i].bytes, run->packets[i].event.data_size, bytes, size) != NULL;
        if (!found) stop("a packet lacks the bytes that it must contain");
    }
    return 0;
}

// ---- Pictures

static void check_picture(runner *run, json step, int index) {
    const shown *picture = &run->pictures[index];
    const hwd_event *event = &picture->event;
    int64_t frame = event->pts / TICKS;
    bool damaged = event->flags & HWD_DAMAGED;
    if (index > 0 && event->pts <= run->pictures[index - 1].event.pts) stop("pts do not rise at picture %d", index);
    if (event->width != integer(step, "width", event->width) || event->height != integer(step, "height", event->height))
        stop("a picture has %ux%u samples", event->width, event->height);
    if (has(step, "pixel_format") && event->pixel_format != fourcc(step, "pixel_format")) stop("a picture has another pixel format");
    if (has(step, "max_luma_error") && picture->luma_error > (double)integer(step, "max_luma_error", 0))
        stop("frame %d differs by %.2f in luma", (int)frame, picture->luma_error);
    if (has(step, "max_alpha_error") && picture->alpha_error > (double)integer(step, "max_alpha_error", 0))
        stop("frame %d differs by %.2f in alpha", (int)frame, picture->alpha_error);
    if (has(step, "has_alpha") && truth(step, "has_alpha") != ((event->flags & HWD_ALPHA) != 0)) stop("alpha of the stream or not");
    if (has(step, "premultiplied") && truth(step, "premultiplied") != ((event->flags & HWD_PREMULTIPLIED) != 0))
        stop("premultiplied or not");
    if (event->color.primaries != integer(step, "primaries", event->color.primaries) ||
        event->color.transfer != integer(step, "transfer", event->color.transfer) ||
        event->color.matrix != integer(step, "matrix", event->color.matrix))
        stop("a picture's color is %d, %d, %d", event->color.primaries, event->color.transfer, event->color.matrix);
    if (damaged && contains(step, "undamaged", frame)) stop("frame %d is damaged", (int)frame);
    if (!damaged && contains(step, "damaged", frame)) stop("frame %d is not damaged", (int)frame);
}

static void check_side_data(runner *run, json entry) {
    int64_t index = integer(entry, "picture", 0);
    uint8_t bytes[256];
    size_t size = hex_bytes(entry, "bytes", bytes, sizeof bytes);
    if (index >= run->picture_count) stop("there is no picture %d", (int)index);
    const shown *picture = &run->pictures[index];
    for (uint32_t i = 0; i < picture->event.side_data_count; i++) {
        const hwd_side_data *data = &picture->event.side_data[i];
        if (data->kind == integer(entry, "kind", 0) && data->size == size && !memcmp(picture->side_data[i], bytes, size)) return;
    }
    stop("picture %d lacks its side data", (int)index);
}

int check_pictures(runner *run, json step) {
    if (run->picture_count != integer(step, "count", run->picture_count)) stop("%d pictures", run->picture_count);
    if (run->picture_count < integer(step, "min_count", 0)) stop("%d pictures", run->picture_count);
    if (run->report_count != integer(step, "reports", run->report_count)) stop("%d reports", run->report_count);
    bool reported = false;
    for (int i = 0; i < run->picture_count; i++) check_picture(run, step, i);
    for (int i = 0; i < run->report_count; i++) {
        const hwd_event *event = &run->reports[i];
        reported |= event->status == HWD_VIDEO_DECODER_BAD_DATA;
        if (event->status != integer(step, "report_status", event->status)) stop("a report has status %d", event->status);
        if (truth(step, "above_level") && !(event->flags & HWD_ABOVE_LEVEL)) stop("a report has flags %u", event->flags);
    }
    if (truth(step, "damage_reported") && !reported) stop("no damage was reported");
    json list, entry;
    size_t place = 0;
    while (hwdi_json_member(step, "side_data", &list) && hwdi_json_next(list, &place, NULL, &entry)) check_side_data(run, entry);
    return 0;
}

// ---- Transfers

int do_transfer(runner *run, json step) {
    hwd_transfer frame;
    HWD_INIT(frame);
    uint64_t source_size, target_size;
    uint32_t width = run->info.width, height = run->info.height;
    frame.source_plane_count = (uint32_t)hwd_layout(run->info.pixel_format, width, height, 0, frame.source, &source_size);
    frame.target_plane_count = (uint32_t)hwd_layout(run->target_format, width, height, 0, frame.target, &target_size);
    if (!run->source) {
        if (hwd_pool_create(source_size, &run->source) < 0 || hwd_pool_create(target_size, &run->target) < 0) return -ENOMEM;
        run->source_number = hwd_add_pool(run->session, run->source, TIMEOUT);
        run->target_number = hwd_add_pool(run->session, run->target, TIMEOUT);
        if (run->source_number < 0 || run->target_number < 0) return run->source_number;
    }
    json list, value;
    size_t place = 0;
    uint8_t *bytes = hwd_pool_data(run->source);
    for (uint32_t i = 0; hwdi_json_member(step, "fill", &list) && hwdi_json_next(list, &place, NULL, &value); i++) {
        int64_t number = 0;
        hwdi_json_integer(value, &number);
        memset(bytes + frame.source[i].offset, (int)number, (size_t)frame.source[i].stride * frame.source[i].rows);
    }
    frame.source_pool = (uint32_t)run->source_number;
    frame.target_pool = (uint32_t)run->target_number;
    frame.flags = has(step, "color") ? HWD_HAS_COLOR : 0;
    frame.color = color_of(step);
    if (has(step, "pts")) frame.flags |= HWD_HAS_PTS;
    frame.pts = integer(step, "pts", 0);
    run->last_target = frame.target[0];
    for (int64_t count = integer(step, "count", 1); count > 0; count--) {
        int result = hwd_transfer_submit(run->session, &frame, TIMEOUT);
        if (result < 0) return result;
    }
    return 0;
}

int check_transferred(runner *run, json step) {
    json list, value;
    size_t place = 0;
    int index = 0;
    int64_t wanted = 0, tolerance = integer(step, "tolerance", 0);
    if (!hwdi_json_member(step, "statuses", &list)) stop("statuses is missing");
    for (; hwdi_json_next(list, &place, NULL, &value); index++) {
        hwdi_json_integer(value, &wanted);
        if (index >= run->status_count || run->statuses[index] != wanted) stop("result %d is not %d", index, (int)wanted);
    }
    if (index != run->status_count) stop("%d results", run->status_count);
    run->status_count = 0;
    const uint8_t *pixel = (const uint8_t *)hwd_pool_bytes(run->target) + run->last_target.offset;
    place = 0;
    for (int i = 0; hwdi_json_member(step, "pixel", &list) && hwdi_json_next(list, &place, NULL, &value); i++) {
        hwdi_json_integer(value, &wanted);
        if (llabs(pixel[i] - wanted) > tolerance) stop("byte %d of the target's first pixel is %d", i, pixel[i]);
    }
    return 0;
}
