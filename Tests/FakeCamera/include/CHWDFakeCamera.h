// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Makes the linker take the functions that stand in for those of the C library.
void hwd_fake_camera(void);
