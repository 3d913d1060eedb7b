// SPDX-License-Identifier: MIT
#include "CCopies.h"
#include <stdint.h>
#include <string.h>

// A cache line. The compiler splits these vectors where the machine's are shorter.
typedef uint8_t line64 __attribute__((vector_size(64)));

static void copy(uint8_t *to, const uint8_t *from, size_t count) {
    // A line that is not overwritten whole would be fetched.
    size_t at = -(uintptr_t)to % sizeof(line64);
    if (at > count) at = count;
    memcpy(to, from, at);
    for (; at + sizeof(line64) <= count; at += sizeof(line64)) {
        line64 line;
        memcpy(&line, from + at, sizeof line);
        __builtin_nontemporal_store(line, (line64 *)(void *)(to + at));
    }
    memcpy(to + at, from + at, count - at);
}

void chwd_copy_rows(
    void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows) {
    if (row == 0 || rows == 0) return;
    if (to_stride == from_stride) {
        copy(to, from, (rows - 1) * to_stride + row);
    } else {
        for (size_t y = 0; y < rows; y++)
            copy((uint8_t *)to + y * to_stride, (const uint8_t *)from + y * from_stride, row);
    }
#if defined(__x86_64__)
    // Orders the stores before later ones, such as the message after which another process reads the rows.
    __builtin_ia32_sfence();
#endif
}
