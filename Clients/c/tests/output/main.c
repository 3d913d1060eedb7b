// SPDX-License-Identifier: MIT
// output ADDRESS: video outputs, without sessions and with those of a daemon.
#include "outputs.h"

int main(int count, char **arguments) {
    CHECK(count == 2);
    test_cadences();
    test_wobble();
    test_grid_restarts();
    test_random_seeks();
    test_clocks();
    hwd_daemon *daemon;
    CHECK(hwd_open(arguments[1], 0, &daemon) == 0);
    test_sessions(daemon);
    hwd_close(daemon);
    return 0;
}
