// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_NVENC_PLACES_H
#define HWSIM_NVENC_PLACES_H

// The three sessions that drivers of consumer cards allow, in all processes that have the same file in HWSIM_SESSIONS; without
// it, in this process. A process that ends leaves its own.

// A place, or -1 where all are taken.
int places_take(void);
void places_leave(int place);

#endif
