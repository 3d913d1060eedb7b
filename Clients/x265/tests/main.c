// SPDX-License-Identifier: GPL-2.0-or-later
// libx265's interface over hardware sessions; $HWDAEMON_SOCKET is a daemon with verified hardware.
#include "tests.h"

int main(void) {
    test_entries();
    test_streams();
    test_presets();
    test_refusals();
    test_threads();
    x265_api_get(0)->cleanup();
    puts("api: every entry, stream, preset, refusal and thread");
    return 0;
}
