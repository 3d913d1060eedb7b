// SPDX-License-Identifier: GPL-2.0-or-later
// libx265's interface over hardware sessions; $HWDAEMON_SOCKET is a daemon with verified hardware.
#include "tests.h"

#include <unistd.h>

// libx265 renames its statistics of two passes over whatever has that name, so they have a folder of their own.
static char folder[] = "/tmp/hwdaemon-x265-XXXXXX";

static void remove_folder(void) {
    unlink("two-pass.stats");
    unlink("two-pass.stats.cutree");
    unlink("two-pass.stats.temp");
    unlink("two-pass.stats.cutree.temp");
    rmdir(folder);
}

int main(void) {
    CHECK(mkdtemp(folder) && chdir(folder) == 0 && atexit(remove_folder) == 0);
    test_entries();
    test_streams();
    test_presets();
    test_refusals();
    test_threads();
    x265_api_get(0)->cleanup();
    puts("api: every entry, stream, preset, refusal and thread");
    return 0;
}
