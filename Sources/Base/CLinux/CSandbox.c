// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

static inline long result(long value) { return value < 0 ? -errno : value; }

// --- Names of system calls

struct call { const char *name; int number; };

#define CALL(name) {#name, __NR_##name}
static const struct call calls[] = {
#include "SystemCalls.inc"
};
#undef CALL
enum { CALLS = sizeof calls / sizeof *calls };

int chwd_call_number(const char *name) {
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].number;
    return -1;
}

const char *chwd_call_name(int number) {
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].number == number) return calls[i].name;
    return NULL;
}

uint32_t chwd_audit_architecture(void) {
#if defined __x86_64__
    return AUDIT_ARCH_X86_64;
#elif defined __aarch64__
    return AUDIT_ARCH_AARCH64;
#else
#error "Add the audit architecture and the result register of SIGSYS's handler."
#endif
}

// --- Filters

_Static_assert(sizeof(struct chwd_instruction) == sizeof(struct sock_filter), "the kernel's layout");

static uint64_t *first_call, *call_count;

// Only calls that are safe in a signal handler.
static void on_refused_call(int signal_number, siginfo_t *info, void *context) {
    int saved = errno;
    if (info->si_code != SYS_SECCOMP) return;
    uint64_t none = 0;
    if (first_call)
        __atomic_compare_exchange_n(
            first_call, &none, (uint64_t)info->si_syscall + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (call_count) __atomic_fetch_add(call_count, 1, __ATOMIC_RELAXED);
    // si_errno is the 16-bit data of SECCOMP_RET_TRAP.
    unsigned data = (unsigned)info->si_errno & 0xffff;
    if (data & CHWD_TRAP_ENDS) {
        // The signal is blocked here; it ends the process when the handler returns.
        signal(signal_number, SIG_DFL);
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal_number);
        return;
    }
    ucontext_t *state = context;
    long long failure = -(long long)(data & 0xfff);
#if defined __x86_64__
    state->uc_mcontext.gregs[REG_RAX] = failure;
#elif defined __aarch64__
    state->uc_mcontext.regs[0] = (unsigned long long)failure;
#endif
    errno = saved;
}

int chwd_install_trap_handler(void *first, void *count) {
    first_call = first;
    call_count = count;
    struct sigaction action = {.sa_sigaction = on_refused_call, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSYS, &action, NULL) < 0) return -errno;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    return -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int chwd_install_filter(const struct chwd_instruction *program, size_t count) {
    if (count > BPF_MAXINSNS) return -E2BIG;
    struct sock_fprog filter = {.len = (unsigned short)count, .filter = (struct sock_filter *)program};
    long thread = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    // A positive result is the number of a thread that cannot take the filter.
    return thread > 0 ? -ESRCH : result(thread);
}

// --- Landlock

// Fields that older headers lack.
struct rule_set { uint64_t handled_access_fs, handled_access_net, scoped; };

int chwd_landlock_version(void) {
    return result(syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

int chwd_landlock_create(uint64_t file_rights, uint64_t network_rights, uint64_t scoped) {
    int version = chwd_landlock_version();
    if (version < 0) return version;
    struct rule_set set = {file_rights, version >= 4 ? network_rights : 0, version >= 6 ? scoped : 0};
    size_t size = version >= 6 ? sizeof set : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    return result(syscall(SYS_landlock_create_ruleset, &set, size, 0));
}

int chwd_landlock_allow(int rules, const char *path, uint64_t rights, uint64_t file_rights) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return -errno;
    struct stat status;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= file_rights;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = file};
    long done = rights ? result(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)) : 0;
    close(file);
    return done;
}

int chwd_landlock_restrict(int rules) { return result(syscall(SYS_landlock_restrict_self, rules, 0)); }

// --- Access control lists

long chwd_access_list(const char *path, void *bytes, size_t size) {
    long count = result(getxattr(path, "system.posix_acl_access", bytes, size));
    return count == -ENODATA || count == -EOPNOTSUPP ? 0 : count;
}
