// SPDX-License-Identifier: MIT
// What a decoder remembers of packets beyond their pictures. A worker checks packets; this code only looks into them.
#include "replay/packets.h"

enum {
    // Types of NAL units (H.265 7.4.2.2): the first that is no slice, parameter sets, SEI messages before the picture.
    FIRST_OTHER = 32, FIRST_SET = 32, LAST_SET = 34, PREFIX_SEI = 39,
    HEADER = 2, START_CODE = 3, MAX_SIZE = 1 << 20,
};

int hwdi_length_size(const uint8_t *format, size_t size) {
    // An hvcC record begins with its version, a byte stream with a zero.
    return size > 21 && format[0] == 1 ? (format[21] & 3) + 1 : 0;
}

// ---- Units that are remembered

static void remove_unit(preamble *of, size_t index) {
    of->size -= of->units[index].size;
    free(of->units[index].bytes);
    of->count--;
    memmove(&of->units[index], &of->units[index + 1], (of->count - index) * sizeof *of->units);
}

// Takes the unit's memory. The oldest are dropped where they are too many.
static void add_unit(preamble *to, struct unit added) {
    for (size_t i = 0; i < to->count; i++)
        if (to->units[i].size == added.size && !memcmp(to->units[i].bytes, added.bytes, added.size)) {
            remove_unit(to, i);
            break;
        }
    if (to->count == MAX_UNITS) remove_unit(to, 0);
    to->units[to->count++] = added;
    to->size += added.size;
    while (to->size > MAX_SIZE) remove_unit(to, 0);
}

void hwdi_move_units(preamble *to, preamble *from) {
    for (size_t i = 0; i < from->count; i++) add_unit(to, from->units[i]);
    from->count = from->size = 0;
}

void hwdi_clear_units(preamble *of) {
    while (of->count > 0) remove_unit(of, of->count - 1);
}

// ---- Packets

// An SEI message's bytes without emulation prevention (H.265 7.4.2).
typedef struct payload {
    const uint8_t *at, *end;
    int zeros;
} payload;

static int next_byte(payload *of) {
    if (of->zeros >= 2 && of->at < of->end && *of->at == 3) {
        of->at++;
        of->zeros = 0;
    }
    if (of->at == of->end) return -1;
    of->zeros = *of->at == 0 ? of->zeros + 1 : 0;
    return *of->at++;
}

// payloadType or payloadSize (H.265 7.3.5); -1 at the end.
static int64_t next_number(payload *of) {
    int64_t value = 0;
    int byte;
    while ((byte = next_byte(of)) == 0xff) value += byte;
    return byte < 0 ? -1 : value + byte;
}

// Whether an SEI NAL unit, after its header, has a message that applies until it is replaced (H.265 D.2.1, F.14.2.1): mastering
// display, content light level, preferred transfer characteristics, ambient viewing environment, alpha channel.
static bool has_lasting_message(const uint8_t *bytes, size_t size) {
    payload of = {bytes, bytes + size, 0};
    while (true) {
        int64_t type = next_number(&of), length = next_number(&of);
        // The last byte is rbsp_trailing_bits.
        if (type < 0 || length < 0 || of.at == of.end) return false;
        if (type == 137 || type == 144 || type == 147 || type == 148 || type == 165) return true;
        while (length > 0 && next_byte(&of) >= 0) length--;
    }
}

// Takes a unit from `whole` to `end`, whose header is at `unit`; false where memory ran out.
static bool take_unit(const uint8_t *whole, const uint8_t *unit, const uint8_t *end, preamble *to, found_units *found) {
    if (end - unit <= HEADER) return true;
    int type = unit[0] >> 1 & 63;
    // Pictures of other layers do not come alone.
    if (type < FIRST_OTHER && !(unit[0] & 1) && unit[1] >> 3 == 0) {
        found->has_picture = true;
        return true;
    }
    bool is_set = type >= FIRST_SET && type <= LAST_SET;
    if (!is_set && (type != PREFIX_SEI || !has_lasting_message(unit + HEADER, (size_t)(end - unit) - HEADER))) return true;
    found->has_units = true;
    if (!to) return true;
    struct unit added = {malloc((size_t)(end - whole)), (size_t)(end - whole)};
    if (!added.bytes) return false;
    memcpy(added.bytes, whole, added.size);
    add_unit(to, added);
    return true;
}

// The next three bytes 0, 0, 1; the end if there are none.
static const uint8_t *start_code(const uint8_t *at, const uint8_t *end) {
    while (end - at >= START_CODE) {
        if (at[2] > 1) at += START_CODE;
        else if (at[0] == 0 && at[1] == 0 && at[2] == 1) return at;
        else at++;
    }
    return end;
}

static bool read_byte_stream(const uint8_t *at, const uint8_t *end, preamble *to, found_units *found) {
    at = start_code(at, end);
    while (at < end && !found->has_picture) {
        const uint8_t *unit = at + START_CODE;
        // A slice ends the search: what follows it is not read.
        bool is_slice = end - unit > HEADER && (unit[0] >> 1 & 63) < FIRST_OTHER && !(unit[0] & 1) && unit[1] >> 3 == 0;
        const uint8_t *next = is_slice ? end : start_code(unit, end);
        if (!take_unit(at, unit, next, to, found)) return false;
        at = next;
    }
    return true;
}

bool hwdi_find_units(const uint8_t *packet, size_t size, int length_size, preamble *to, found_units *found) {
    const uint8_t *at = packet, *end = packet + size;
    *found = (found_units){false, false};
    if (length_size == 0) return read_byte_stream(at, end, to, found);
    while (!found->has_picture && end - at > length_size) {
        uint32_t length = 0;
        for (int i = 0; i < length_size; i++) length = length << 8 | at[i];
        const uint8_t *unit = at + length_size;
        if (length > (size_t)(end - unit)) return true;
        if (!take_unit(at, unit, unit + length, to, found)) return false;
        at = unit + length;
    }
    return true;
}
