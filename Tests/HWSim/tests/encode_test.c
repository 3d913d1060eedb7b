// SPDX-License-Identifier: GPL-2.0-or-later
// Drives the encoder of the driver through libva, and has FFmpeg and libde265 decode its streams: every
// picture has to be the one that vaGetImage gave. usage: encode_test FOLDER [NAME…]
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/client.h"

static const struct scenario scenarios[] = {
    {.name = "intra", .structure = INTRA, .width = 416, .height = 240, .depth = 8, .frames = 4},
    {.name = "intra-10", .structure = INTRA, .width = 416, .height = 240, .depth = 10, .frames = 4, .hiding = true},
    {.name = "finest", .structure = P, .width = 256, .height = 144, .depth = 8, .frames = 4, .qp = 1, .references = 1},
    {.name = "finest-10", .structure = P, .width = 256, .height = 144, .depth = 10, .frames = 4, .qp = 1, .references = 1, .hiding = true},
    {.name = "coarsest", .structure = P, .width = 256, .height = 144, .depth = 8, .frames = 5, .qp = 51, .references = 1},
    {.name = "p-3-references", .structure = P, .width = 416, .height = 240, .depth = 8, .frames = 8, .references = 3,
        .temporal_mvp = true, .escaped_slices = true},
    {.name = "gpb", .structure = GPB, .width = 416, .height = 240, .depth = 8, .frames = 8, .references = 2, .hiding = true, .sao = true},
    {.name = "gpb-intel", .personality = "ihd-icl", .structure = GPB, .width = 416, .height = 240, .depth = 10,
        .frames = 8, .references = 3, .qp_delta = true, .sao = true},
    {.name = "b", .structure = B2, .width = 416, .height = 240, .depth = 8, .frames = 10, .references = 1, .cabac_init = true},
    {.name = "b-two-references", .structure = B2, .width = 416, .height = 240, .depth = 10, .frames = 10, .references = 2,
        .temporal_mvp = true, .transform_skip = true, .qp = 24},
    {.name = "levels", .structure = PYRAMID, .width = 416, .height = 240, .depth = 8, .frames = 17, .hiding = true,
        .temporal_mvp = true, .qp_delta = true},
    {.name = "open-gop", .structure = OPEN_GOP, .width = 416, .height = 240, .depth = 8, .frames = 33, .references = 1, .ffmpeg_only = true},
    {.name = "slices", .structure = B2, .width = 416, .height = 240, .depth = 8, .frames = 7, .slices = 5, .log2_ctb = 5,
        .references = 1, .sao = true, .beta_offset = 2, .tc_offset = -3},
    {.name = "slices-apart", .structure = P, .width = 416, .height = 240, .depth = 8, .frames = 5, .slices = 7, .references = 1,
        .apart = true, .qp_delta = true},
    {.name = "ctb16", .structure = P, .width = 300, .height = 170, .depth = 8, .frames = 5, .references = 1, .log2_ctb = 4, .log2_max_tb = 4,
        .qp_delta = true, .qp_delta_depth = 1, .rate_control = VA_RC_VBR, .bits_per_second = 900000},
    {.name = "ctb32-tb8", .structure = P, .width = 302, .height = 202, .depth = 10, .frames = 5, .references = 1, .log2_ctb = 5,
        .log2_max_tb = 3, .hiding = true},
    {.name = "cb16", .structure = B2, .width = 310, .height = 218, .depth = 8, .frames = 7, .references = 1, .log2_min_cb = 4},
    {.name = "cb64", .structure = P, .width = 384, .height = 256, .depth = 8, .frames = 4, .references = 1, .log2_min_cb = 6},
    {.name = "no-deblocking", .structure = P, .width = 416, .height = 240, .depth = 8, .frames = 4, .references = 1, .deblocking_off = true},
    {.name = "chroma-offsets", .structure = P, .width = 416, .height = 240, .depth = 8, .frames = 4, .references = 1, .cb_offset = 5,
        .cr_offset = -7, .qp = 36},
    {.name = "cbr", .structure = P, .width = 320, .height = 192, .depth = 8, .frames = 120, .references = 1, .qp_delta = true,
        .rate_control = VA_RC_CBR, .bits_per_second = 800000},
    {.name = "vbr-levels", .structure = PYRAMID, .width = 320, .height = 192, .depth = 8, .frames = 121, .qp_delta = true,
        .qp_delta_depth = 2, .rate_control = VA_RC_VBR, .bits_per_second = 1500000},
    {.name = "cbr-intel", .personality = "ihd-icl", .structure = GPB, .width = 320, .height = 192, .depth = 10, .frames = 120,
        .references = 1, .qp_delta = true, .rate_control = VA_RC_CBR, .bits_per_second = 2000000},
    {.name = "imported", .structure = P, .width = 320, .height = 192, .depth = 8, .frames = 5, .references = 1, .imported = true},
    {.name = "imported-10", .structure = P, .width = 302, .height = 182, .depth = 10, .frames = 5, .references = 1, .imported = true},
    {.name = "icq", .structure = P, .width = 320, .height = 192, .depth = 8, .frames = 5, .references = 1, .qp_delta = true,
        .rate_control = VA_RC_ICQ},
    {.name = "mesa22", .personality = "radeonsi-22", .flat_transforms = true, .structure = P, .width = 322, .height = 182, .depth = 8, .frames = 6, .references = 1,
        .packed_sequence_only = true},
    {.name = "mesa22-cbr", .personality = "radeonsi-22,no-derive", .flat_transforms = true, .structure = P, .width = 322, .height = 182, .depth = 10, .frames = 110,
        .references = 1, .packed_sequence_only = true, .rate_control = VA_RC_CBR, .bits_per_second = 1200000},
    {.name = "mesa25", .personality = "radeonsi-25,two-segments", .flat_transforms = true, .structure = P, .width = 322, .height = 182, .depth = 8, .frames = 6,
        .references = 1, .slices = 3},
};

static const char *const fault_names[FAULT_COUNT] = {
    "", "qp", "poc", "width", "depth", "ctb", "tb", "cu-qp-delta", "amp", "hiding", "deblocking", "sao", "type", "list", "count",
    "nal-type", "init-qp", "ctbs", "no-reference", "higher-level", "not-aligned", "no-header", "foreign-surface",
};

static const char *folder;

static bool run(const char *format, const char *a, const char *b) {
    char command[1024];
    snprintf(command, sizeof command, format, a, b);
    return system(command) == 0;
}

// FFmpeg gives NV12 or P010 as the surfaces have it; dec265 gives planes, 16-bit words of 10 bits.
static uint8_t *decode(const struct client *client, const char *stream, bool ffmpeg, size_t *size) {
    char output[512];
    bool ten = client->scenario->depth == 10;
    snprintf(output, sizeof output, "%s/decoded", folder);
    remove(output);
    if (ffmpeg && !ten) run("env -u LD_PRELOAD ffmpeg -nostdin -v error -xerror -threads 1 -i %s -f rawvideo -pix_fmt nv12 -y %s", stream, output);
    else if (ffmpeg) run("env -u LD_PRELOAD ffmpeg -nostdin -v error -xerror -threads 1 -i %s -f rawvideo -pix_fmt p010le -y %s", stream, output);
    else run("env -u LD_PRELOAD libde265-dec265 -q -o %2$s %1$s >/dev/null 2>&1", stream, output);
    FILE *file = fopen(output, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size ? *size : 1);
    if (bytes && fread(bytes, 1, *size, file) != *size) *size = 0;
    fclose(file);
    return bytes;
}

// Planes to NV12, or 10 bits low to P010.
static void interleave(const struct client *client, uint8_t *samples, uint8_t *scratch) {
    size_t luma = (size_t)client->scenario->width * (size_t)client->scenario->height, chroma = luma / 4;
    memcpy(scratch, samples, client->frame_size);
    if (client->scenario->depth == 8) {
        for (size_t i = 0; i < chroma; i++) {
            samples[luma + 2 * i] = scratch[luma + i];
            samples[luma + 2 * i + 1] = scratch[luma + chroma + i];
        }
        return;
    }
    const uint16_t *in = (const void *)scratch;
    uint16_t *out = (void *)samples;
    for (size_t i = 0; i < luma; i++) out[i] = (uint16_t)(in[i] << 6);
    for (size_t i = 0; i < chroma; i++) {
        out[luma + 2 * i] = (uint16_t)(in[luma + i] << 6);
        out[luma + 2 * i + 1] = (uint16_t)(in[luma + chroma + i] << 6);
    }
}

static bool compare(struct client *client, const char *stream, bool ffmpeg, const uint8_t *pictures) {
    size_t size = 0, frame = client->frame_size, frames = (size_t)client->scenario->frames;
    uint8_t *decoded = decode(client, stream, ffmpeg, &size), *scratch = malloc(frame);
    const char *who = ffmpeg ? "FFmpeg" : "libde265";
    bool same = decoded && scratch && size == frames * frame;
    if (!same) fprintf(stderr, "%s: %s gives %zu bytes instead of %zu\n", client->scenario->name, who, size, frames * frame);
    for (size_t i = 0; same && i < frames; i++) {
        if (!ffmpeg) interleave(client, decoded + i * frame, scratch);
        if (!memcmp(decoded + i * frame, pictures + i * frame, frame)) continue;
        fprintf(stderr, "%s: picture %zu is another in %s\n", client->scenario->name, i, who);
        same = false;
    }
    free(decoded);
    free(scratch);
    return same;
}

static double psnr(const struct client *client, const uint8_t *a, const uint8_t *b) {
    size_t count = (size_t)client->scenario->width * (size_t)client->scenario->height;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        int x = client->scenario->depth == 10 ? ((const uint16_t *)a)[i] >> 8 : a[i];
        int y = client->scenario->depth == 10 ? ((const uint16_t *)b)[i] >> 8 : b[i];
        sum += (x - y) * (x - y);
    }
    return 10 * log10(255.0 * 255 * (double)count / (sum + 1));
}

static bool run_scenario(const struct scenario *scenario) {
    struct client *client = calloc(1, sizeof *client);
    struct bytes stream = {0};
    uint8_t *pictures = NULL;
    double quality = 1000, largest = 0;
    bool passed = client && client_open(client, scenario, NULL);
    if (passed) pictures = calloc((size_t)scenario->frames, client->frame_size);
    passed = passed && pictures;
    for (int i = 0; passed && i < scenario->frames; i++) {
        size_t before = stream.count;
        int poc = client->plans[i].poc;
        passed = client_encode(client, i, &stream) == VA_STATUS_SUCCESS && poc < scenario->frames &&
                 client_picture(client, poc, pictures + (size_t)poc * client->frame_size);
        if (!passed) {
            fprintf(stderr, "%s: picture %d (POC %d) fails\n", scenario->name, i, poc);
            break;
        }
        double now = psnr(client, client->source_samples, pictures + (size_t)poc * client->frame_size);
        if (now < quality) quality = now;
        if ((double)(stream.count - before) > largest) largest = (double)(stream.count - before);
    }
    double rate = 8.0 * (double)stream.count * 30 / scenario->frames;
    if (passed) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.hevc", folder, scenario->name);
        FILE *file = fopen(path, "wb");
        passed = file && fwrite(stream.data, 1, stream.count, file) == stream.count;
        if (file) fclose(file);
        passed = passed && compare(client, path, true, pictures) &&
                 (scenario->ffmpeg_only || compare(client, path, false, pictures));
        double least = scenario->qp > 40 ? 18 : scenario->rate_control ? 24 : scenario->qp == 1 ? 44 : 30;
        if (quality < least) fprintf(stderr, "%s: only %.1f dB\n", scenario->name, quality), passed = false;
        if (scenario->frames > 100 && fabs(rate / scenario->bits_per_second - 1) > 0.15)
            fprintf(stderr, "%s: %.0f bit/s instead of %u\n", scenario->name, rate, scenario->bits_per_second), passed = false;
    }
    printf("encode_test: %-18s %3d pictures, %7.0f kbit/s, at least %.1f dB: %s\n", scenario->name, scenario->frames,
        rate / 1000, quality, !passed ? "FAILED" : scenario->ffmpeg_only ? "the same in FFmpeg (libde265 1.0.11 loses references of leading pictures)"
                                                            : "the same everywhere");
    if (client) client_close(client);
    free(client);
    free(pictures);
    bytes_free(&stream);
    return passed;
}

// A picture that contradicts itself is refused, and the next one that does not is coded.
static bool run_fault(enum fault fault) {
    struct scenario scenario = {.name = fault_names[fault], .structure = B2, .width = 192, .height = 128, .depth = 8, .frames = 4,
        .references = 1, .fault = fault, .fault_at = 1};
    if (fault >= WRONG_WIDTH && fault <= WRONG_TB) scenario.fault_at = 0;
    if (fault == WRONG_AMP) scenario.fault_at = 0;
    if (fault == HIGHER_LEVEL) scenario.structure = PYRAMID, scenario.frames = 9, scenario.fault_at = 3;
    struct client client;
    struct bytes stream = {0};
    bool passed = client_open(&client, &scenario, NULL);
    for (unsigned i = 0; passed && i < scenario.fault_at; i++) passed = client_encode(&client, (int)i, &stream) == VA_STATUS_SUCCESS;
    if (passed) passed = client_encode(&client, (int)scenario.fault_at, &stream) != VA_STATUS_SUCCESS;
    scenario.fault = NO_FAULT;
    if (passed) passed = client_encode(&client, (int)scenario.fault_at, &stream) == VA_STATUS_SUCCESS;
    if (!passed) printf("encode_test: a wrong %s is not noticed\n", scenario.name);
    client_close(&client);
    bytes_free(&stream);
    return passed;
}

// Whatever is sent, the driver lives; and then it codes what makes sense.
static bool run_rubbish(const char *personality) {
    struct scenario scenario = {.name = "rubbish", .personality = personality, .structure = P, .width = 192, .height = 128, .depth = 8,
        .frames = 2, .references = 1, .slices = 2, .qp_delta = true, .rate_control = VA_RC_VBR, .bits_per_second = 500000,
        .flat_transforms = true, .fault = RUBBISH};
    struct client *client = calloc(1, sizeof *client);
    struct bytes stream = {0};
    int refused = 0, coded = 0;
    bool passed = client && client_open(client, &scenario, NULL);
    for (int i = 0; passed && i < 240; i++) {
        stream.count = 0;
        if (client_encode(client, i % 2, &stream)) refused++;
        else coded++;
    }
    scenario.fault = NO_FAULT;
    for (int i = 0; passed && i < 2; i++) passed = client_encode(client, i, &stream) == VA_STATUS_SUCCESS;
    printf("encode_test: rubbish: %s refuses %d pictures and codes %d: %s\n", personality, refused, coded, passed ? "alive" : "FAILED");
    if (client) client_close(client);
    free(client);
    bytes_free(&stream);
    return passed && refused && coded;
}

struct worker {
    struct client client;
    struct bytes stream;
    bool passed;
};

static void *work(void *pointer) {
    struct worker *worker = pointer;
    for (int i = 0; worker->passed && i < worker->client.scenario->frames; i++)
        worker->passed = client_encode(&worker->client, i, &worker->stream) == VA_STATUS_SUCCESS;
    return NULL;
}

// Two contexts of one display, each on a thread of its own, and the same without company.
static bool run_threads(void) {
    static const struct scenario scenario = {
        .name = "threads", .structure = B2, .width = 416, .height = 240, .depth = 8, .frames = 25, .references = 1};
    struct worker *workers = calloc(3, sizeof *workers);
    pthread_t threads[2];
    bool passed = workers != NULL;
    for (int i = 0; passed && i < 3; i++)
        passed = workers[i].passed = client_open(&workers[i].client, &scenario, i ? workers[0].client.display : NULL);
    for (int i = 0; passed && i < 2; i++) passed = !pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; passed && i < 2; i++) pthread_join(threads[i], NULL);
    if (passed) work(&workers[2]);
    for (int i = 0; passed && i < 3; i++)
        passed = workers[i].passed && workers[i].stream.count == workers[2].stream.count &&
                 !memcmp(workers[i].stream.data, workers[2].stream.data, workers[2].stream.count);
    printf("encode_test: threads: %s\n", passed ? "the same streams" : "FAILED");
    for (int i = 2; workers && i >= 0; i--) {
        bytes_free(&workers[i].stream);
        client_close(&workers[i].client);
    }
    free(workers);
    return passed;
}

static bool wanted(int count, char **names, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return count == 0;
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    folder = arguments[1];
    int failed = 0, done = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (wanted(count - 2, arguments + 2, scenarios[i].name)) failed += !run_scenario(&scenarios[i]), done++;
    for (int fault = 1; fault < FAULT_COUNT; fault++)
        if (wanted(count - 2, arguments + 2, "faults")) failed += !run_fault(fault), done++;
    if (wanted(count - 2, arguments + 2, "threads")) failed += !run_threads(), done++;
    if (wanted(count - 2, arguments + 2, "rubbish"))
        failed += !run_rubbish("full") + !run_rubbish("radeonsi-25"), done += 2;
    printf("encode_test: %d of %d passed\n", done - failed, done);
    return failed || !done ? 1 : 0;
}
