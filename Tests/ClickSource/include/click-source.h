// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Offers a PipeWire microphone of this name that clicks (half a cosine of 1 ms) at each quarter and three quarters of a second of
// CLOCK_MONOTONIC, until the process ends. Returns an exit code where it cannot.
int hwd_click_source(const char *name);
