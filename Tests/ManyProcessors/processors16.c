// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into a daemon: a machine of 16 processors, by whose number codecs choose their threads (sched_getaffinity(2)).
#include <sched.h>
#include <string.h>

enum { PROCESSORS = 16 };

__attribute__((visibility("default"))) int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    (void)process;
    memset(set, 0, size);
    for (int index = 0; index < PROCESSORS; index++) CPU_SET_S(index, size, set);
    return 0;
}
