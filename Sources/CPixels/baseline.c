// SPDX-License-Identifier: GPL-2.0-or-later
// The loops for any machine: four numbers at a time, which every machine has.
#include "kernels.h"
#define WIDTH 4
#define LEVEL 0
#define ROWS hwd_rows_baseline
#include "rows.h"
