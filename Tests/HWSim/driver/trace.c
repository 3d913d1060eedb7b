// SPDX-License-Identifier: GPL-2.0-or-later
// What tests read beside the stream: HWSIM_TRACE and HWSIM_RECON, described in README.md.
#include <stdlib.h>
#include <time.h>

#include "driver/submission.h"

uint64_t monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t table[256];

static void fill_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t entry = i;
        for (int bit = 0; bit < 8; bit++) entry = entry & 1 ? 0xedb88320u ^ entry >> 1 : entry >> 1;
        table[i] = entry;
    }
}

// CRC-32 as in zip files.
static uint32_t crc(uint32_t value, const uint8_t *bytes, size_t count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_table);
    for (size_t i = 0; i < count; i++) value = table[(value ^ bytes[i]) & 0xff] ^ value >> 8;
    return value;
}

static void put32(FILE *file, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    fwrite(bytes, 1, sizeof bytes, file);
}

static const char *mode_name(uint32_t mode, bool is_constant) {
    switch (mode) {
        case VA_RC_CQP: return "CQP";
        case VA_RC_ICQ: return "ICQ";
        default: return is_constant ? "CBR" : mode == VA_RC_QVBR ? "QVBR" : "VBR";
    }
}

void trace_firmware(struct driver *driver, const struct encode_job *job, const struct firmware *firmware) {
    if (!driver->trace) return;
    fprintf(driver->trace,
        "firmware context %x mode %s target %u peak %u buffer %u fullness %u level %u rate %u/%u qp %u-%u quality %u skips %d\n",
        job->context->object.id, mode_name(job->context->config.rate_control, firmware->is_constant), firmware->target,
        firmware->peak, firmware->buffer, firmware->fullness, firmware->level, firmware->rate_numerator,
        firmware->rate_denominator, firmware->min_qp, firmware->max_qp, firmware->quality_level, firmware->skips);
    fflush(driver->trace);
}

void trace_picture(struct driver *driver, const struct encode_job *job, uint64_t start) {
    if (!driver->trace && !driver->recon) return;
    const struct hwsim_picture *picture = &job->reconstruction->picture;
    uint32_t sum = 0xffffffff;
    size_t sample = picture->depth == 10 ? 2 : 1;
    if (driver->recon) {
        put32(driver->recon, 0x43455248);  // "HREC"
        put32(driver->recon, (uint32_t)job->poc);
        put32(driver->recon, (uint32_t)picture->width);
        put32(driver->recon, (uint32_t)picture->height);
        put32(driver->recon, (uint32_t)picture->depth);
    }
    for (int plane = 0; plane < 2; plane++) {
        int rows = plane ? (picture->height + 1) / 2 : picture->height;
        size_t line = sample * (size_t)(plane ? (picture->width + 1) / 2 * 2 : picture->width);
        for (int y = 0; y < rows; y++) {
            const uint8_t *row = picture->planes[plane] + (size_t)y * (size_t)picture->strides[plane];
            sum = crc(sum, row, line);
            if (driver->recon) fwrite(row, 1, line, driver->recon);
        }
    }
    if (driver->recon) fflush(driver->recon);
    if (!driver->trace) return;
    // The checksum takes longer than a caller does: it counts as the driver's time.
    uint64_t nanoseconds = monotonic_nanoseconds() - start;
    fprintf(driver->trace, "picture %u context %x poc %d type %s tid %d bytes %zu qp %d ns %llu crc %08x\n", job->number,
        job->context->object.id, job->poc, job->type, job->temporal_id, job->output->count, job->qp,
        (unsigned long long)nanoseconds, sum ^ 0xffffffff);
    fflush(driver->trace);
}
