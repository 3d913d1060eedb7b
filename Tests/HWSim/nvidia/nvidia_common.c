// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvidia/nvidia_common.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct personality personality;
static bool is_known;

void log_fault(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "hwsim: %s\n", text);
}

static void read_personality(void) {
    char message[128];
    const char *words = getenv("HWSIM_PERSONALITY");
    is_known = personality_read(&personality, words, message, sizeof message);
    if (!is_known) log_fault("HWSIM_PERSONALITY: %s", message);
}

const struct personality *nvidia_personality(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_personality);
    return is_known ? &personality : NULL;
}

void hang_forever(void) {
    for (;;) pause();
}
