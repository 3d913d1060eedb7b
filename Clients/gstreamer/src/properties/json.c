// SPDX-License-Identifier: MIT
// As much of JSON as properties need.
#include "properties/properties.h"

#include <string.h>

void hwd_json_add(GString *json, const char *key, const char *value) {
    g_string_truncate(json, json->len - 1);
    g_string_append_printf(json, "%s\"%s\":%s}", json->len > 1 ? "," : "", key, value);
}

gchar *hwd_json_string(const char *text) {
    GString *quoted = g_string_new("\"");
    for (; *text; text++) {
        if ((guchar)*text < ' ') g_string_append_printf(quoted, "\\u%04x", *text);
        else if (*text == '"' || *text == '\\') g_string_append_printf(quoted, "\\%c", *text);
        else g_string_append_c(quoted, *text);
    }
    return g_string_free(g_string_append_c(quoted, '"'), FALSE);
}

// Appends the character of an escape sequence, whose letter is at `at`; where the sequence ends.
static const char *unescape(const char *at, GString *text) {
    static const char letters[] = "bfnrt", characters[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, *at);
    if (letter && *letter) {
        g_string_append_c(text, characters[letter - letters]);
    } else if (*at == 'u' && strlen(at) >= 5) {
        gchar digits[5] = {at[1], at[2], at[3], at[4], 0};
        gunichar point = (gunichar)g_ascii_strtoull(digits, NULL, 16);
        // Pairs of surrogates do not occur in the daemon's texts.
        g_string_append_unichar(text, point && g_unichar_validate(point) ? point : 0xfffd);
        return at + 5;
    } else {
        g_string_append_c(text, *at);
    }
    return at + 1;
}

// A string from its first quotation mark on; `end` becomes where it ends.
static gchar *read_string(const char *at, const char **end) {
    GString *text = g_string_new(NULL);
    for (at++; *at && *at != '"';) {
        if (*at == '\\' && at[1]) at = unescape(at + 1, text);
        else g_string_append_c(text, *at++);
    }
    *end = *at ? at + 1 : at;
    return g_string_free(text, FALSE);
}

// Where a value ends that is no string: behind its last bracket, or at the next comma.
static const char *skip_value(const char *at) {
    guint depth = 0;
    while (*at && (depth > 0 || !strchr(",}]", *at))) {
        if (*at == '"') {
            g_free(read_string(at, &at));
            continue;
        }
        if (*at == '[' || *at == '{') depth++;
        if (*at == ']' || *at == '}') depth--;
        at++;
    }
    return at;
}

gchar *hwd_json_find(const char *json, const char *key) {
    const char *at = strchr(json, '{');
    while (at && (at = strchr(at, '"'))) {
        gchar *name = read_string(at, &at);
        gboolean found = strcmp(name, key) == 0;
        g_free(name);
        while (*at == ':' || g_ascii_isspace(*at)) at++;
        const char *start = at;
        if (*at == '"') {
            gchar *text = read_string(at, &at);
            if (found) return text;
            g_free(text);
        } else {
            at = skip_value(at);
            if (found) return strncmp(start, "null", 4) == 0 ? NULL : g_strndup(start, (gsize)(at - start));
        }
    }
    return NULL;
}
