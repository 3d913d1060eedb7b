// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// How long hwd_close waits for a private daemon and its sessions to end.
enum { CLOSE_TIMEOUT = 6000, CONNECT_TIMEOUT = 5000 };

static int make_daemon(char *address, int lifetime, hwd_daemon **out) {
    hwd_daemon *daemon = malloc(sizeof *daemon);
    if (!daemon || !address) {
        free(daemon);
        free(address);
        hwdi_close(lifetime);
        return hwdi_fail_errno(ENOMEM, "hwd_open");
    }
    *daemon = (hwd_daemon){address, lifetime, getpid()};
    *out = daemon;
    return 0;
}

int hwd_open(const char *address, uint32_t flags, hwd_daemon **daemon) {
    if (!daemon) return hwdi_fail(-EINVAL, "hwd_open has no pointer for the daemon");
    *daemon = NULL;
    if (flags & ~(uint32_t)HWD_OPEN_PRIVATE) return hwdi_fail(-EINVAL, "hwd_open has unknown flags");
    if (!address) {
        address = secure_getenv("HWDAEMON_SOCKET");
        if (address && !*address) address = NULL;
    } else if (flags & HWD_OPEN_PRIVATE) {
        return hwdi_fail(-EINVAL, "a private daemon has no address of one's choice");
    }
    bool is_default = !address;
    if (is_default) address = "/run/hwdaemon/hwdaemon.sock";
    int fd = hwdi_connect(address, hwdi_deadline(CONNECT_TIMEOUT, 0));
    if (fd >= 0) {
        hwdi_close(fd);
        return make_daemon(strdup(address), -1, daemon);
    }
    if (fd != -ECONNREFUSED || !is_default || !(flags & HWD_OPEN_PRIVATE)) return fd;
    char *own;
    int lifetime;
    int result = hwdi_start_private(&own, &lifetime);
    return result < 0 ? result : make_daemon(own, lifetime, daemon);
}

void hwd_close(hwd_daemon *daemon) {
    if (!daemon) return;
    if (daemon->lifetime >= 0 && daemon->owner == getpid()) {
        // The daemon ends when it sees this end closed; its own end closes when it has ended.
        int64_t deadline = hwdi_deadline(CLOSE_TIMEOUT, 0);
        shutdown(daemon->lifetime, SHUT_WR);
        char byte;
        while (hwdi_now() < deadline && hwdi_poll(daemon->lifetime, POLLIN, deadline) > 0 &&
               recv(daemon->lifetime, &byte, 1, MSG_DONTWAIT) > 0)
            continue;
        hwdi_remove_socket(daemon->address);
    }
    hwdi_close(daemon->lifetime);
    free(daemon->address);
    free(daemon);
}

const char *hwd_address(const hwd_daemon *daemon) { return daemon ? daemon->address : ""; }

int hwd_is_private(const hwd_daemon *daemon) { return daemon && daemon->lifetime >= 0; }

int hwd_call(hwd_daemon *daemon, const char *method, const char *parameters, int timeout_ms, char **reply) {
    if (!daemon || !method || !reply) return hwdi_fail(-EINVAL, "hwd_call needs a daemon, a method and a pointer for the reply");
    *reply = NULL;
    json given, found;
    if (!parameters) parameters = "{}";
    if (!hwdi_json_check(parameters, strlen(parameters), &given) || given.at[0] != '{')
        return hwdi_fail(HWD_PARAMETER, "the parameters of %s are no JSON object", method);
    int64_t deadline = hwdi_deadline(timeout_ms, CALL_TIMEOUT);
    int fd = hwdi_connect(daemon->address, deadline);
    if (fd < 0) return fd;
    char *answer;
    int result = hwdi_exchange(fd, method, parameters, false, deadline, &answer);
    hwdi_close(fd);
    if (result < 0) return result;
    result = hwdi_parameters(answer, method, &found);
    if (result == 0) {
        memmove(answer, found.at, found.size);
        answer[found.size] = 0;
        *reply = answer;
    } else {
        free(answer);
    }
    return result;
}
