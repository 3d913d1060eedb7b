// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_CLONES_H
#define HWSIM_CLONES_H

// Before a function whose loops gain from vector instructions: the best of the machine's are chosen when the driver is
// loaded. Sanitizers come too late for that.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

#define INLINE static inline __attribute__((always_inline))

#endif
