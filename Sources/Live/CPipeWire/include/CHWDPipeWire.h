// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "sound-input.h"
#include "sound-output.h"
#include "video.h"
#include <stdbool.h>

// PipeWire's interfaces that Swift cannot import: variadic functions and function-like macros.

// Initializes the library once in the process; false where it fails.
bool hwd_pipewire_prepare(void);
