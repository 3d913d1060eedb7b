// SPDX-License-Identifier: GPL-2.0-or-later
// The journal: one JSON object for each line, in the file that the environment names.
#ifndef HWD_VENDOR_JOURNAL_H
#define HWD_VENDOR_JOURNAL_H

/// Appends a line to the file that `VENDOR_JOURNAL` names; does nothing without that variable.
__attribute__((format(printf, 1, 2), visibility("hidden"))) void journal(const char *format, ...);

#endif
