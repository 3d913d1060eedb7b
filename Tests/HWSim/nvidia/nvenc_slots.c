// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvidia/nvenc_slots.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[SLOTS];
static int files[SLOTS] = {-1, -1, -1};

// Locks a byte of the file. The lock belongs to the descriptor, so that it goes with the process.
static bool take_of_all(int slot) {
    const char *path = getenv("HWSIM_SESSIONS");
    if (!path || !*path) return true;
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    if (fcntl(file, F_OFD_SETLK, &byte) != 0) {
        close(file);
        return false;
    }
    files[slot] = file;
    return true;
}

int slots_take(void) {
    int slot = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS && slot < 0; i++)
        if (!taken[i] && take_of_all(i)) {
            taken[i] = true;
            slot = i;
        }
    pthread_mutex_unlock(&lock);
    return slot;
}

void slots_release(int slot) {
    if (slot < 0) return;
    pthread_mutex_lock(&lock);
    taken[slot] = false;
    if (files[slot] >= 0) close(files[slot]);
    files[slot] = -1;
    pthread_mutex_unlock(&lock);
}
