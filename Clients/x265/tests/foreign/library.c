// SPDX-License-Identifier: GPL-2.0-or-later
// Stands for a libx265 of another build.
int x265_encoder_encode(void *encoder, void *nals, void *count, void *in, void *out) {
    return encoder && !nals && !count && !in && !out ? 42 : -1;
}

const void *x265_api_query(int depth, int version, int *error) {
    *error = depth + version;
    return 0;
}
