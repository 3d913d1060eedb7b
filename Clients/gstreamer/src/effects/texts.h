// SPDX-License-Identifier: MIT
// The texts of effects, as commands have them, and what a session's call has instead.
#ifndef HWD_TEXTS_H
#define HWD_TEXTS_H

#include <glib.h>
#include <hwdaemon.h>

enum { HWD_MAX_TABLES = 16 };

typedef struct HwdEffects {
    gchar *json; // an array of texts, in which numbers stand for files
    hwd_table tables[HWD_MAX_TABLES];
    gchar *files[HWD_MAX_TABLES];
    guint table_count;
} HwdEffects;

// Reads effects, separated by semicolons, and the files of their tables. FALSE, with the reason to free: one cannot be read. The daemon
// checks the rest.
gboolean hwd_effects_read(HwdEffects *effects, const gchar *text, gchar **reason);
void hwd_effects_clear(HwdEffects *effects);
// Whether two have the same tables.
gboolean hwd_effects_share_tables(const HwdEffects *first, const HwdEffects *second);

#endif
