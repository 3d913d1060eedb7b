// SPDX-License-Identifier: MIT
// frameDecoded: a decoded picture.
#include "replay/packets.h"

enum { PLANES = 88, PLANE_SIZE = 16 };

static void read_fields(const uint8_t *at, hwd_event *event) {
    event->number = get_64(at + 8);
    event->pts = (int64_t)get_64(at + 16);
    event->duration = (int64_t)get_64(at + 24);
    uint32_t flags = get_32(at + 36);
    // Bits 1 to 6 are HWD_DAMAGED to HWD_ALPHA_MISSING.
    event->flags = (flags & 1) | (flags & 0x7e) << 1 | (flags & 0x80 ? (uint32_t)HWD_RPU_APPLIED : 0);
    event->pixel_format = get_32(at + 40);
    event->width = get_32(at + 44);
    event->height = get_32(at + 48);
    event->clean_x = get_32(at + 52);
    event->clean_y = get_32(at + 56);
    event->clean_width = get_32(at + 60);
    event->clean_height = get_32(at + 64);
    event->color = (hwd_color){at[68], at[69], at[70], at[71] != 0, at[72], {0}};
    event->coded_bit_depth = at[73];
    event->plane_count = at[74];
    event->side_data_count = at[75];
    event->aspect.numerator = (int32_t)get_32(at + 76);
    event->aspect.denominator = (int32_t)get_32(at + 80);
}

// Side data follow the planes, without padding, up to the message's end. They stay in `bytes`, a copy of the message.
static const char *read_side_data(const uint8_t *bytes, size_t size, size_t at, hwd_event *event) {
    size_t total = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < event->side_data_count; i++) {
        if (size - at < 8) return "side data end too early";
        uint32_t kind = get_32(bytes + at), length = get_32(bytes + at + 4);
        at += 8;
        if (hwdi_side_data_size(kind) && length != hwdi_side_data_size(kind)) return "side data have the wrong size";
        if (length > size - at) return "side data end past their message";
        // A later daemon may send other kinds.
        if (kind >= HWD_MASTERING_DISPLAY && kind <= HWD_CLOSED_CAPTIONS)
            event->side_data[known++] = (hwd_side_data){kind, length, bytes + at};
        at += length;
        total += length;
    }
    event->side_data_count = known;
    if (total > MAX_SIDE_DATA_BYTES) return "side data are too large";
    return at == size ? NULL : "a message has the wrong size";
}

static const char *check_geometry(const hwd_event *event) {
    if (event->clean_width == 0 || event->clean_height == 0 ||
        (uint64_t)event->clean_x + event->clean_width > event->width ||
        (uint64_t)event->clean_y + event->clean_height > event->height)
        return "a clean aperture is outside its picture";
    // 1 : 0 has no meaning; 0 : 1 is unspecified.
    if (event->aspect.denominator < 1 || event->aspect.numerator < 0) return "a picture has an impossible aspect ratio";
    return NULL;
}

static const char *read_picture(hwd_session *session, item *made, size_t size) {
    const uint8_t *bytes = made->bytes;
    hwd_event *event = &made->event;
    read_fields(bytes, event);
    if (get_32(bytes + 84)) return "a reserved field is not zero";
    if (event->number == 0 || event->number >= session->decoding->next) return "a picture is of a packet that was never sent";
    if (event->plane_count > HWD_MAX_PLANES || event->side_data_count > HWD_MAX_SIDE_DATA ||
        size < PLANES + (size_t)PLANE_SIZE * event->plane_count)
        return "a picture's message has the wrong size";
    for (uint32_t i = 0; i < event->plane_count; i++) {
        const uint8_t *plane = bytes + PLANES + PLANE_SIZE * i;
        event->planes[i].offset = get_64(plane);
        event->planes[i].stride = get_32(plane + 8);
        if (get_32(plane + 12)) return "a reserved field is not zero";
    }
    arena *found = session->arenas;
    while (found && found->number != get_32(bytes + 32)) found = found->next;
    if (!found) return "a picture is in no arena";
    const char *fault = hwdi_check_planes(
        event->pixel_format, event->width, event->height, event->planes, event->plane_count, found->memory->size);
    if (!fault) fault = check_geometry(event);
    if (!fault) fault = read_side_data(bytes, size, PLANES + (size_t)PLANE_SIZE * event->plane_count, event);
    if (fault) return fault;
    made->memory = hwd_pool_ref(found->memory);
    event->pool = made->memory;
    for (uint32_t i = 0; i < event->plane_count; i++)
        event->planes[i].data = (uint8_t *)made->memory->bytes + event->planes[i].offset;
    return NULL;
}

void hwdi_handle_picture(hwd_session *session, message *received) {
    if (session->held_by_client >= session->info.max_frames_in_flight)
        return hwdi_broken(session, "it sent more pictures than its credits allow");
    item *made = hwdi_new_item(session, HWD_EVENT_PICTURE);
    if (!made) return;
    made->bytes = malloc(received->size);
    if (!made->bytes) {
        hwdi_free_item(made);
        hwdi_end(session, HWD_ALLOCATION_FAILED, "no memory for a picture's description");
        return;
    }
    memcpy(made->bytes, received->payload, received->size);
    made->size = received->size;
    made->remote = get_64(made->bytes);
    const char *fault = read_picture(session, made, received->size);
    if (fault) {
        hwdi_free_item(made);
        hwdi_broken(session, fault);
        return;
    }
    session->held_by_client++;
    if (hwdi_take_picture(session, made->event.number, made->event.flags & HWD_SYNC)) return hwdi_push(session, made);
    hwdi_release_later(session, made->remote);
    hwdi_free_item(made);
}
