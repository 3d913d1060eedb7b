// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_PLAN_H
#define HWSIM_PLAN_H

#include <stdbool.h>

enum planned_fault {
    FAULT_NONE,
    FAULT_CRASH,    // SIGSEGV
    FAULT_HANG,     // this picture and those after it are never finished
    FAULT_FAIL,     // this picture and those after it are refused
    FAULT_CORRUPT,  // a valid stream of another picture
    FAULT_GARBAGE,  // NAL unit headers are right, what follows is random
    FAULT_SLOW,     // it takes a second
    FAULT_GPU_RESET,  // every context of every process that exists now is lost
    FAULT_DECODE_CRASH,
    FAULT_DECODE_HANG,
    FAULT_DECODE_FAIL,
};

// The fault that the plan has for the Nth picture that this process codes or decodes; it is taken off the plan.
enum planned_fault plan_take(bool decodes, unsigned picture);

// How often the plan has reset the GPU; contexts that were made before the last time are lost.
unsigned plan_resets(void);

#endif
