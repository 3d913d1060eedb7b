// SPDX-License-Identifier: GPL-2.0-or-later
// Bits in and out, and the bytes that NAL units are made of.
#include "bitstream/bits.h"

#include <stdlib.h>
#include <string.h>

struct bit_reader bit_reader_of(const uint8_t *bytes, size_t bits) {
    return (struct bit_reader){.bytes = bytes, .bits = bits};
}

uint32_t read_bits(struct bit_reader *reader, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) {
        value <<= 1;
        if (reader->position >= reader->bits) {
            reader->overrun = true;
            continue;
        }
        value |= (reader->bytes[reader->position >> 3] >> (7 - (reader->position & 7))) & 1;
        reader->position++;
    }
    return value;
}

uint32_t read_ue(struct bit_reader *reader) {
    int zeros = 0;
    while (!read_bits(reader, 1)) {
        if (reader->overrun || ++zeros > 31) {
            reader->overrun = true;
            return 0;
        }
    }
    return zeros ? ((1u << zeros) - 1) + read_bits(reader, zeros) : 0;
}

int32_t read_se(struct bit_reader *reader) {
    uint32_t code = read_ue(reader);
    return code & 1 ? (int32_t)((code >> 1) + 1) : -(int32_t)(code >> 1);
}

void skip_bits(struct bit_reader *reader, size_t count) {
    if (count > reader->bits - reader->position) {
        reader->overrun = true;
        reader->position = reader->bits;
    } else {
        reader->position += count;
    }
}

bool bytes_reserve(struct bytes *bytes, size_t count) {
    if (bytes->failed) return false;
    if (bytes->capacity - bytes->count >= count) return true;
    size_t capacity = bytes->capacity ? bytes->capacity * 2 : 4096;
    while (capacity - bytes->count < count) capacity *= 2;
    uint8_t *data = realloc(bytes->data, capacity);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void bytes_append(struct bytes *bytes, const void *data, size_t count) {
    if (!count || !bytes_reserve(bytes, count)) return;
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void write_bits(struct bit_writer *writer, int count, uint32_t value) {
    for (int i = count - 1; i >= 0; i--) {
        writer->pending = (writer->pending << 1) | ((value >> i) & 1);
        if (++writer->pending_bits == 8) {
            uint8_t byte = (uint8_t)writer->pending;
            bytes_append(writer->bytes, &byte, 1);
            writer->pending = 0;
            writer->pending_bits = 0;
        }
    }
}

void write_ue(struct bit_writer *writer, uint32_t value) {
    int bits = 0;
    while (((uint64_t)value + 1) >> (bits + 1)) bits++;
    write_bits(writer, bits, 0);
    write_bits(writer, 1, 1);
    write_bits(writer, bits, (uint32_t)((uint64_t)value + 1 - (1ull << bits)));
}

void write_se(struct bit_writer *writer, int32_t value) {
    write_ue(writer, value > 0 ? 2 * (uint32_t)value - 1 : 2 * (uint32_t)-value);
}

void write_trailing_bits(struct bit_writer *writer) {
    write_bits(writer, 1, 1);
    while (writer->pending_bits) write_bits(writer, 1, 0);
}

void append_escaped(struct bytes *bytes, const uint8_t *data, size_t count, int *zeros) {
    // At most one byte more for every two.
    if (!bytes_reserve(bytes, count + count / 2 + 1)) return;
    uint8_t *out = bytes->data + bytes->count;
    int run = *zeros;
    for (size_t i = 0; i < count; i++) {
        if (run >= 2 && data[i] <= 3) {
            *out++ = 3;
            run = 0;
        }
        *out++ = data[i];
        run = data[i] ? 0 : run + 1;
    }
    *zeros = run;
    bytes->count = (size_t)(out - bytes->data);
}

size_t unescape(uint8_t *out, const uint8_t *data, size_t count) {
    size_t written = 0;
    int zeros = 0;
    for (size_t i = 0; i < count; i++) {
        if (zeros >= 2 && data[i] == 3) {
            zeros = 0;
            continue;
        }
        out[written++] = data[i];
        zeros = data[i] ? 0 : zeros + 1;
    }
    return written;
}
