// SPDX-License-Identifier: MIT
// What programs that test sessions share.
#include "api/api.h"

#include <signal.h>

hwd_session *open_session(hwd_daemon *daemon) {
    hwd_compression_config config;
    hwd_session *session = NULL;
    HWD_INIT(config);
    config.width = 64;
    config.height = 48;
    config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1;
    config.time_base.denominator = 30;
    config.properties = "{\"X265Preset\": \"ultrafast\"}";
    CHECK(hwd_compression_create(daemon, &config, &session) == 0);
    return session;
}

int encode(hwd_session *session, int64_t number, int timeout_ms) {
    hwd_frame frame;
    HWD_INIT(frame);
    int result = hwd_acquire_frame(session, &frame, timeout_ms);
    if (result < 0) return result;
    for (uint32_t i = 0; i < frame.plane_count; i++)
        memset(frame.planes[i].data, 16 + (int)(number % 100), (size_t)frame.planes[i].stride * frame.planes[i].rows);
    frame.pts = number;
    frame.duration = 1;
    result = hwd_encode(session, &frame, timeout_ms);
    if (result < 0) hwd_discard_frame(session, &frame);
    return result;
}

int finish(hwd_session *session) {
    hwd_event event;
    int packets = 0;
    HWD_INIT(event);
    CHECK(hwd_complete(session, HWD_ALL_FRAMES, TIMEOUT) == 0);
    while (true) {
        CHECK(hwd_next_event(session, &event, TIMEOUT) == 1);
        packets += event.type == HWD_EVENT_PACKET;
        CHECK(hwd_release(session, &event) == 0);
        if (event.type == HWD_EVENT_COMPLETED) return packets;
    }
}

void signal_worker(hwd_daemon *daemon, hwd_session *session, int number) {
    hwd_session_info info;
    HWD_INIT(info);
    char *reply, key[256];
    CHECK(hwd_get_info(session, &info) == 0 && hwd_call(daemon, "org.hwdaemon.ListSessions", NULL, TIMEOUT, &reply) == 0);
    snprintf(key, sizeof key, "\"session\":\"%s\"", info.session);
    const char *entry = strstr(reply, key);
    // The members have an order of their own: from the session's opening brace.
    while (entry && entry > reply && *entry != '{') entry--;
    const char *pid = entry ? strstr(entry, "\"pid\":") : NULL;
    CHECK(pid && kill((pid_t)atol(pid + 6), number) == 0);
    hwd_free(reply);
}

void kill_worker(hwd_daemon *daemon, hwd_session *session) { signal_worker(daemon, session, SIGKILL); }
