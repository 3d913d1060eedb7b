// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_NVENC_SLOTS_H
#define HWSIM_NVENC_SLOTS_H

// The three sessions that drivers of consumer cards allow, in all processes that have the same file in HWSIM_SESSIONS; without
// it, in this process. A process that ends leaves its own.

// A slot, or -1 where all are taken.
int slots_take(void);
void slots_release(int slot);

#endif
