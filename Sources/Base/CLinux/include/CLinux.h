// SPDX-License-Identifier: MIT
// System calls that Swift's Glibc module does not import, as functions. Each returns its result or −errno.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CDMABuf.h"

// The kernel's limit of descriptors in a message (SCM_MAX_FD).
enum { CHWD_MAX_FDS = 253 };
enum { CHWD_SEAL_SEAL = 1, CHWD_SEAL_SHRINK = 2, CHWD_SEAL_GROW = 4, CHWD_SEAL_WRITE = 8, CHWD_SEAL_FUTURE_WRITE = 16 };
enum { CHWD_EPOLL_IN = 1, CHWD_EPOLL_OUT = 4, CHWD_EPOLL_ERR = 8, CHWD_EPOLL_HUP = 16, CHWD_EPOLL_ONESHOT = 1 << 30 };
enum { CHWD_EPOLL_ADD = 1, CHWD_EPOLL_DEL = 2, CHWD_EPOLL_MOD = 3 };
enum { CHWD_RLIMIT_CORE, CHWD_RLIMIT_NOFILE, CHWD_RLIMIT_AS, CHWD_RLIMIT_CPU, CHWD_RLIMIT_FSIZE, CHWD_RLIMIT_NPROC };

// Unix sockets. A name is a path or, with `abstract`, the bytes after the leading NUL.
int chwd_socket_stream(void);
int chwd_socketpair(int seqpacket, int out[2]);
int chwd_bind(int fd, const char *name, size_t length, int abstract);
int chwd_bind_auto(int fd);
int chwd_connect(int fd, const char *name, size_t length, int abstract);
ssize_t chwd_socket_name(int fd, char *name, size_t capacity, int *abstract);
int chwd_accept(int fd);
int chwd_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
int chwd_set_send_timeout(int fd, int64_t nanoseconds);
int chwd_set_send_buffer(int fd, int bytes);

// Messages; these never block and never raise SIGPIPE. Received descriptors are close-on-exec.
ssize_t chwd_sendmsg(int fd, const void *head, size_t head_size, const void *body, size_t body_size,
                    const int *fds, size_t fd_count);
ssize_t chwd_recvmsg(int fd, void *buffer, size_t capacity, int fds[CHWD_MAX_FDS], int *fd_count, int *truncated);
// Closes the descriptors that came and reports their number.
ssize_t chwd_recv_without_fds(int fd, void *buffer, size_t capacity, int *had_fds, int *truncated);
ssize_t chwd_peek(int fd, void *buffer, size_t capacity);

// Files. Fails where the new name is taken.
int chwd_rename_new(int from, const char *old, int to, const char *name);
// Keeps disk blocks for a part of a file, whose size does not change.
int chwd_hold_blocks(int fd, int64_t offset, int64_t count);

// Memory.
int chwd_memfd_create(const char *name);
int chwd_add_seals(int fd, int seals);
int chwd_get_seals(int fd);

enum { CHWD_GROUP_INHERITED, CHWD_GROUP_OWN, CHWD_GROUP_SESSION };

// Processes. The child has no descriptors numbered `window` or above.
int chwd_spawn(pid_t *pid, const char *path, char *const argv[], char *const envp[], const int *sources,
              const int *targets, size_t count, int window, int group);
char **chwd_environ(void);
// Continues in a child; the calling process exits with status 0.
int chwd_detach(void);
int chwd_pidfd_open(pid_t pid);
int chwd_pidfd_send_signal(int pidfd, int signal);
// 1 once the process has ended, with its status; 0 while it runs, only without `block`.
int chwd_pidfd_wait(int pidfd, int block, int *signaled, int *status);
int chwd_set_parent_death_signal(int signal);
int chwd_set_dumpable(int on);
int chwd_set_no_new_privileges(void);
int chwd_set_name(const char *name);
int chwd_set_limit(int resource, uint64_t soft, uint64_t hard);
// Raises the soft limit to the hard one, which it reports; UINT64_MAX for none.
int chwd_raise_limit(int resource, uint64_t *hard);
// Adds to the calling thread's nice value and makes it SCHED_BATCH; threads that it starts later inherit both.
int chwd_lower_priority(int by);
// Sets the soft RLIMIT_DATA of another process of the same user, at most to its hard limit.
int chwd_limit_data(pid_t pid, uint64_t bytes);

// Events.
int chwd_epoll_create(void);
int chwd_epoll_control(int epoll, int operation, int fd, uint32_t events, uint64_t token);
int chwd_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int capacity, int timeout_ms);
int chwd_eventfd(void);
// Blocks the signals in the calling thread and those it starts later, and returns a descriptor that delivers them.
int chwd_signalfd(const int *signals, size_t count);
// The signal's number, or −EAGAIN.
int chwd_signalfd_next(int fd);

const char *chwd_error_text(int number);

// A word that hands memory from one process to another: what was written before the store is seen after a load of its value.
static inline uint64_t chwd_turn_load(const void *at) { return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE); }
static inline void chwd_turn_store(void *at, uint64_t value) { __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE); }

// Counters shared between processes, without ordering between them.
static inline uint64_t chwd_counter_load(const void *at) { return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED); }
static inline void chwd_counter_store(void *at, uint64_t value) { __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELAXED); }
static inline void chwd_counter_add(void *at, uint64_t value) { __atomic_fetch_add((uint64_t *)at, value, __ATOMIC_RELAXED); }

#endif
