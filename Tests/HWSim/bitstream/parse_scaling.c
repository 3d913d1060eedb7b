// SPDX-License-Identifier: GPL-2.0-or-later
// Scaling lists (H.265, 7.3.4 and 7.4.5).
#include <string.h>

#include "bitstream/headers.h"

// Table 7-6.
static const uint8_t intra[64] = {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 16, 17, 16, 17, 18, 17, 18, 18, 17, 18, 21, 19, 20,
    21, 20, 19, 21, 24, 22, 22, 24, 24, 22, 22, 24, 25, 25, 27, 30, 27, 25, 25, 29, 31, 35, 35, 31, 29, 36, 41, 44, 41, 36, 47,
    54, 54, 47, 65, 70, 65, 88, 88, 115};
static const uint8_t inter[64] = {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 20, 20, 20,
    20, 20, 20, 20, 24, 24, 24, 24, 24, 24, 24, 24, 25, 25, 25, 25, 25, 25, 25, 28, 28, 28, 28, 28, 28, 33, 33, 33, 33, 33, 41,
    41, 41, 41, 54, 54, 54, 71, 71, 91};

static void default_list(struct scaling_lists *lists, int size, int matrix) {
    if (size) memcpy(lists->list[size][matrix], matrix < 3 ? intra : inter, 64);
    else memset(lists->list[0][matrix], 16, 64);
    if (size > 1) lists->dc[size - 2][matrix] = 16;
}

void default_scaling_lists(struct scaling_lists *lists) {
    for (int size = 0; size < 4; size++)
        for (int matrix = 0; matrix < 6; matrix++) default_list(lists, size, matrix);
}

static void parse_list(struct bit_reader *reader, struct scaling_lists *lists, int size, int matrix) {
    uint8_t *list = lists->list[size][matrix];
    int next = 8, count = size ? 64 : 16;
    if (size > 1) {
        next = read_se(reader) + 8;
        lists->dc[size - 2][matrix] = (uint8_t)next;
    }
    for (int i = 0; i < count; i++) {
        next = (next + read_se(reader) + 256) & 255;
        list[i] = (uint8_t)next;
    }
}

void parse_scaling_lists(struct bit_reader *reader, struct scaling_lists *lists) {
    for (int size = 0; size < 4; size++)
        for (int matrix = 0, step = size == 3 ? 3 : 1; matrix < 6; matrix += step) {
            if (read_bits(reader, 1)) {
                parse_list(reader, lists, size, matrix);
                continue;
            }
            // As another list before, or as the default.
            int from = matrix - (int)(read_ue(reader) & 7) * step;
            if (from == matrix || from < 0) {
                default_list(lists, size, matrix);
                continue;
            }
            memcpy(lists->list[size][matrix], lists->list[size][from], 64);
            if (size > 1) lists->dc[size - 2][matrix] = lists->dc[size - 2][from];
        }
}
