// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvidia/nvenc_places.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLACES = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[PLACES];
static int files[PLACES] = {-1, -1, -1};

// Locks a byte of the file. The lock belongs to the descriptor, so that it goes with the process.
static bool take_of_all(int place) {
    const char *path = getenv("HWSIM_SESSIONS");
    if (!path || !*path) return true;
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    if (fcntl(file, F_OFD_SETLK, &byte) != 0) {
        close(file);
        return false;
    }
    files[place] = file;
    return true;
}

int places_take(void) {
    int place = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES && place < 0; i++)
        if (!taken[i] && take_of_all(i)) {
            taken[i] = true;
            place = i;
        }
    pthread_mutex_unlock(&lock);
    return place;
}

void places_leave(int place) {
    if (place < 0) return;
    pthread_mutex_lock(&lock);
    taken[place] = false;
    if (files[place] >= 0) close(files[place]);
    files[place] = -1;
    pthread_mutex_unlock(&lock);
}
