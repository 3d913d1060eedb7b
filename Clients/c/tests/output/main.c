// SPDX-License-Identifier: MIT
// output ADDRESS: video outputs, without sessions and with those of a daemon.
#include "outputs.h"

int main(void) {
    test_cadences();
    test_wobble();
    test_grid_restarts();
    test_random_seeks();
    test_clocks();
    return 0;
}
