// SPDX-License-Identifier: GPL-2.0-or-later
// Reads over the video usability information and its HRD parameters (H.265, E.2), only to know where they end.
#include "bitstream/headers.h"

static void sub_layer_hrd(struct bit_reader *reader, uint32_t buffers, bool sub_pictures) {
    for (uint32_t i = 0; i < buffers && !reader->overrun; i++) {
        for (int value = 0; value < (sub_pictures ? 4 : 2); value++) read_ue(reader);
        read_bits(reader, 1);
    }
}

static void hrd(struct bit_reader *reader, int sub_layers) {
    bool nal = read_bits(reader, 1), vcl = read_bits(reader, 1), sub_pictures = false;
    if (nal || vcl) {
        sub_pictures = read_bits(reader, 1);
        if (sub_pictures) skip_bits(reader, 19);
        skip_bits(reader, 8);
        if (sub_pictures) skip_bits(reader, 4);
        skip_bits(reader, 15);
    }
    for (int i = 0; i < sub_layers; i++) {
        bool fixed = read_bits(reader, 1), within = true, low_delay = false;
        uint32_t buffers = 1;
        if (!fixed) within = read_bits(reader, 1);
        if (within) read_ue(reader);
        else low_delay = read_bits(reader, 1);
        if (!low_delay) buffers = read_ue(reader) + 1;
        if (nal) sub_layer_hrd(reader, buffers, sub_pictures);
        if (vcl) sub_layer_hrd(reader, buffers, sub_pictures);
    }
}

bool parse_vui(struct bit_reader *reader, int sub_layers) {
    if (read_bits(reader, 1) && read_bits(reader, 8) == 255) skip_bits(reader, 32);  // sample aspect ratio
    if (read_bits(reader, 1)) read_bits(reader, 1);                                  // overscan
    if (read_bits(reader, 1)) {                                                      // video signal type
        skip_bits(reader, 4);
        if (read_bits(reader, 1)) skip_bits(reader, 24);
    }
    if (read_bits(reader, 1)) read_ue(reader), read_ue(reader);  // chroma location
    skip_bits(reader, 3);
    if (read_bits(reader, 1))  // default display window
        for (int i = 0; i < 4; i++) read_ue(reader);
    if (read_bits(reader, 1)) {  // timing
        skip_bits(reader, 64);
        if (read_bits(reader, 1)) read_ue(reader);
        if (read_bits(reader, 1)) {
            hrd(reader, sub_layers);
        }
    }
    if (read_bits(reader, 1)) {  // bitstream restriction
        skip_bits(reader, 3);
        for (int i = 0; i < 5; i++) read_ue(reader);
    }
    return !reader->overrun;
}
