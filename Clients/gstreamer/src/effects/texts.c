// SPDX-License-Identifier: MIT
#include "effects/texts.h"

#include <string.h>

#include "properties/properties.h"

enum { MAX_TABLE_SIZE = 64 << 20 };

// Where the text up to an unescaped separator, or the end, ends.
static const gchar *end_of(const gchar *text, const gchar *end, gchar separator) {
    while (text < end && *text != separator) text += *text == '\\' && text + 1 < end ? 2 : 1;
    return text;
}

static gchar *unescaped(const gchar *text, const gchar *end) {
    GString *found = g_string_new(NULL);
    for (; text < end; text++) g_string_append_c(found, *text == '\\' && text + 1 < end ? *++text : *text);
    return g_string_free(found, FALSE);
}

// The number of a file's table, which is read unless it was; -1 and the reason where it cannot be.
static int table_of(HwdEffects *effects, gchar *file, gchar **reason) {
    gchar *text;
    gsize size;
    GError *error = NULL;
    for (guint i = 0; i < effects->table_count; i++) {
        if (strcmp(effects->files[i], file) != 0) continue;
        g_free(file);
        return (int)i;
    }
    if (effects->table_count == HWD_MAX_TABLES) {
        *reason = g_strdup_printf("%s: effects have %d tables at most", file, HWD_MAX_TABLES);
    } else if (!g_file_get_contents(file, &text, &size, &error)) {
        *reason = g_strdup(error->message);
        g_error_free(error);
    } else if (size == 0 || size > MAX_TABLE_SIZE) {
        *reason = g_strdup_printf("%s has %" G_GSIZE_FORMAT " bytes, not 1 to %d", file, size, MAX_TABLE_SIZE);
        g_free(text);
    } else {
        effects->files[effects->table_count] = file;
        effects->tables[effects->table_count] = (hwd_table){text, size};
        return (int)effects->table_count++;
    }
    g_free(file);
    return -1;
}

// Adds an effect's text to the array; FALSE with the reason.
static gboolean add_effect(HwdEffects *effects, GString *json, const gchar *text, const gchar *end, gchar **reason) {
    GString *made = g_string_new(NULL);
    const gchar *at = memchr(text, ':', (gsize)(end - text));
    g_string_append_len(made, text, (at ? at : end) - text);
    for (gchar mark = ':'; at && at < end; mark = ',') {
        const gchar *pair = at + 1, *next = end_of(pair, end, ',');
        if (next - pair >= 5 && strncmp(pair, "file=", 5) == 0) {
            int number = table_of(effects, unescaped(pair + 5, next), reason);
            if (number < 0) {
                g_string_free(made, TRUE);
                return FALSE;
            }
            g_string_append_printf(made, "%ctable=%d", mark, number);
        } else {
            g_string_append_c(made, mark);
            g_string_append_len(made, pair, next - pair);
        }
        at = next;
    }
    gchar *quoted = hwd_json_string(made->str);
    g_string_append_printf(json, "%s%s", json->len > 1 ? "," : "", quoted);
    g_free(quoted);
    g_string_free(made, TRUE);
    return TRUE;
}

gboolean hwd_effects_read(HwdEffects *effects, const gchar *text, gchar **reason) {
    GString *json = g_string_new("[");
    memset(effects, 0, sizeof *effects);
    *reason = NULL;
    for (const gchar *at = text ? text : "", *end = at + strlen(at); at < end;) {
        const gchar *next = end_of(at, end, ';');
        while (at < next && g_ascii_isspace(*at)) at++;
        if (at < next && !add_effect(effects, json, at, next, reason)) {
            g_string_free(json, TRUE);
            hwd_effects_clear(effects);
            return FALSE;
        }
        at = next + (next < end);
    }
    g_string_append_c(json, ']');
    effects->json = g_string_free(json, FALSE);
    return TRUE;
}

void hwd_effects_clear(HwdEffects *effects) {
    for (guint i = 0; i < effects->table_count; i++) {
        g_free(effects->files[i]);
        g_free((gchar *)effects->tables[i].text);
    }
    g_free(effects->json);
    memset(effects, 0, sizeof *effects);
}

gboolean hwd_effects_share_tables(const HwdEffects *first, const HwdEffects *second) {
    if (first->table_count != second->table_count) return FALSE;
    for (guint i = 0; i < first->table_count; i++) {
        const hwd_table *one = &first->tables[i], *other = &second->tables[i];
        if (one->size != other->size || memcmp(one->text, other->text, one->size) != 0) return FALSE;
    }
    return TRUE;
}
