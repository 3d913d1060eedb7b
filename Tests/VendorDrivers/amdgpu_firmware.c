// SPDX-License-Identifier: GPL-2.0-or-later
// The parameters' numbers and layouts are those of Mesa's radeon_vcn_enc.h, ac_vcn_enc.h and radeon_uvd_enc.h.
#include "amdgpu_firmware.h"

#include <string.h>

#include "journal.h"

const struct firmware_interface firmware_uvd = {
    .rate_session = 0x8, .rate_layer = 0x9, .rate_picture = 0xa, .rate_picture_by_type = 0,
    .slice_header = 0xb, .nal_unit = 0x13, .bitstream = 0x11, .feedback = 0x12, .encode = 0x08000003,
    .copy = 2, .first_slice = 3, .qp_delta = 5, .sao = ~0u, .loop_filter = ~0u, .is_uvd = true,
};
const struct firmware_interface firmware_vcn1 = {
    .rate_session = 0x6, .rate_layer = 0x7, .rate_picture = 0x8, .rate_picture_by_type = 0x1d,
    .slice_header = 0xa, .nal_unit = 0x20, .bitstream = 0xe, .feedback = 0x10, .encode = 0x01000003,
    .copy = 1, .first_slice = 0x10001, .qp_delta = 0x10003, .sao = 0x10004, .loop_filter = 0x10005,
};
const struct firmware_interface firmware_vcn2 = {
    .rate_session = 0x6, .rate_layer = 0x7, .rate_picture = 0x8, .rate_picture_by_type = 0x1d,
    .slice_header = 0xb, .nal_unit = 0xa, .bitstream = 0x12, .feedback = 0x15, .encode = 0x01000003,
    .copy = 1, .first_slice = 0x10001, .qp_delta = 0x10003, .sao = 0x10004, .loop_filter = 0x10005,
};

/// Words of a slice header's template, and its instructions.
enum { TEMPLATE_WORDS = 16, INSTRUCTIONS = 16, MAX_OUTPUT = 4096 };

/// What is being written; it ends at MAX_OUTPUT bytes.
struct output {
    uint8_t bytes[MAX_OUTPUT];
    size_t bits;
};

static void put(struct output *out, unsigned bit) {
    if (out->bits >= 8 * MAX_OUTPUT) return;
    uint8_t mask = 0x80 >> (out->bits & 7);
    uint8_t *byte = &out->bytes[out->bits++ >> 3];
    *byte = bit ? *byte | mask : *byte & ~mask;
}

static void put_bytes(struct output *out, const void *bytes, size_t count) {
    for (size_t i = 0; i < 8 * count; i++) put(out, ((const uint8_t *)bytes)[i >> 3] >> (7 - (i & 7)) & 1);
}

/// Writes a slice segment: the header after its template, and a few bytes in place of coded blocks.
static void put_slice(struct output *out, const struct firmware_interface *of, const uint32_t *words, size_t count) {
    if (count < TEMPLATE_WORDS + 2 * INSTRUCTIONS) return;
    static const uint8_t start[4] = {0, 0, 0, 1};
    put_bytes(out, start, sizeof start);
    // A template may begin with the start code itself.
    size_t taken = words[0] == 1 ? 32 : 0;
    for (size_t i = 0; i < INSTRUCTIONS; i++) {
        uint32_t kind = words[TEMPLATE_WORDS + 2 * i], bits = words[TEMPLATE_WORDS + 2 * i + 1];
        if (kind == 0) break;
        if (kind == of->first_slice || kind == of->qp_delta || kind == of->loop_filter) put(out, 1);
        if (kind == of->sao) put(out, 0), put(out, 0);
        if (kind != of->copy) continue;
        for (; bits > 0 && taken < 32 * TEMPLATE_WORDS; bits--, taken++)
            put(out, words[taken >> 5] >> (31 - (taken & 31)) & 1);
    }
    put(out, 1);
    while (out->bits & 7) put(out, 0);
    for (int i = 0; i < 16; i++) put_bytes(out, "\xa5", 1);
}

/// Reports the rates and QP bounds of a picture.
static void report_rates(const struct firmware_interface *of, uint32_t kind, const uint32_t *w, size_t count) {
    if (kind == of->rate_session && count >= 2)
        journal("{\"rate_session\":{\"method\":%u,\"vbv_level\":%u}}", w[0], w[1]);
    if (kind == of->rate_layer && count >= 5)
        journal("{\"rate_layer\":{\"target\":%u,\"peak\":%u,\"rate\":[%u,%u],\"vbv\":%u}}", w[0], w[1], w[2], w[3], w[4]);
    // Mesa 25 writes its own fields first, which newer firmware ignores.
    if (kind == of->rate_picture && count >= 7)
        journal("{\"rate_picture\":{\"qp\":%u,\"min_qp\":%u,\"max_qp\":%u,\"skip\":%u}}", w[0], w[1], w[2], w[5]);
    if (of->rate_picture_by_type && kind == of->rate_picture_by_type && count >= 9)
        journal("{\"rate_picture_by_type\":{\"qp\":[%u,%u,%u],\"min_qp\":%u,\"max_qp\":%u,\"min_qp_p\":%u,\"max_qp_p\":%u}}",
            w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
}

/// Where the picture and the report on it are to be written.
struct place {
    uint64_t address;
    uint32_t size, offset;
};

static struct place place(const uint32_t *w, size_t count) {
    if (count < 5) return (struct place){0};
    return (struct place){(uint64_t)w[1] << 32 | w[2], w[3], w[4]};
}

/// Writes the coded picture and the report that it is complete.
static void answer(
    const struct firmware_interface *of, const struct output *out, struct place picture, struct place report,
    uint8_t *(*memory)(uint64_t, uint64_t)) {
    size_t size = out->bits / 8;
    uint8_t *bytes = picture.address ? memory(picture.address + picture.offset, size) : NULL;
    uint32_t *feedback = report.address ? (uint32_t *)memory(report.address, 40) : NULL;
    if (!bytes || !feedback) return;
    memcpy(bytes, out->bytes, size);
    memset(feedback, 0, 40);
    // Word 1 or 3 is the status, word 6 the size; word 8 counts bytes to leave out.
    if (!of->is_uvd) feedback[1] = 1;
    feedback[4] = 1;
    feedback[6] = size;
    journal("{\"coded\":%zu}", size);
}

void firmware_run(
    const struct firmware_interface *of, const uint32_t *words, size_t count,
    uint8_t *(*memory)(uint64_t, uint64_t)) {
    struct output out = {.bits = 0};
    struct place picture = {0}, report = {0};
    bool encodes = false;
    for (size_t i = 0; i + 2 <= count;) {
        size_t size = words[i] / 4;
        if (size < 2 || size > count - i) break;
        uint32_t kind = words[i + 1];
        const uint32_t *w = words + i + 2;
        size_t left = size - 2;
        report_rates(of, kind, w, left);
        if (kind == of->nal_unit && left >= 2 && w[1] <= 4 * (left - 2)) {
            // The driver packs bytes into words from the most significant one.
            for (uint32_t at = 0; at < w[1]; at++) {
                uint8_t byte = w[2 + at / 4] >> (24 - 8 * (at % 4));
                put_bytes(&out, &byte, 1);
            }
        }
        if (kind == of->slice_header) put_slice(&out, of, w, left);
        if (kind == of->bitstream) picture = place(w, left);
        if (kind == of->feedback) report = place(w, left);
        if (kind == of->encode) encodes = true;
        i += size;
    }
    if (encodes) answer(of, &out, picture, report, memory);
}
