// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into hwdaemon-encoder by the benchmark: x265 opens as usual, but encoding a frame takes no time and returns
// a constant slice. The remaining CPU time is the daemon's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <x265.h>

static x265_nal nal;
static uint8_t bytes[20004] = {0, 0, 0x4e, 0x20, NAL_UNIT_CODED_SLICE_TRAIL_R << 1, 1};

static int encode_nothing(
    x265_encoder *encoder, x265_nal **nals, uint32_t *count, x265_picture *in, x265_picture *out) {
    (void)encoder;
    *count = 0;
    if (!in) return 0;
    nal.type = NAL_UNIT_CODED_SLICE_TRAIL_R;
    nal.sizeBytes = sizeof bytes;
    nal.payload = bytes;
    *nals = &nal;
    *count = 1;
    out->pts = in->pts;
    out->userData = in->userData;
    return 1;
}

#define NAME_OF(build) "x265_api_get_" #build
#define NAME(build) NAME_OF(build)

const x265_api *x265_api_get(int depth) {
    static x265_api tables[2];
    const x265_api *(*real)(int) = (const x265_api *(*)(int))dlsym(RTLD_NEXT, NAME(X265_BUILD));
    if (!real) abort();
    const x265_api *api = real(depth);
    if (!api) return NULL;
    x265_api *table = &tables[depth == 8 ? 0 : 1];
    memcpy(table, api, sizeof *table);
    table->encoder_encode = encode_nothing;
    return table;
}
