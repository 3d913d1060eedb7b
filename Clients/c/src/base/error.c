// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <stdarg.h>
#include <stdio.h>

// Plain thread-local memory: nothing to destroy when a thread ends after the library was unloaded.
static _Thread_local char last_error[1024];

int hwd_version(void) { return HWD_VERSION; }

const char *hwd_last_error(void) { return last_error; }

void hwd_free(void *memory) { free(memory); }

int hwdi_fail(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    // Arguments may be in the buffer itself.
    char reason[sizeof last_error];
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    memcpy(last_error, reason, sizeof reason);
    return status;
}

int hwdi_fail_errno(int number, const char *call) {
    char text[256];
    return hwdi_fail(-number, "%s: %s", call, strerror_r(number, text, sizeof text));
}

bool hwdi_is_status(int64_t number) { return number <= -12000 && number >= -12999; }

const char *hwd_status_name(int status) {
    static const char *const names[] = {
        "PropertyNotSupported", "PropertyReadOnly", "Parameter", "InvalidSession", "AllocationFailed",
        "PixelTransferNotSupported", "CouldNotFindVideoDecoder", "CouldNotCreateInstance", "CouldNotFindVideoEncoder",
        "VideoDecoderBadData", "VideoDecoderUnsupportedDataFormat", "VideoDecoderMalfunction", "VideoEncoderMalfunction",
        "VideoDecoderNotAvailableNow", NULL, "VideoEncoderNotAvailableNow", "FormatDescriptionChangeNotSupported",
    };
    if (status >= 0) return "Ok";
    int64_t index = -12900 - (int64_t)status;
    if (index >= 0 && index < (int64_t)(sizeof names / sizeof *names) && names[index]) return names[index];
    if (hwdi_is_status(status) || status < -4095) return "Unknown";
    const char *text = strerrordesc_np(-status);
    return text ? text : "Unknown";
}

// The length of a valid UTF-8 sequence (RFC 3629) at `at`, or 0.
static size_t sequence_length(const uint8_t *at, size_t size) {
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > size) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f))) return 0;
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))) return 0;
    return length;
}

void hwdi_printable(char *out, size_t capacity, const void *bytes, size_t size) {
    const uint8_t *in = bytes;
    size_t written = 0, read = 0;
    while (read < size) {
        size_t length = sequence_length(in + read, size - read);
        bool printable = length > 1 || (length == 1 && in[read] >= 0x20 && in[read] != 0x7f);
        size_t needed = printable ? length : 1;
        if (written + needed >= capacity) break;
        if (printable)
            memcpy(out + written, in + read, length);
        else
            out[written] = '?';
        written += needed;
        read += length ? length : 1;
    }
    out[written] = 0;
}

int hwdi_take(void *local, size_t local_size, const void *given) {
    if (!given) return hwdi_fail(-EINVAL, "a structure is missing");
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > 1 << 16)
        return hwdi_fail(-EINVAL, "a structure has no size: HWD_INIT was not used");
    const uint8_t *bytes = given;
    for (size_t i = local_size; i < size; i++)
        if (bytes[i]) return hwdi_fail(-E2BIG, "a structure sets a member that this version of the library does not know");
    memset(local, 0, local_size);
    memcpy(local, given, size < local_size ? size : local_size);
    return 0;
}

int hwdi_return(void *given, const void *local, size_t local_size) {
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > 1 << 16)
        return hwdi_fail(-EINVAL, "a structure has no size: HWD_INIT was not used");
    uint8_t *to = given;
    memset(to + sizeof size, 0, size - sizeof size);
    size_t count = size < local_size ? size : local_size;
    if (count > sizeof size) memcpy(to + sizeof size, (const uint8_t *)local + sizeof size, count - sizeof size);
    return 0;
}
