// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static inline long result(long value) { return value < 0 ? -errno : value; }

// --- Unix sockets

int chwd_socket_stream(void) { return result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

int chwd_socketpair(int seqpacket, int out[2]) {
    int type = seqpacket ? SOCK_SEQPACKET : SOCK_STREAM;
    return result(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, out));
}

// Returns the address's length, or −errno when the name does not fit.
static int address(struct sockaddr_un *to, const char *name, size_t length, int abstract) {
    // A NUL follows a path and precedes an abstract name: one byte in both cases.
    if (length == 0 || length >= sizeof to->sun_path) return -ENAMETOOLONG;
    if (!abstract && memchr(name, 0, length)) return -EINVAL;
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path + (abstract ? 1 : 0), name, length);
    return offsetof(struct sockaddr_un, sun_path) + length + 1;
}

int chwd_bind(int fd, const char *name, size_t length, int abstract) {
    struct sockaddr_un to;
    int size = address(&to, name, length, abstract);
    return size < 0 ? size : result(bind(fd, (struct sockaddr *)&to, size));
}

int chwd_bind_auto(int fd) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    return result(bind(fd, (struct sockaddr *)&to, sizeof to.sun_family));
}

int chwd_connect(int fd, const char *name, size_t length, int abstract) {
    struct sockaddr_un to;
    int size = address(&to, name, length, abstract);
    return size < 0 ? size : result(connect(fd, (struct sockaddr *)&to, size));
}

ssize_t chwd_socket_name(int fd, char *name, size_t capacity, int *abstract) {
    struct sockaddr_un at;
    memset(&at, 0, sizeof at);
    socklen_t size = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &size) < 0) return -errno;
    size_t length = size - offsetof(struct sockaddr_un, sun_path);
    if (at.sun_family != AF_UNIX || size <= offsetof(struct sockaddr_un, sun_path)) return -EADDRNOTAVAIL;
    *abstract = at.sun_path[0] == 0;
    const char *start = at.sun_path + (*abstract ? 1 : 0);
    length = *abstract ? length - 1 : strnlen(start, length);
    if (length > capacity) return -ENAMETOOLONG;
    memcpy(name, start, length);
    return length;
}

int chwd_accept(int fd) { return result(accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)); }

int chwd_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

int chwd_set_send_timeout(int fd, int64_t nanoseconds) {
    struct timeval limit = {nanoseconds / 1000000000, nanoseconds % 1000000000 / 1000};
    // The kernel takes zero as no limit; the shortest wait stands for a deadline that has passed.
    if (nanoseconds >= 0 && limit.tv_sec == 0 && limit.tv_usec == 0) limit.tv_usec = 1;
    if (nanoseconds < 0) limit = (struct timeval){0, 0};
    return result(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
}

int chwd_set_send_buffer(int fd, int bytes) {
    return result(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes));
}

// --- Messages

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * CHWD_MAX_FDS)];
};

ssize_t chwd_sendmsg(int fd, const void *head, size_t head_size, const void *body, size_t body_size,
                    const int *fds, size_t fd_count) {
    struct iovec parts[2] = {{(void *)head, head_size}, {(void *)body, body_size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    union control control;
    if (fd_count > CHWD_MAX_FDS) return -EINVAL;
    if (fd_count > 0) {
        memset(&control, 0, CMSG_SPACE(sizeof(int) * fd_count));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
    }
    return result(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t chwd_recvmsg(int fd, void *buffer, size_t capacity, int fds[CHWD_MAX_FDS], int *fd_count, int *truncated) {
    struct iovec part = {buffer, capacity};
    union control control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    *fd_count = 0;
    *truncated = 0;
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && *fd_count < CHWD_MAX_FDS; i++)
            memcpy(&fds[(*fd_count)++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
    *truncated = (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
    return received;
}

ssize_t chwd_recv_without_fds(int fd, void *buffer, size_t capacity, int *had_fds, int *truncated) {
    int fds[CHWD_MAX_FDS];
    ssize_t received = chwd_recvmsg(fd, buffer, capacity, fds, had_fds, truncated);
    for (int i = 0; i < *had_fds; i++) close(fds[i]);
    return received;
}

ssize_t chwd_peek(int fd, void *buffer, size_t capacity) {
    return result(recv(fd, buffer, capacity, MSG_PEEK | MSG_DONTWAIT));
}

// --- Files

int chwd_rename_new(int from, const char *old, int to, const char *name) {
    return result(renameat2(from, old, to, name, RENAME_NOREPLACE));
}

int chwd_hold_blocks(int fd, int64_t offset, int64_t count) {
    return result(fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, count));
}

// --- Memory

int chwd_memfd_create(const char *name) { return result(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)); }

int chwd_add_seals(int fd, int seals) { return result(fcntl(fd, F_ADD_SEALS, seals)); }

int chwd_get_seals(int fd) { return result(fcntl(fd, F_GET_SEALS)); }

// --- Processes

int chwd_spawn(pid_t *pid, const char *path, char *const argv[], char *const envp[], const int *sources,
              const int *targets, size_t count, int window, int group) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return -error;
    if ((error = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return -error;
    }
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    // posix_spawnattr_setpgroup's default is 0: a group of its own.
    if (group == CHWD_GROUP_OWN) flags |= POSIX_SPAWN_SETPGROUP;
    if (group == CHWD_GROUP_SESSION) flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    error = posix_spawnattr_setflags(&attributes, flags);
    for (size_t i = 0; i < count && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, sources[i], targets[i]);
    for (int gap = 3; gap < window && !error; gap++) {
        size_t i = 0;
        while (i < count && targets[i] != gap) i++;
        if (i == count) error = posix_spawn_file_actions_addclose(&actions, gap);
    }
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, window);
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

int chwd_detach(void) {
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child > 0) _exit(0);
    return 0;
}

char **chwd_environ(void) { return environ; }

int chwd_pidfd_open(pid_t pid) { return result(syscall(SYS_pidfd_open, pid, 0)); }

int chwd_pidfd_send_signal(int pidfd, int signal) {
    return result(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

int chwd_pidfd_wait(int pidfd, int block, int *signaled, int *status) {
    siginfo_t info = {0};
    if (waitid(P_PIDFD, pidfd, &info, WEXITED | (block ? 0 : WNOHANG)) < 0) return -errno;
    if (info.si_pid == 0) return 0;
    *signaled = info.si_code != CLD_EXITED;
    *status = info.si_status;
    return 1;
}

int chwd_set_parent_death_signal(int signal) { return result(prctl(PR_SET_PDEATHSIG, signal)); }

int chwd_set_dumpable(int on) { return result(prctl(PR_SET_DUMPABLE, on, 0, 0, 0)); }

int chwd_set_no_new_privileges(void) { return result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }

int chwd_set_name(const char *name) { return result(prctl(PR_SET_NAME, name)); }

// The number of a CHWD_RLIMIT_ resource, or -1, of which setrlimit says EINVAL.
static int limited(int resource) {
    static const int resources[] = {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NPROC};
    return resource < 0 || (size_t)resource >= sizeof resources / sizeof *resources ? -1 : resources[resource];
}

int chwd_set_limit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit limit = {soft, hard};
    return result(setrlimit(limited(resource), &limit));
}

int chwd_raise_limit(int resource, uint64_t *hard) {
    struct rlimit limit;
    if (getrlimit(limited(resource), &limit) < 0) return -errno;
    *hard = limit.rlim_cur = limit.rlim_max;
    return result(setrlimit(limited(resource), &limit));
}

int chwd_lower_priority(int by) {
    errno = 0;
    const int now = getpriority(PRIO_PROCESS, 0);
    if (now == -1 && errno) return -errno;
    const int next = now + by;
    if (setpriority(PRIO_PROCESS, 0, next < 19 ? next : 19) < 0) return -errno;
    // A thread that runs in another class was put there by an administrator.
    if (sched_getscheduler(0) != SCHED_OTHER) return 0;
    const struct sched_param none = {0};
    return result(sched_setscheduler(0, SCHED_BATCH, &none));
}

int chwd_limit_data(pid_t pid, uint64_t bytes) {
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_DATA, NULL, &limit) < 0) return -errno;
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    return result(prlimit(pid, RLIMIT_DATA, &limit, NULL));
}

// --- Events

int chwd_epoll_create(void) { return result(epoll_create1(EPOLL_CLOEXEC)); }

int chwd_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return result(epoll_ctl(epoll, operation, fd, &event));
}

int chwd_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int capacity, int timeout_ms) {
    struct epoll_event ready[64];
    int count = epoll_wait(epoll, ready, capacity < 64 ? capacity : 64, timeout_ms);
    if (count < 0) return -errno;
    for (int i = 0; i < count; i++) {
        tokens[i] = ready[i].data.u64;
        events[i] = ready[i].events;
    }
    return count;
}

int chwd_eventfd(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int chwd_signalfd(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    return error ? -error : result(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int chwd_signalfd_next(int fd) {
    struct signalfd_siginfo info;
    ssize_t size = read(fd, &info, sizeof info);
    if (size < 0) return -errno;
    return size == sizeof info ? (int)info.ssi_signo : -EIO;
}

const char *chwd_error_text(int number) {
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown error";
}
