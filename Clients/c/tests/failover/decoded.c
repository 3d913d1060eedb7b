// SPDX-License-Identifier: MIT
// decoded ADDRESS CLIP.mp4 INDEX PICTURES.yuv own|app|bytes KILLS | KILL/RESTARTS...: for each argument decodes a clip in a session whose
// process is killed after these numbers of packets ("14,15,40"; 0: never). Every picture comes once, with its time, and is that of
// PICTURES. Packets are in the session's memory, or partly in a pool of the program; `bytes`: with start codes, in both. It prints
// how many sessions there were, and how many of them ended in hardware.
#include "failover/clip.h"

// Whether the session ended in hardware.
static bool decode_clip(hwd_daemon *daemon, const clip *of, const char *kills, bool own_pool) {
    decoding run;
    const char *expected = strchr(kills, '/');
    // Those of other causes are met before the first kill.
    uint32_t deaths = expected && *kills != '0' ? (uint32_t)atoi(expected + 1) - 1 : 0;
    open_decoding(&run, daemon, of, HWD_YU12, NULL, own_pool);
    char *rest = (char *)kills;
    long next = strtol(rest, &rest, 10);
    for (int index = 0; index < of->count; index++) {
        CHECK(send_packet(&run, index, 0) == 0);
        if (index % 3 == 2) CHECK(fetch_decoded(&run, false));
        if (index + 1 != next) continue;
        // In turns a process with packets to decode, and one whose pictures have come.
        if (next % 2 == 0) drain_decoded(&run);
        kill_decoder(&run, deaths++);
        next = *rest == ',' ? strtol(rest + 1, &rest, 10) : 0;
    }
    finish_decoding(&run);
    hwd_session_info info;
    HWD_INIT(info);
    CHECK(hwd_get_info(run.session, &info) == 0);
    close_decoding(&run, expected ? (uint32_t)atoi(expected + 1) : deaths);
    return info.using_hardware;
}

int main(int argc, char **argv) {
    hwd_daemon *daemon;
    static clip of;
    CHECK(argc > 6 && hwd_open(argv[1], 0, &daemon) == 0);
    int in_hardware = 0;
    load_clip(&of, argv[2], argv[3], argv[4]);
    if (!strcmp(argv[5], "bytes")) use_start_codes(&of);
    for (int i = 6; i < argc; i++) {
        fprintf(stderr, "%s\n", argv[i]);
        in_hardware += decode_clip(daemon, &of, argv[i], strcmp(argv[5], "own") != 0);
    }
    hwd_close(daemon);
    printf("%d %d\n", argc - 6, in_hardware);
    return 0;
}
