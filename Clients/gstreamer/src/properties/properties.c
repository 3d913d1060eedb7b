// SPDX-License-Identifier: MIT
#include "properties/properties.h"

#include <string.h>

// What stands for "not set": -1, or the minimum where that is smaller.
static double unset_number(const HwdPropertySpec *spec) { return spec->minimum < 0 ? spec->minimum : -1; }

// Values that fit are gint, because applications pass them as int.
static gboolean is_wide(const HwdPropertySpec *spec) { return spec->maximum > G_MAXINT; }

// "default" and the choices.
static GType enumeration(const HwdPropertySpec *spec, const char *prefix) {
    guint count = g_strv_length((gchar **)spec->values);
    gchar *name = g_strconcat(prefix, spec->key, NULL);
    GEnumValue *values = g_new0(GEnumValue, count + 2);
    values[0] = (GEnumValue){0, "The daemon's default", "default"};
    for (guint i = 0; i < count; i++) values[i + 1] = (GEnumValue){(gint)i + 1, spec->values[i], spec->values[i]};
    GType type = g_enum_register_static(name, values);
    g_free(name);
    return type;
}

static GParamSpec *param_spec(const HwdPropertySpec *spec, const char *prefix) {
    GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    if (spec->access != HWD_READ_ONLY) flags |= G_PARAM_WRITABLE;
    if (spec->access == HWD_LIVE) flags |= GST_PARAM_MUTABLE_PLAYING;
    if (spec->access == HWD_UNTIL_PREPARED) flags |= GST_PARAM_MUTABLE_READY;
    const char *name = spec->name, *nick = spec->key, *blurb = spec->description;
    double unset = unset_number(spec);
    switch (spec->type) {
    case HWD_BOOLEAN: return g_param_spec_boolean(name, nick, blurb, spec->initial, flags);
    case HWD_INTEGER:
        if (is_wide(spec)) return g_param_spec_int64(name, nick, blurb, (gint64)unset, G_MAXINT64, (gint64)unset, flags);
        return g_param_spec_int(name, nick, blurb, (gint)unset, (gint)spec->maximum, (gint)unset, flags);
    case HWD_NUMBER: return g_param_spec_double(name, nick, blurb, unset, spec->maximum, unset, flags);
    case HWD_FRAME_RATE: return gst_param_spec_fraction(name, nick, blurb, 0, 1, G_MAXINT, 1, 0, 1, flags);
    case HWD_CHOICE:
        if (spec->access == HWD_READ_ONLY) break;
        return g_param_spec_enum(name, nick, blurb, enumeration(spec, prefix), 0, flags);
    default: break;
    }
    return g_param_spec_string(name, nick, blurb, NULL, flags);
}

void hwd_properties_install(GObjectClass *into, guint first, const HwdPropertySpec *specs, const char *prefix) {
    for (guint i = 0; specs[i].key; i++) g_object_class_install_property(into, first + i, param_spec(&specs[i], prefix));
}

void hwd_properties_init(HwdProperties *properties, GObjectClass *of, const HwdPropertySpec *specs) {
    guint count = 0;
    while (specs[count].key) count++;
    g_mutex_init(&properties->lock);
    properties->specs = specs;
    properties->count = count;
    properties->values = g_new0(GValue, count);
    properties->set = g_new0(gboolean, count);
    properties->changed = g_new0(gboolean, count);
    for (guint i = 0; i < count; i++) {
        GParamSpec *found = g_object_class_find_property(of, specs[i].name);
        g_value_init(&properties->values[i], G_PARAM_SPEC_VALUE_TYPE(found));
        g_param_value_set_default(found, &properties->values[i]);
    }
}

void hwd_properties_clear(HwdProperties *properties) {
    for (guint i = 0; i < properties->count; i++) g_value_unset(&properties->values[i]);
    g_free(properties->values);
    g_free(properties->set);
    g_free(properties->changed);
    g_mutex_clear(&properties->lock);
}

static gboolean is_unset(const HwdPropertySpec *spec, const GValue *value) {
    switch (spec->type) {
    case HWD_BOOLEAN: return FALSE;
    case HWD_INTEGER:
        return is_wide(spec) ? g_value_get_int64(value) == (gint64)unset_number(spec)
                             : g_value_get_int(value) == (gint)unset_number(spec);
    case HWD_NUMBER: return g_value_get_double(value) == unset_number(spec);
    case HWD_FRAME_RATE: return gst_value_get_fraction_numerator(value) == 0;
    case HWD_CHOICE: return g_value_get_enum(value) == 0;
    default: return !g_value_get_string(value) || !*g_value_get_string(value);
    }
}

void hwd_properties_set(HwdProperties *properties, guint index, const GValue *value) {
    g_mutex_lock(&properties->lock);
    g_value_copy(value, &properties->values[index]);
    properties->set[index] = !is_unset(&properties->specs[index], value);
    properties->changed[index] = TRUE;
    g_mutex_unlock(&properties->lock);
}

void hwd_properties_get(HwdProperties *properties, guint index, GValue *value) {
    g_mutex_lock(&properties->lock);
    g_value_copy(&properties->values[index], value);
    g_mutex_unlock(&properties->lock);
}

static gint find(const HwdProperties *properties, const char *key) {
    for (guint i = 0; i < properties->count; i++)
        if (strcmp(properties->specs[i].key, key) == 0) return (gint)i;
    return -1;
}

gboolean hwd_properties_is_set(HwdProperties *properties, const char *key) {
    gint index = find(properties, key);
    g_mutex_lock(&properties->lock);
    gboolean set = index >= 0 && properties->set[index];
    g_mutex_unlock(&properties->lock);
    return set;
}

gboolean hwd_properties_read(HwdProperties *properties, const char *key, gint64 *value) {
    gint index = find(properties, key);
    if (index < 0) return FALSE;
    g_mutex_lock(&properties->lock);
    const GValue *from = &properties->values[index];
    gboolean set = properties->set[index];
    if (set && G_VALUE_HOLDS_BOOLEAN(from)) *value = g_value_get_boolean(from);
    if (set && G_VALUE_HOLDS_INT(from)) *value = g_value_get_int(from);
    g_mutex_unlock(&properties->lock);
    return set;
}

static void add_value(GString *json, const HwdPropertySpec *spec, const GValue *value) {
    gchar number[G_ASCII_DTOSTR_BUF_SIZE];
    gchar *text = NULL;
    switch (spec->type) {
    case HWD_BOOLEAN: text = g_strdup(g_value_get_boolean(value) ? "true" : "false"); break;
    case HWD_INTEGER:
        text = is_wide(spec) ? g_strdup_printf("%" G_GINT64_FORMAT, g_value_get_int64(value))
                             : g_strdup_printf("%d", g_value_get_int(value));
        break;
    case HWD_NUMBER: text = g_strdup(g_ascii_dtostr(number, sizeof number, g_value_get_double(value))); break;
    case HWD_FRAME_RATE:
        text = g_strdup_printf("\"%d/%d\"", gst_value_get_fraction_numerator(value), gst_value_get_fraction_denominator(value));
        break;
    case HWD_CHOICE: text = g_strdup_printf("\"%s\"", spec->values[g_value_get_enum(value) - 1]); break;
    case HWD_JSON: text = g_value_dup_string(value); break;
    case HWD_TEXT: text = hwd_json_string(g_value_get_string(value)); break;
    }
    hwd_json_add(json, spec->key, text);
    g_free(text);
}

void hwd_properties_add_all(HwdProperties *properties, GString *json) {
    g_mutex_lock(&properties->lock);
    for (guint i = 0; i < properties->count; i++) {
        if (properties->set[i]) add_value(json, &properties->specs[i], &properties->values[i]);
        properties->changed[i] = FALSE;
    }
    g_mutex_unlock(&properties->lock);
}

gchar *hwd_properties_take_changes(HwdProperties *properties, const char **late) {
    GString *json = NULL;
    *late = NULL;
    g_mutex_lock(&properties->lock);
    for (guint i = 0; i < properties->count; i++) {
        const HwdPropertySpec *spec = &properties->specs[i];
        if (!properties->changed[i]) continue;
        properties->changed[i] = FALSE;
        if (spec->access != HWD_LIVE) {
            *late = spec->name;
            continue;
        }
        if (!json) json = g_string_new("{}");
        if (properties->set[i]) add_value(json, spec, &properties->values[i]);
        else hwd_json_add(json, spec->key, "null");
    }
    g_mutex_unlock(&properties->lock);
    return json ? g_string_free(json, FALSE) : NULL;
}
