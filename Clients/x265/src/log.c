// SPDX-License-Identifier: GPL-2.0-or-later
#include "preload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE_SIZE = 1024 };

// Texts of daemons and drivers must not control the terminal: C0 and C1 control characters and bytes that begin no
// character of UTF-8 become '?'.
static void clean(char *text) {
    unsigned char *at = (unsigned char *)text;
    while (*at) {
        int more = *at < 0x80 ? 0 : *at >= 0xC2 && *at < 0xE0 ? 1 : *at >= 0xE0 && *at < 0xF0 ? 2 : *at >= 0xF0 && *at < 0xF5 ? 3 : -1;
        bool whole = more >= 0;
        for (int i = 1; whole && i <= more; i++) whole = (at[i] & 0xC0) == 0x80;
        bool control = *at < 0x20 || *at == 0x7F || (*at == 0xC2 && at[1] < 0xA0);
        if (!whole || control) {
            *at++ = '?';
        } else {
            at += more + 1;
        }
    }
}

static void write_line(const char *prefix, const char *format, va_list arguments) {
    char line[LINE_SIZE];
    int length = snprintf(line, sizeof line, "%s", prefix);
    vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    clean(line);
    // One call, so that lines of several threads stay whole.
    size_t size = strlen(line);
    line[size++] = '\n';
    if (write(STDERR_FILENO, line, size) < 0) return;
}

bool is_logging(void) {
    const char *wanted = getenv("HWDAEMON_X265_LOG");
    return wanted && *wanted && strcmp(wanted, "0") != 0;
}

void log_choice(const char *format, ...) {
    if (!is_logging()) return;
    va_list arguments;
    va_start(arguments, format);
    write_line("hwdaemon-x265: ", format, arguments);
    va_end(arguments);
}

void log_error(const x265_param *param, const char *format, ...) {
    if (param->logLevel < X265_LOG_ERROR && !is_logging()) return;
    va_list arguments;
    va_start(arguments, format);
    write_line("hwdaemon-x265 [error]: ", format, arguments);
    va_end(arguments);
}

int refuse(char reason[REASON_SIZE], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, REASON_SIZE, format, arguments);
    va_end(arguments);
    return -1;
}
