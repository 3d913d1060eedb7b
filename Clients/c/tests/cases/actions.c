// SPDX-License-Identifier: MIT
// Steps that send frames and packets and fetch events.
#include "cases/cases.h"

#include <math.h>

uint8_t sample(int plane, uint32_t row, uint32_t i, int64_t frame) {
    if (plane == 0) return (uint8_t)(32 + (i + 2 * row + 4 * (uint64_t)frame) % 160);
    return plane == 3 ? (uint8_t)(2 * i) : (uint8_t)(96 + (i + row) % 64);
}

static hwd_rational time_base_of(json parameters) {
    json value;
    if (!hwdi_json_member(parameters, "time_base", &value)) stop("time_base is missing");
    return (hwd_rational){(int32_t)integer(value, "numerator", 0), (int32_t)integer(value, "denominator", 0)};
}

// A member's JSON with a NUL, which the caller frees, or NULL.
static char *object(json parameters, const char *name) {
    json value;
    return hwdi_json_member(parameters, name, &value) ? strndup(value.at, value.size) : NULL;
}

static int create_compression(runner *run, json parameters) {
    hwd_compression_config config;
    HWD_INIT(config);
    char *codec = string(parameters, "codec");
    char *specification = object(parameters, "encoder_specification"), *properties = object(parameters, "properties");
    config.codec = codec;
    config.width = run->frame_width = (uint32_t)integer(parameters, "width", 0);
    config.height = run->frame_height = (uint32_t)integer(parameters, "height", 0);
    config.pixel_format = run->frame_format = fourcc(parameters, "pixel_format");
    config.time_base = time_base_of(parameters);
    config.specification = specification;
    config.properties = properties;
    forget_results(run, HWD_COMPRESSION);
    int result = hwd_compression_create(run->daemon, &config, &run->session);
    free(codec);
    free(specification);
    free(properties);
    return result;
}

static int create_decompression(runner *run, json parameters) {
    hwd_decompression_config config;
    HWD_INIT(config);
    uint8_t other[4096];
    char *codec = string(parameters, "codec"), *format = string(parameters, "format_description");
    char *specification = object(parameters, "decoder_specification"), *properties = object(parameters, "properties");
    bool own = format && !strcmp(format, "@format");
    config.codec = codec;
    config.format = own ? run->format : other;
    config.format_size = own ? run->format_size : hex_bytes(parameters, "format_description", other, sizeof other);
    config.time_base = time_base_of(parameters);
    config.pixel_format = fourcc(parameters, "pixel_format");
    config.specification = specification;
    config.properties = properties;
    forget_results(run, HWD_DECOMPRESSION);
    int result = hwd_decompression_create(run->daemon, &config, &run->session);
    free(codec);
    free(format);
    free(specification);
    free(properties);
    return result;
}

static hwd_image image_of(json parameters, const char *name) {
    json value;
    if (!hwdi_json_member(parameters, name, &value)) stop("%s is missing", name);
    return (hwd_image){.pixel_format = fourcc(value, "pixel_format"), .primaries = string(value, "primaries"),
                       .transfer = string(value, "transfer"), .matrix = string(value, "matrix"), .range = string(value, "range"),
                       .siting = string(value, "siting"), .alpha = string(value, "alpha")};
}

static void free_image(hwd_image *image) {
    const char *texts[] = {image->primaries, image->transfer, image->matrix, image->range, image->siting, image->alpha};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((char *)texts[i]);
}

static int create_transfer(runner *run, json step, json parameters) {
    enum { MAX_TABLES = 4 };
    hwd_table tables[MAX_TABLES];
    json list, value;
    size_t place = 0;
    hwd_transfer_config config;
    HWD_INIT(config);
    char *options = object(parameters, "options"), *device = string(parameters, "device");
    config.width = (uint32_t)integer(parameters, "width", 0);
    config.height = (uint32_t)integer(parameters, "height", 0);
    config.source = image_of(parameters, "source");
    config.target = image_of(parameters, "target");
    run->target_format = config.target.pixel_format;
    config.options = options;
    config.device = device;
    config.tables = tables;
    while (hwdi_json_member(step, "tables", &list) && hwdi_json_next(list, &place, NULL, &value)) {
        char *text = config.table_count < MAX_TABLES ? hwdi_json_string(value) : NULL;
        if (!text) stop("the tables are too many, or not texts");
        tables[config.table_count++] = (hwd_table){text, strlen(text)};
    }
    int result = hwd_transfer_create(run->daemon, &config, &run->session);
    while (config.table_count > 0) free((char *)tables[--config.table_count].text);
    free_image(&config.source);
    free_image(&config.target);
    free(options);
    free(device);
    return result;
}

int do_change_effects(runner *run, json step) {
    char *effects = object(step, "effects");
    int result = hwd_change_effects(run->session, effects, has(step, "pts") ? integer(step, "pts", 0) : HWD_NEXT_FRAME, TIMEOUT);
    free(effects);
    return result;
}

int do_create(runner *run, json step) {
    json parameters;
    char *method = string(step, "method");
    if (!method || !hwdi_json_member(step, "parameters", &parameters)) stop("a create step has no parameters");
    hwd_destroy(run->session);
    run->session = NULL;
    int result = !strcmp(method, "CreateCompressionSession")     ? create_compression(run, parameters)
                 : !strcmp(method, "CreateDecompressionSession") ? create_decompression(run, parameters)
                                                                 : create_transfer(run, step, parameters);
    free(method);
    if (result < 0) return result;
    run->info.size = sizeof run->info;
    return hwd_get_info(run->session, &run->info);
}

static void fill(const hwd_frame *frame, uint32_t format, int64_t number) {
    bool wide = format == HWD_P010 || format == HWD_I010;
    for (uint32_t i = 0; i < frame->plane_count; i++) {
        const hwd_plane *plane = &frame->planes[i];
        for (uint32_t row = 0; row < plane->rows; row++) {
            uint8_t *bytes = plane->data + (size_t)row * plane->stride;
            for (uint32_t at = 0; at < plane->row_bytes / (wide ? 2 : 1); at++) {
                uint8_t value = sample((int)i, row, at, number);
                unsigned word = (unsigned)value << (format == HWD_P010 ? 8 : 2);
                if (!wide) bytes[at] = value;
                if (wide) bytes[2 * at] = (uint8_t)word, bytes[2 * at + 1] = (uint8_t)(word >> 8);
            }
        }
    }
}

int do_encode(runner *run, json step) {
    hwd_frame frame;
    HWD_INIT(frame);
    int64_t first = integer(step, "first", 0), count = integer(step, "count", 0);
    for (int64_t number = first; number < first + count; number++) {
        int result;
        while ((result = hwd_acquire_frame(run->session, &frame, 0)) == -EAGAIN) stop("no frame is free");
        if (result < 0) return result;
        fill(&frame, run->frame_format, number);
        frame.pts = number * TICKS;
        frame.duration = TICKS;
        if (contains(step, "key_frames", number)) frame.flags |= HWD_FORCE_KEY_FRAME;
        if (has(step, "color")) frame.flags |= HWD_HAS_COLOR;
        frame.color = color_of(step);
        hwd_side_data data[HWD_MAX_SIDE_DATA];
        uint8_t bytes[HWD_MAX_SIDE_DATA][64];
        json list, entry;
        size_t place = 0;
        while (hwdi_json_member(step, "side_data", &list) && hwdi_json_next(list, &place, NULL, &entry)) {
            if (integer(entry, "frame", -1) != number) continue;
            uint32_t index = frame.side_data_count++;
            uint32_t size = (uint32_t)hex_bytes(entry, "bytes", bytes[index], sizeof bytes[index]);
            data[index] = (hwd_side_data){(uint32_t)integer(entry, "kind", 0), size, bytes[index]};
        }
        frame.side_data = data;
        if ((result = hwd_encode(run->session, &frame, TIMEOUT)) < 0) return result;
        run->frames_sent++;
    }
    return 0;
}

int do_decode(runner *run, json step) {
    for (int number = 0; number < run->packet_count; number++) {
        if (contains(step, "skip", number)) continue;
        const coded *from = &run->packets[number];
        hwd_packet packet;
        HWD_INIT(packet);
        packet.pts = from->event.pts;
        packet.duration = from->event.duration;
        packet.data = from->bytes;
        packet.data_size = (uint32_t)from->event.data_size;
        if (truth(step, "synchronous")) packet.flags |= HWD_SYNCHRONOUS;
        json list, entry;
        size_t place = 0;
        while (hwdi_json_member(step, "truncate", &list) && hwdi_json_next(list, &place, NULL, &entry))
            if (integer(entry, "packet", -1) == number) packet.data_size = (uint32_t)integer(entry, "bytes", 1);
        int result = hwd_decode(run->session, &packet, TIMEOUT);
        if (result < 0) return result;
        // Pictures are few in flight: fetch what has come.
        hwd_event event;
        HWD_INIT(event);
        while (hwd_next_event(run->session, &event, 0) == 1) {
            keep_event(run, &event);
            hwd_release(run->session, &event);
        }
    }
    return 0;
}

int do_complete(runner *run, json step) {
    (void)step;
    hwd_event event;
    HWD_INIT(event);
    int result = hwd_complete(run->session, HWD_ALL_FRAMES, TIMEOUT);
    while (result >= 0) {
        result = hwd_next_event(run->session, &event, TIMEOUT);
        if (result == 0) stop("no event came in %d ms", TIMEOUT);
        if (result < 0 || event.type == HWD_EVENT_COMPLETED) break;
        keep_event(run, &event);
        result = hwd_release(run->session, &event);
    }
    return result < 0 ? result : 0;
}

int do_wait_for_end(runner *run, json step) {
    (void)step;
    hwd_event event;
    HWD_INIT(event);
    int result;
    while ((result = hwd_next_event(run->session, &event, TIMEOUT)) > 0) hwd_release(run->session, &event);
    return result;
}
