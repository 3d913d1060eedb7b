// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_BITS_H
#define HWSIM_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the syntax elements of an RBSP. Bits past its end read as 0 and sets `overrun`.
struct bit_reader {
    const uint8_t *bytes;
    size_t bits, position;
    bool overrun;
};

struct bit_reader bit_reader_of(const uint8_t *bytes, size_t bits);
uint32_t read_bits(struct bit_reader *, int count);  // u(count), count <= 32
uint32_t read_ue(struct bit_reader *);               // ue(v)
int32_t read_se(struct bit_reader *);                // se(v)
void skip_bits(struct bit_reader *, size_t count);

// Bytes that grow. When there is no memory, `failed` is set and nothing is written any more.
struct bytes {
    uint8_t *data;
    size_t count, capacity;
    bool failed;
};

void bytes_append(struct bytes *, const void *data, size_t count);
void bytes_free(struct bytes *);
// Makes room for `count` more bytes; false (and failed) when there is none.
bool bytes_reserve(struct bytes *, size_t count);

// Writes syntax elements, bit by bit, to the end of `bytes`.
struct bit_writer {
    struct bytes *bytes;
    uint32_t pending;
    int pending_bits;
};

void write_bits(struct bit_writer *, int count, uint32_t value);
void write_ue(struct bit_writer *, uint32_t value);
void write_se(struct bit_writer *, int32_t value);
void write_trailing_bits(struct bit_writer *);  // a 1, then zeros up to a byte's end

// Appends a NAL unit's bytes with emulation prevention (H.265, 7.4.2). `zeros` carries the run of zero bytes from one
// part of a NAL unit to the next; it begins as 0.
void append_escaped(struct bytes *, const uint8_t *data, size_t count, int *zeros);
// Removes emulation prevention bytes: `out` has room for `count`. Returns how many bytes are left.
size_t unescape(uint8_t *out, const uint8_t *data, size_t count);

#endif
