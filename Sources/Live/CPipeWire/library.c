// SPDX-License-Identifier: GPL-2.0-or-later
#include "CHWDPipeWire.h"

#include <pipewire/pipewire.h>
#include <pthread.h>

static void prepare(void) { pw_init(NULL, NULL); }

bool hwd_pipewire_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, prepare) == 0;
}
