// SPDX-License-Identifier: GPL-2.0-or-later
// SEI messages that an app adds to a picture (x265_picture.userSEI), each as a NAL unit of its own.
#include "session.h"

#include <stdlib.h>

enum { MAX_MESSAGES = 64, MAX_MESSAGE_SIZE = 1 << 20, HASH_MESSAGE = 132 };

static size_t put_coded(uint8_t *to, uint32_t value) {
    size_t size = 0;
    for (; value >= 255; value -= 255) to[size++] = 255;
    to[size++] = (uint8_t)value;
    return size;
}

// Writes a NAL unit's payload with emulation prevention bytes (H.265 7.4.2).
static size_t put_escaped(uint8_t *to, const uint8_t *from, size_t size) {
    size_t written = 0;
    int zeros = 0;
    for (size_t i = 0; i < size; i++) {
        if (zeros == 2 && from[i] <= 3) {
            to[written++] = 3;
            zeros = 0;
        }
        to[written++] = from[i];
        zeros = from[i] ? 0 : zeros + 1;
    }
    return written;
}

// Appends one message (H.265 7.3.2.4, 7.3.5); its temporal id is set when the packet's is known.
static bool add_message(units *to, const x265_sei_payload *message) {
    size_t size = (size_t)message->payloadSize;
    size_t bound = size + size / 255 + (size_t)message->payloadType / 255 + 8;
    uint8_t *plain = malloc(bound), *bytes = realloc(to->bytes, to->size + 6 + 2 * bound);
    if (bytes) to->bytes = bytes;
    if (!plain || !bytes) {
        free(plain);
        return false;
    }
    size_t length = put_coded(plain, (uint32_t)message->payloadType);
    length += put_coded(plain + length, (uint32_t)size);
    memcpy(plain + length, message->payload, size);
    length += size;
    plain[length++] = 0x80;
    uint8_t *unit = to->bytes + to->size;
    unit[4] = NAL_UNIT_PREFIX_SEI << 1;
    unit[5] = 1;
    uint32_t total = (uint32_t)(2 + put_escaped(unit + 6, plain, length));
    for (int i = 0; i < 4; i++) unit[i] = (uint8_t)(total >> (24 - 8 * i));
    to->size += 4 + total;
    free(plain);
    return true;
}

bool are_messages_valid(const x265_sei *sei) {
    if (sei->numPayloads <= 0 || !sei->payloads) return true;
    if (sei->numPayloads > MAX_MESSAGES) return false;
    for (int i = 0; i < sei->numPayloads; i++) {
        const x265_sei_payload *message = &sei->payloads[i];
        if (message->payloadSize < 0 || message->payloadSize > MAX_MESSAGE_SIZE || (int)message->payloadType < 0 || !message->payload)
            return false;
    }
    return true;
}

bool make_messages(const x265_sei *sei, units *out) {
    *out = (units){0};
    if (sei->numPayloads <= 0 || !sei->payloads) return true;
    for (int i = 0; i < sei->numPayloads; i++) {
        // A hash of libx265's own reconstruction cannot be an app's.
        if ((int)sei->payloads[i].payloadType == HASH_MESSAGE) continue;
        if (!add_message(out, &sei->payloads[i])) {
            free(out->bytes);
            *out = (units){0};
            return false;
        }
    }
    return true;
}
