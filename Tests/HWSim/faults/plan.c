// SPDX-License-Identifier: GPL-2.0-or-later
// Faults that happen once each, in the order of a file that a test writes while a daemon runs: HWSIM_FAULTS names it. The
// file outlives the processes that the faults end, which a personality's own faults cannot know of.
#include "faults/plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_PLAN = 1024 };

static const char *const names[] = {
    [FAULT_CRASH] = "crash", [FAULT_HANG] = "hang", [FAULT_FAIL] = "fail", [FAULT_CORRUPT] = "corrupt",
    [FAULT_GARBAGE] = "garbage", [FAULT_SLOW] = "slow", [FAULT_GPU_RESET] = "gpu-reset", [FAULT_DECODE_CRASH] = "decode-crash",
    [FAULT_DECODE_HANG] = "decode-hang", [FAULT_DECODE_FAIL] = "decode-fail",
};

static enum planned_fault named(const char *word) {
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i])) return (enum planned_fault)i;
    return FAULT_NONE;
}

// Reads the plan; its length, or -1 where there is none.
static ssize_t read_plan(int flags, int *file, char text[LONGEST_PLAN + 1]) {
    const char *path = getenv("HWSIM_FAULTS");
    if (!path || !*path) return -1;
    *file = open(path, flags | O_CLOEXEC);
    if (*file < 0) return -1;
    ssize_t length = read(*file, text, LONGEST_PLAN);
    if (length < 0) close(*file);
    else text[length] = 0;
    return length;
}

enum planned_fault plan_take(bool decodes, unsigned picture) {
    int file;
    char text[LONGEST_PLAN + 1], word[16];
    if (read_plan(O_RDWR, &file, text) < 0) return FAULT_NONE;
    enum planned_fault fault = FAULT_NONE;
    unsigned number;
    int used = 0;
    // Resets that were taken stay as marks.
    char *first = text + strspn(text, "! \n");
    if (sscanf(first, "%15[a-z-] %u%n", word, &number, &used) == 2 && number == picture) fault = named(word);
    if ((fault >= FAULT_DECODE_CRASH) != decodes) fault = FAULT_NONE;
    if (fault) {
        // What is taken becomes blanks: a sandbox forbids to truncate.
        memset(first, ' ', (size_t)used);
        if (fault == FAULT_GPU_RESET) *first = '!';
        ssize_t size = first + used - text;
        if (lseek(file, 0, SEEK_SET) != 0 || write(file, text, (size_t)size) != size) fault = FAULT_NONE;
    }
    close(file);
    return fault;
}

unsigned plan_resets(void) {
    int file;
    char text[LONGEST_PLAN + 1];
    if (read_plan(O_RDONLY, &file, text) < 0) return 0;
    close(file);
    unsigned count = 0;
    for (const char *mark = text; *mark; mark++) count += *mark == '!';
    return count;
}
