// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_DEPTH = 16 };

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool skip_string(cursor *in) {
    in->at++;
    while (in->at < in->end) {
        uint8_t c = (uint8_t)*in->at++;
        if (c == '"') return true;
        if (c < 0x20) return false;
        if (c != '\\') continue;
        if (in->at == in->end) return false;
        char escape = *in->at++;
        if (escape == 'u') {
            for (int i = 0; i < 4; i++, in->at++)
                if (in->at == in->end || hex_digit(*in->at) < 0) return false;
        } else if (!escape || !strchr("\"\\/bfnrt", escape)) {
            return false;
        }
    }
    return false;
}

static bool skip_digits(cursor *in) {
    const char *start = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
    return in->at > start;
}

static bool skip_number(cursor *in) {
    if (*in->at == '-') in->at++;
    if (in->at < in->end && *in->at == '0')
        in->at++;
    else if (!skip_digits(in))
        return false;
    if (in->at < in->end && *in->at == '.') {
        in->at++;
        if (!skip_digits(in)) return false;
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        in->at++;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-')) in->at++;
        if (!skip_digits(in)) return false;
    }
    return true;
}

static bool skip_word(cursor *in, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length)) return false;
    in->at += length;
    return true;
}

static bool skip_value(cursor *in, int depth);

// An array, or an object, whose entries have keys.
static bool skip_list(cursor *in, int depth) {
    bool object = *in->at++ == '{';
    char closing = object ? '}' : ']';
    if (depth == 0) return false;
    skip_space(in);
    if (in->at < in->end && *in->at == closing) return in->at++, true;
    while (true) {
        skip_space(in);
        if (object) {
            if (in->at == in->end || *in->at != '"' || !skip_string(in)) return false;
            skip_space(in);
            if (in->at == in->end || *in->at++ != ':') return false;
        }
        if (!skip_value(in, depth - 1)) return false;
        skip_space(in);
        if (in->at == in->end) return false;
        char c = *in->at++;
        if (c == closing) return true;
        if (c != ',') return false;
    }
}

static bool skip_value(cursor *in, int depth) {
    skip_space(in);
    if (in->at == in->end) return false;
    switch (*in->at) {
    case '{': case '[': return skip_list(in, depth);
    case '"': return skip_string(in);
    case 't': return skip_word(in, "true");
    case 'f': return skip_word(in, "false");
    case 'n': return skip_word(in, "null");
    default: return skip_number(in);
    }
}

bool hwdi_json_check(const char *text, size_t size, json *value) {
    cursor in = {text, text + size};
    skip_space(&in);
    value->at = in.at;
    if (!skip_value(&in, MAX_DEPTH)) return false;
    value->size = (size_t)(in.at - value->at);
    skip_space(&in);
    return in.at == in.end;
}

bool hwdi_json_next(json list, size_t *place, json *key, json *value) {
    if (list.size < 2 || (list.at[0] != (key ? '{' : '['))) return false;
    cursor in = {list.at + (*place ? *place : 1), list.at + list.size - 1};
    skip_space(&in);
    if (in.at == in.end) return false;
    if (key) {
        key->at = in.at;
        if (!skip_string(&in)) return false;
        key->size = (size_t)(in.at - key->at);
        skip_space(&in);
        in.at++;
        skip_space(&in);
    }
    value->at = in.at;
    if (!skip_value(&in, MAX_DEPTH)) return false;
    value->size = (size_t)(in.at - value->at);
    skip_space(&in);
    if (in.at < in.end) in.at++;
    *place = (size_t)(in.at - list.at);
    return true;
}

bool hwdi_json_member(json object, const char *name, json *value) {
    size_t place = 0, length = strlen(name);
    json key;
    while (hwdi_json_next(object, &place, &key, value))
        if (key.size == length + 2 && !memcmp(key.at + 1, name, length)) return value->at[0] != 'n';
    return false;
}

static uint32_t code_unit(const char *at) {
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) unit = unit << 4 | (uint32_t)hex_digit(at[i]);
    return unit;
}

// Appends a Unicode scalar as UTF-8.
static char *put_scalar(char *out, uint32_t scalar) {
    if (scalar < 0x80) return *out++ = (char)scalar, out;
    if (scalar < 0x800) {
        *out++ = (char)(0xc0 | scalar >> 6);
    } else {
        if (scalar < 0x10000) {
            *out++ = (char)(0xe0 | scalar >> 12);
        } else {
            *out++ = (char)(0xf0 | scalar >> 18);
            *out++ = (char)(0x80 | (scalar >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (scalar >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (scalar & 0x3f));
    return out;
}

// The scalar of \uXXXX, perhaps of two; U+FFFD for half of a pair.
static uint32_t take_escape(const char **at, const char *end) {
    uint32_t unit = code_unit(*at);
    *at += 4;
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    if (unit < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = code_unit(*at + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            *at += 6;
            return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return 0xfffd;
}

char *hwdi_json_string(json value) {
    if (value.size < 2 || value.at[0] != '"') return NULL;
    // No escape is shorter than what it stands for.
    char *result = malloc(value.size), *out = result;
    const char *at = value.at + 1, *end = value.at + value.size - 1;
    while (result && at < end) {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        char escape = at[1];
        at += 2;
        uint32_t scalar = (uint8_t)escape;
        switch (escape) {
        case 'u': scalar = take_escape(&at, end); break;
        case 'b': scalar = '\b'; break;
        case 'f': scalar = '\f'; break;
        case 'n': scalar = '\n'; break;
        case 'r': scalar = '\r'; break;
        case 't': scalar = '\t'; break;
        default: break;
        }
        if (scalar == 0) return free(result), NULL;
        out = put_scalar(out, scalar);
    }
    if (result) *out = 0;
    return result;
}

bool hwdi_json_integer(json value, int64_t *number) {
    char digits[24];
    if (value.size == 0 || value.size >= sizeof digits || (value.at[0] != '-' && (value.at[0] < '0' || value.at[0] > '9')))
        return false;
    memcpy(digits, value.at, value.size);
    digits[value.size] = 0;
    char *end;
    errno = 0;
    *number = strtoll(digits, &end, 10);
    return *end == 0 && errno == 0;
}

bool hwdi_json_boolean(json value, bool *truth) {
    *truth = value.size == 4 && !memcmp(value.at, "true", 4);
    return *truth || (value.size == 5 && !memcmp(value.at, "false", 5));
}
