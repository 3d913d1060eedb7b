// SPDX-License-Identifier: GPL-2.0-or-later
// The arithmetic encoder (H.265, 9.3.4.3 read the other way round).
#include "coder/cabac.h"

static const uint8_t range_lps[64][4] = {
    {128, 176, 208, 240}, {128, 167, 197, 227}, {128, 158, 187, 216}, {123, 150, 178, 205}, {116, 142, 169, 195},
    {111, 135, 160, 185}, {105, 128, 152, 175}, {100, 122, 144, 166}, {95, 116, 137, 158}, {90, 110, 130, 150},
    {85, 104, 123, 142}, {81, 99, 117, 135}, {77, 94, 111, 128}, {73, 89, 105, 122}, {69, 85, 100, 116},
    {66, 80, 95, 110}, {62, 76, 90, 104}, {59, 72, 86, 99}, {56, 69, 81, 94}, {53, 65, 77, 89},
    {51, 62, 73, 85}, {48, 59, 69, 80}, {46, 56, 66, 76}, {43, 53, 63, 72}, {41, 50, 59, 69},
    {39, 48, 56, 65}, {37, 45, 54, 62}, {35, 43, 51, 59}, {33, 41, 48, 56}, {32, 39, 46, 53},
    {30, 37, 43, 50}, {29, 35, 41, 48}, {27, 33, 39, 45}, {26, 31, 37, 43}, {24, 30, 35, 41},
    {23, 28, 33, 39}, {22, 27, 32, 37}, {21, 26, 30, 35}, {20, 24, 29, 33}, {19, 23, 27, 31},
    {18, 22, 26, 30}, {17, 21, 25, 28}, {16, 20, 23, 27}, {15, 19, 22, 25}, {14, 18, 21, 24},
    {14, 17, 20, 23}, {13, 16, 19, 22}, {12, 15, 18, 21}, {12, 14, 17, 20}, {11, 14, 16, 19},
    {11, 13, 15, 18}, {10, 12, 15, 17}, {10, 12, 14, 16}, {9, 11, 13, 15}, {9, 11, 12, 14},
    {8, 10, 12, 14}, {8, 9, 11, 13}, {7, 9, 11, 12}, {7, 9, 10, 12}, {7, 8, 10, 11},
    {6, 8, 9, 11}, {6, 7, 9, 10}, {6, 7, 8, 9}, {2, 2, 2, 2},
};

static const uint8_t next_lps[64] = {
    0, 0, 1, 2, 2, 4, 4, 5, 6, 7, 8, 9, 9, 11, 11, 12, 13, 13, 15, 15, 16, 16, 18, 18, 19, 19, 21, 21, 22, 22, 23, 24,
    24, 25, 26, 26, 27, 27, 28, 29, 29, 30, 30, 30, 31, 32, 32, 33, 33, 33, 34, 34, 35, 35, 35, 36, 36, 36, 37, 37, 37,
    38, 38, 63,
};

static int clip(int low, int high, int value) { return value < low ? low : value > high ? high : value; }

void cabac_start(struct cabac *cabac, struct bytes *bytes, int init_type, int slice_qp) {
    cabac->bytes = bytes;
    cabac->low = 0;
    cabac->range = 510;
    cabac->free_bits = 23;
    cabac->held = 0;
    cabac->held_byte = 0xff;
    int qp = clip(0, 51, slice_qp);
    for (int i = 0; i < CONTEXT_COUNT; i++) {
        int value = cabac_initial_values[init_type][i];
        int slope = (value >> 4) * 5 - 45, offset = ((value & 15) << 3) - 16;
        int state = clip(1, 126, ((slope * qp) >> 4) + offset);
        cabac->contexts[i] = (uint8_t)(state <= 63 ? (63 - state) << 1 : ((state - 64) << 1) | 1);
    }
}

static void put_byte(struct cabac *cabac, uint8_t byte) {
    if (!bytes_reserve(cabac->bytes, 1)) return;
    cabac->bytes->data[cabac->bytes->count++] = byte;
}

// Moves whole bytes out of `low`. A byte of ones could still be changed by a carry: it is held, and counted.
static void move_out(struct cabac *cabac) {
    uint32_t lead = cabac->low >> (24 - cabac->free_bits);
    cabac->free_bits += 8;
    cabac->low &= 0xffffffffu >> cabac->free_bits;
    if (lead == 0xff) {
        cabac->held++;
        return;
    }
    if (cabac->held > 0) {
        uint32_t carry = lead >> 8;
        put_byte(cabac, (uint8_t)(cabac->held_byte + carry));
        for (; cabac->held > 1; cabac->held--) put_byte(cabac, (uint8_t)(0xff + carry));
    }
    cabac->held = 1;
    cabac->held_byte = (uint8_t)lead;
}

void cabac_encode(struct cabac *cabac, int context, int bin) {
    uint8_t *state = &cabac->contexts[context];
    uint32_t index = *state >> 1, lps = range_lps[index][(cabac->range >> 6) & 3];
    cabac->range -= lps;
    if (bin != (*state & 1)) {
        int shift = __builtin_clz(lps) - 23;
        cabac->low = (cabac->low + cabac->range) << shift;
        cabac->range = lps << shift;
        cabac->free_bits -= shift;
        *state = (uint8_t)((next_lps[index] << 1) | ((*state & 1) ^ (index == 0)));
    } else {
        if (index < 62) *state = (uint8_t)(*state + 2);
        if (cabac->range >= 256) return;
        cabac->low <<= 1;
        cabac->range <<= 1;
        cabac->free_bits--;
    }
    if (cabac->free_bits < 12) move_out(cabac);
}

void cabac_bypass(struct cabac *cabac, int bin) {
    cabac->low <<= 1;
    if (bin) cabac->low += cabac->range;
    cabac->free_bits--;
    if (cabac->free_bits < 12) move_out(cabac);
}

void cabac_bypass_bits(struct cabac *cabac, uint32_t value, int count) {
    while (count > 0) {
        int part = count > 8 ? 8 : count;
        count -= part;
        uint32_t bits = (value >> count) & ((1u << part) - 1);
        cabac->low = (cabac->low << part) + cabac->range * bits;
        cabac->free_bits -= part;
        if (cabac->free_bits < 12) move_out(cabac);
    }
}

void cabac_terminate(struct cabac *cabac, int bin) {
    cabac->range -= 2;
    if (bin) {
        cabac->low = (cabac->low + cabac->range) << 7;
        cabac->range = 2 << 7;
        cabac->free_bits -= 7;
    } else if (cabac->range >= 256) {
        return;
    } else {
        cabac->low <<= 1;
        cabac->range <<= 1;
        cabac->free_bits--;
    }
    if (cabac->free_bits < 12) move_out(cabac);
}

void cabac_finish(struct cabac *cabac) {
    if (cabac->low >> (32 - cabac->free_bits)) {
        put_byte(cabac, (uint8_t)(cabac->held_byte + 1));
        for (; cabac->held > 1; cabac->held--) put_byte(cabac, 0);
        cabac->low -= 1u << (32 - cabac->free_bits);
    } else {
        if (cabac->held > 0) put_byte(cabac, cabac->held_byte);
        for (; cabac->held > 1; cabac->held--) put_byte(cabac, 0xff);
    }
    struct bit_writer writer = {.bytes = cabac->bytes};
    write_bits(&writer, 24 - cabac->free_bits, cabac->low >> 8);
    write_trailing_bits(&writer);
}
