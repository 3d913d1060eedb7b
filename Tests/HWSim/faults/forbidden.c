// SPDX-License-Identifier: GPL-2.0-or-later
// What a hostile driver would try in the process of a session. An attempt that succeeds ends the process with SIGUSR2, so
// that the session fails with that signal; one that is refused changes nothing.
#include "personality/personality.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool start_program(void) {
    char *const arguments[] = {"true", NULL};
    // It returns only where it fails.
    execve("/bin/true", arguments, NULL);
    return false;
}

static bool start_process(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child > 0;
}

static bool open_network(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }

static bool open_local_socket(void) { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }

static bool read_file(const char *path) { return open(path, O_RDONLY | O_CLOEXEC) >= 0; }

static bool read_passwords(void) { return read_file("/etc/passwd"); }

static bool read_home(void) {
    const char *home = getenv("HOME");
    return read_file(home && *home ? home : "/root");
}

static bool make_file(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/hwsim-was-here", folder);
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

static bool write_temporary(void) { return make_file("/tmp"); }

static bool write_cache(void) {
    const char *state = getenv("STATE_DIRECTORY");
    return state && make_file(state);
}

static bool open_other_node(void) { return open("/dev/full", O_RDWR | O_CLOEXEC) >= 0; }

// A file of somebody else's, which a test names.
static bool read_other_user(void) {
    const char *path = getenv("HWSIM_FILE");
    return path && read_file(path);
}

// Empties a file that it may only read.
static bool empty_file(void) {
    const char *path = getenv("HWSIM_FILE");
    return path && open(path, O_RDONLY | O_TRUNC | O_CLOEXEC) >= 0;
}

// In a thread that blocks the signal with which a sandbox reports a call.
static bool open_network_unseen(void) {
    sigset_t report;
    sigemptyset(&report);
    sigaddset(&report, SIGSYS);
    pthread_sigmask(SIG_BLOCK, &report, NULL);
    return open_network();
}

// Does not stop its parent.
static bool trace_parent(void) { return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0; }

static bool kill_parent(void) { return kill(getppid(), SIGKILL) == 0; }

// More than any session may have; nothing is touched.
static bool take_memory(void) {
    void *memory = mmap(NULL, (size_t)64 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED;
}

static const struct attempt {
    const char *name;
    bool (*succeeds)(void);
} attempts[] = {
    {"exec", start_program},   {"fork", start_process},        {"socket", open_network},
    {"unix", open_local_socket}, {"passwd", read_passwords},   {"home", read_home},
    {"tmp", write_temporary},  {"cache", write_cache},         {"other-node", open_other_node},
    {"ptrace", trace_parent},  {"kill-broker", kill_parent},   {"other-user", read_other_user},
    {"empty", empty_file},     {"unseen", open_network_unseen}, {"memory", take_memory},
};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

const char *forbidden_named(const char *word) {
    for (size_t i = 0; i < ATTEMPTS; i++)
        if (!strcmp(word, attempts[i].name)) return attempts[i].name;
    return NULL;
}

void forbidden_try(const char *name) {
    for (size_t i = 0; i < ATTEMPTS; i++)
        if (name == attempts[i].name && attempts[i].succeeds()) raise(SIGUSR2);
}
