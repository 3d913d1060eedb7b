// SPDX-License-Identifier: MIT
// The properties of sessions as properties of an element. Their tables are made from the daemon's.
#ifndef HWD_PROPERTIES_H
#define HWD_PROPERTIES_H

#include <gst/gst.h>

typedef enum { HWD_BOOLEAN, HWD_INTEGER, HWD_NUMBER, HWD_FRAME_RATE, HWD_CHOICE, HWD_TEXT, HWD_JSON } HwdType;
typedef enum { HWD_LIVE, HWD_UNTIL_PREPARED, HWD_READ_ONLY } HwdAccess;

typedef struct HwdPropertySpec {
    const char *key;  // the daemon's: AverageBitRate
    const char *name; // the element's: average-bit-rate
    HwdType type;
    HwdAccess access;
    gboolean initial; // of a boolean
    double minimum, maximum;
    const char *const *values; // of a choice
    const char *description;
} HwdPropertySpec;

// Both end with a row without a key.
extern const HwdPropertySpec hwd_encoder_properties[], hwd_decoder_properties[];

// The values of one element; any thread may use them.
typedef struct HwdProperties {
    const HwdPropertySpec *specs;
    guint count;
    GMutex lock;
    GValue *values;
    gboolean *set, *changed;
} HwdProperties;

// Installs the properties from the number `first` on; `prefix` makes the names of their enumerations unique.
void hwd_properties_install(GObjectClass *into, guint first, const HwdPropertySpec *specs, const char *prefix);
void hwd_properties_init(HwdProperties *properties, GObjectClass *of, const HwdPropertySpec *specs);
void hwd_properties_clear(HwdProperties *properties);
void hwd_properties_set(HwdProperties *properties, guint index, const GValue *value);
void hwd_properties_get(HwdProperties *properties, guint index, GValue *value);
gboolean hwd_properties_is_set(HwdProperties *properties, const char *key);
// Whether a boolean or an integer is set, and to what.
gboolean hwd_properties_read(HwdProperties *properties, const char *key, gint64 *value);

// The members of a JSON object with all values that are set, behind those that `json` has. Nothing is changed after it.
void hwd_properties_add_all(HwdProperties *properties, GString *json);
// The live properties that were changed, as a JSON object; NULL if there are none. `late` becomes the name of one that only
// the next session can take, or NULL.
gchar *hwd_properties_take_changes(HwdProperties *properties, const char **late);

// Adds a member to the JSON object in `json`; `value` is JSON.
void hwd_json_add(GString *json, const char *key, const char *value);
// A text as a JSON string.
gchar *hwd_json_string(const char *text);
// The value of a member of a flat JSON object, as text; NULL if it is absent or null.
gchar *hwd_json_find(const char *json, const char *key);

#endif
