// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <inttypes.h>
#include <stdio.h>

void hwdi_add_bytes(text *to, const char *bytes, size_t size) {
    if (to->failed) return;
    if (to->capacity - to->size <= size) {
        size_t capacity = (to->capacity + size + 1) * 2;
        char *grown = realloc(to->bytes, capacity);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->bytes = grown;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = 0;
}

void hwdi_add(text *to, const char *bytes) { hwdi_add_bytes(to, bytes, strlen(bytes)); }

void hwdi_add_string(text *to, const char *value) {
    hwdi_add(to, "\"");
    for (const char *at = value; *at; at++) {
        char escape[8];
        if (*at == '"' || *at == '\\') {
            hwdi_add_bytes(to, "\\", 1);
            hwdi_add_bytes(to, at, 1);
        } else if ((uint8_t)*at < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(uint8_t)*at);
            hwdi_add(to, escape);
        } else {
            hwdi_add_bytes(to, at, 1);
        }
    }
    hwdi_add(to, "\"");
}

void hwdi_add_number(text *to, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    hwdi_add(to, digits);
}

void hwdi_add_hex(text *to, const uint8_t *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++)
        hwdi_add_bytes(to, (const char[]){digits[bytes[i] >> 4], digits[bytes[i] & 15]}, 2);
}

static bool has_key(json object, json name) {
    size_t place = 0;
    json key, value;
    char *wanted = hwdi_json_string(name);
    bool found = false;
    while (wanted && !found && hwdi_json_next(object, &place, &key, &value)) {
        char *other = hwdi_json_string(key);
        found = other && strcmp(wanted, other) == 0;
        free(other);
    }
    free(wanted);
    return found;
}

static void add_pair(text *to, json key, json value) {
    if (to->size > 0 && to->bytes[to->size - 1] != '{') hwdi_add(to, ",");
    hwdi_add_bytes(to, key.at, key.size);
    hwdi_add(to, ":");
    hwdi_add_bytes(to, value.at, value.size);
}

void hwdi_add_merged(text *to, json base, json over) {
    size_t place = 0;
    json key, value;
    hwdi_add(to, "{");
    while (hwdi_json_next(base, &place, &key, &value))
        if (!has_key(over, key)) add_pair(to, key, value);
    place = 0;
    while (hwdi_json_next(over, &place, &key, &value))
        if (value.at[0] != 'n') add_pair(to, key, value);
    hwdi_add(to, "}");
}
