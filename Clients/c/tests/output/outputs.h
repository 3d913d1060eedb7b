// SPDX-License-Identifier: MIT
// Tests of video outputs; each ends the program at a fault.
#ifndef OUTPUT_TESTS_H
#define OUTPUT_TESTS_H

#include "api/api.h"
#include "output/playback.h"

void test_cadences(void);
void test_wobble(void);
void test_grid_restarts(void);
void test_random_seeks(void);
void test_clocks(void);
void test_sessions(hwd_daemon *daemon);

#endif
