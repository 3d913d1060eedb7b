// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the video usability information, and over its HRD parameters (H.265, E.2).
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

bool parse_vui(struct bit_reader *reader, int sub_layers, struct vui *vui) {
    static const uint8_t aspects[17][2] = {{0, 0}, {1, 1}, {12, 11}, {10, 11}, {16, 11}, {40, 33}, {24, 11}, {20, 11}, {32, 11},
        {80, 33}, {18, 11}, {15, 11}, {64, 33}, {160, 99}, {4, 3}, {3, 2}, {2, 1}};
    if (read_bits(reader, 1)) {  // sample aspect ratio
        uint32_t aspect = read_bits(reader, 8);
        bool own = aspect == 255;
        if (own || aspect > 16) aspect = 0;
        vui->aspect_width = own ? (int)read_bits(reader, 16) : aspects[aspect][0];
        vui->aspect_height = own ? (int)read_bits(reader, 16) : aspects[aspect][1];
    }
    if (read_bits(reader, 1)) read_bits(reader, 1);  // overscan
    if (read_bits(reader, 1)) {                      // video signal type
        vui->video_format = (int)read_bits(reader, 3);
        vui->full_range = read_bits(reader, 1);
        if (read_bits(reader, 1)) {
            vui->primaries = (int)read_bits(reader, 8);
            vui->transfer = (int)read_bits(reader, 8);
            vui->matrix = (int)read_bits(reader, 8);
        }
    }
    if (read_bits(reader, 1)) read_ue(reader), read_ue(reader);  // chroma location
    skip_bits(reader, 3);
    if (read_bits(reader, 1))  // default display window
        for (int i = 0; i < 4; i++) read_ue(reader);
    if (read_bits(reader, 1)) {  // timing
        vui->tick = read_bits(reader, 32);
        vui->time_scale = read_bits(reader, 32);
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
