// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t hwdi_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t hwdi_deadline(int timeout_ms, int default_ms) {
    return hwdi_now() + (int64_t)(timeout_ms < 0 ? default_ms : timeout_ms) * 1000000;
}

int hwdi_milliseconds_until(int64_t deadline) {
    int64_t left = deadline - hwdi_now();
    if (left <= 0) return 0;
    left = (left + 999999) / 1000000;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

void hwdi_close(int fd) {
    int before = errno;
    if (fd >= 0) close(fd);
    errno = before;
}

int hwdi_poll(int fd, short events, int64_t deadline) {
    while (true) {
        struct pollfd entry = {fd, events, 0};
        int count = poll(&entry, 1, hwdi_milliseconds_until(deadline));
        if (count >= 0) return count;
        if (errno != EINTR) return -errno;
    }
}

// The name of the group that owns a socket, which a caller without permission has to join.
static const char *group_of(const char *path, char *buffer, size_t size) {
    struct stat status;
    struct group entry, *found = NULL;
    if (stat(path, &status) == 0 && getgrgid_r(status.st_gid, &entry, buffer, size, &found) == 0 && found)
        return found->gr_name;
    return "hwdaemon";
}

static int connect_failed(int number, const char *address) {
    char buffer[1024];
    switch (number) {
    case ENOENT: case ECONNREFUSED:
        return hwdi_fail(-ECONNREFUSED, "no daemon listens on %s", address);
    case EACCES: case EPERM: {
        const char *group = group_of(address, buffer, sizeof buffer);
        if (strcmp(group, "root") == 0)
            return hwdi_fail(-EACCES, "no permission to use %s: the socket belongs to root; see docs/admin.md", address);
        return hwdi_fail(-EACCES, "no permission to use %s: join the group %s (sudo usermod -aG %s $USER, then log in again)",
                         address, group, group);
    }
    case EAGAIN: case EINTR:
        return hwdi_fail(-ETIMEDOUT, "the daemon at %s accepts no connection", address);
    default:
        return hwdi_fail_errno(number, "the daemon cannot be reached");
    }
}

// Returns the length of a socket's address, or 0 for a name that does not fit.
static socklen_t make_address(struct sockaddr_un *to, const char *address) {
    size_t length = strlen(address);
    // A path needs its NUL; in an abstract name a NUL stands for the "@".
    if (length < 2 || length >= sizeof to->sun_path) return 0;
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, address, length);
    if (address[0] != '@') return (socklen_t)sizeof *to;
    to->sun_path[0] = 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

int hwdi_connect(const char *address, int64_t deadline) {
    struct sockaddr_un to;
    socklen_t size = make_address(&to, address);
    if (size == 0) return hwdi_fail(-EINVAL, "%s is no address of a socket", address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return hwdi_fail_errno(errno, "socket");
    int result;
    do {
        // connect(2) waits as long for room in the listener's queue as for sending; a zero limit would be none.
        int left = hwdi_milliseconds_until(deadline);
        struct timeval limit = {left / 1000, left % 1000 * 1000};
        if (left == 0) limit.tv_usec = 1;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        result = connect(fd, (struct sockaddr *)&to, size);
    } while (result < 0 && errno == EINTR && hwdi_now() < deadline);
    if (result < 0) {
        int number = errno;
        hwdi_close(fd);
        return connect_failed(number, address);
    }
    if ((result = hwdi_check_peer(fd, address)) < 0) return hwdi_close(fd), result;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}
