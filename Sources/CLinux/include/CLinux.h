// SPDX-License-Identifier: MIT
// System calls that Swift's Glibc module does not import, as functions. Each returns its result or −errno.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The kernel's limit of descriptors in a message (SCM_MAX_FD).
enum { HWD_MAX_FDS = 253 };
enum { HWD_SEAL_SEAL = 1, HWD_SEAL_SHRINK = 2, HWD_SEAL_GROW = 4, HWD_SEAL_WRITE = 8, HWD_SEAL_FUTURE_WRITE = 16 };
enum { HWD_EPOLL_IN = 1, HWD_EPOLL_OUT = 4, HWD_EPOLL_ERR = 8, HWD_EPOLL_HUP = 16, HWD_EPOLL_ONESHOT = 1 << 30 };
enum { HWD_EPOLL_ADD = 1, HWD_EPOLL_DEL = 2, HWD_EPOLL_MOD = 3 };
enum { HWD_RLIMIT_CORE, HWD_RLIMIT_NOFILE, HWD_RLIMIT_AS, HWD_RLIMIT_CPU, HWD_RLIMIT_FSIZE, HWD_RLIMIT_NPROC };

// Unix sockets. A name is a path or, with `abstract`, the bytes after the leading NUL.
int hwd_socket_stream(void);
int hwd_socketpair(int seqpacket, int out[2]);
int hwd_bind(int fd, const char *name, size_t length, int abstract);
int hwd_bind_auto(int fd);
int hwd_connect(int fd, const char *name, size_t length, int abstract);
ssize_t hwd_socket_name(int fd, char *name, size_t capacity, int *abstract);
int hwd_accept(int fd);
int hwd_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
int hwd_set_send_timeout(int fd, int64_t nanoseconds);
int hwd_set_send_buffer(int fd, int bytes);

// Messages; these never block and never raise SIGPIPE. Received descriptors are close-on-exec.
ssize_t hwd_sendmsg(int fd, const void *head, size_t head_size, const void *body, size_t body_size,
                    const int *fds, size_t fd_count);
ssize_t hwd_recvmsg(int fd, void *buffer, size_t capacity, int fds[HWD_MAX_FDS], int *fd_count, int *truncated);
// Closes the descriptors that came and reports their number.
ssize_t hwd_recv_without_fds(int fd, void *buffer, size_t capacity, int *had_fds, int *truncated);
ssize_t hwd_peek(int fd, void *buffer, size_t capacity);

// Memory.
int hwd_memfd_create(const char *name);
int hwd_add_seals(int fd, int seals);
int hwd_get_seals(int fd);

// Processes. The child has no descriptors numbered `window` or above.
int hwd_spawn(pid_t *pid, const char *path, char *const argv[], char *const envp[], const int *sources,
              const int *targets, size_t count, int window, int new_session);
char **hwd_environ(void);
int hwd_pidfd_open(pid_t pid);
int hwd_pidfd_send_signal(int pidfd, int signal);
// 1 once the process has ended, with its status; 0 while it runs, only without `block`.
int hwd_pidfd_wait(int pidfd, int block, int *signaled, int *status);
int hwd_set_parent_death_signal(int signal);
int hwd_set_dumpable(int on);
int hwd_set_no_new_privileges(void);
int hwd_set_name(const char *name);
int hwd_set_limit(int resource, uint64_t soft, uint64_t hard);

// Events.
int hwd_epoll_create(void);
int hwd_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token);
int hwd_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int capacity, int timeout_ms);
int hwd_eventfd(void);
// Blocks the signals in the calling thread and those it starts later, and returns a descriptor that delivers them.
int hwd_signalfd(const int *signals, size_t count);
// The signal's number, or −EAGAIN.
int hwd_signalfd_next(int fd);

const char *hwd_error_text(int number);

// Counters shared between processes, without ordering between them.
static inline uint64_t hwd_counter_load(const void *at) { return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED); }
static inline void hwd_counter_store(void *at, uint64_t value) { __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELAXED); }
static inline void hwd_counter_add(void *at, uint64_t value) { __atomic_fetch_add((uint64_t *)at, value, __ATOMIC_RELAXED); }

#endif
