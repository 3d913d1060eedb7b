// SPDX-License-Identifier: MIT
// A private daemon: it inherits a listening socket and one end of a socket pair, and ends when the other end closes,
// however this process ends. It is started by a grandchild, so that the app's wait(2) never meets it.
#include "base/internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, EXEC_TIMEOUT = 10000 };

static bool is_program(char *out, const char *folder, int length, const char *below) {
    if (snprintf(out, PATH_SIZE, "%.*s%s", length, folder, below) >= PATH_SIZE) return false;
    return access(out, X_OK) == 0;
}

// hwdaemon beside this program, in its prefix, in $PATH, or where a package installs it.
static bool find_program(char *out) {
    char self[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    while (length > 0 && self[length - 1] != '/') length--;
    if (length > 0 && (is_program(out, self, (int)length, "hwdaemon") || is_program(out, self, (int)length, "../sbin/hwdaemon") ||
                       is_program(out, self, (int)length, "../libexec/hwdaemon/hwdaemon")))
        return true;
    const char *path = secure_getenv("PATH");
    while (path && *path) {
        int size = (int)strcspn(path, ":");
        // A relative entry would make the choice depend on the working directory.
        if (*path == '/' && (is_program(out, path, size, "/hwdaemon") ||
                             is_program(out, path, size, "/../libexec/hwdaemon/hwdaemon")))
            return true;
        path += size + (path[size] == ':');
    }
    static const char *const installed[] = {"/usr/local/libexec/hwdaemon/hwdaemon", "/usr/libexec/hwdaemon/hwdaemon"};
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (is_program(out, installed[i], (int)strlen(installed[i]), "")) return true;
    return false;
}

// Opens $XDG_RUNTIME_DIR if no other user can enter it, locked for a socket between bind(2) and listen(2), which refuses
// connections as one does whose daemon was killed; -1 without one.
static int own_folder(const char *path) {
    struct stat status;
    if (!path || path[0] != '/') return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0 &&
        flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    hwdi_close(fd);
    return -1;
}

// A socket that listens, at the address or, with an empty one, at one that the kernel chooses in the abstract namespace.
static int listen_at(struct sockaddr_un *at) {
    socklen_t size = at->sun_path[0] ? (socklen_t)sizeof *at : (socklen_t)sizeof at->sun_family;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (bind(fd, (struct sockaddr *)at, size) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    int number = errno;
    hwdi_close(fd);
    return -number;
}

// A listening socket in a folder of this user's, or in the abstract namespace.
static int listen_privately(char **address) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t size = sizeof at;
    const char *path = secure_getenv("XDG_RUNTIME_DIR");
    uint64_t digits;
    int fd = -ENOENT, folder = own_folder(path);
    if (folder >= 0 && getrandom(&digits, sizeof digits, 0) == sizeof digits &&
        snprintf(at.sun_path, sizeof at.sun_path, "%s/hwdaemon-private-%016" PRIx64 ".sock", path, digits) < (int)sizeof at.sun_path)
        fd = listen_at(&at);
    hwdi_close(folder);
    if (fd < 0) {
        at.sun_path[0] = 0;
        fd = listen_at(&at);
    }
    if (fd < 0) return fd;
    memset(&at, 0, sizeof at);
    getsockname(fd, (struct sockaddr *)&at, &size);
    size_t length = size - offsetof(struct sockaddr_un, sun_path);
    *address = calloc(1, length + 1);
    if (!*address) return hwdi_close(fd), -ENOMEM;
    memcpy(*address, at.sun_path, length);
    if (!(*address)[0]) (*address)[0] = '@';
    return fd;
}

void hwdi_remove_socket(const char *address) {
    if (address[0] == '/') unlink(address);
}

// Only async-signal-safe calls: the process may have had other threads. Returns only if the program cannot be executed.
static void become_daemon(const char *program, int listener, int lifetime, int report) {
    setsid();
    // First out of the way of their final numbers.
    listener = fcntl(listener, F_DUPFD, 10);
    lifetime = fcntl(lifetime, F_DUPFD, 10);
    report = fcntl(report, F_DUPFD, 10);
    int null = open("/dev/null", O_RDWR);
    if (listener < 0 || lifetime < 0 || report < 0 || null < 0) _exit(127);
    // A reader of this program's output must not wait for the daemon to end.
    dup2(null, 0);
    dup2(null, 1);
    dup2(listener, 3);
    dup2(lifetime, 4);
    dup2(report, 5);
    fcntl(5, F_SETFD, FD_CLOEXEC);
    if (syscall(SYS_close_range, 6U, ~0U, 0) < 0)
        for (int fd = 6; fd < 1024; fd++) close(fd);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char *arguments[] = {(char *)program, "--private", "--listen-fd", "3", "--lifetime-fd", "4", "--log-level", "error", NULL};
    execve(program, arguments, environ);
    int number = errno;
    if (write(5, &number, sizeof number) < 0) _exit(126);
}

// Starts the program; 0 once it is executed, or an error number.
static int spawn(const char *program, int listener, int lifetime) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0) return errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t child = fork();
    int number = child < 0 ? errno : 0;
    if (child == 0) {
        pid_t daemon = fork();
        if (daemon == 0) become_daemon(program, listener, lifetime, report[1]);
        int failure = errno;
        // The app reads the pipe's end as a program that was executed.
        if (daemon < 0 && write(report[1], &failure, sizeof failure) < 0) _exit(1);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    hwdi_close(report[1]);
    if (child > 0) {
        // An app that ignores SIGCHLD leaves no status: ECHILD is no failure.
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
        if (hwdi_poll(report[0], POLLIN, hwdi_deadline(EXEC_TIMEOUT, 0)) <= 0) number = ETIMEDOUT;
        // execve closes the pipe.
        int reported;
        if (number == 0 && read(report[0], &reported, sizeof reported) == sizeof reported) number = reported;
    }
    hwdi_close(report[0]);
    return number;
}

int hwdi_start_private(char **address, int *lifetime) {
    char program[PATH_SIZE];
    if (!find_program(program))
        return hwdi_fail(-ENOENT, "no daemon is running, and hwdaemon is neither beside this program nor in $PATH to start a private one");
    int ends[2];
    int listener = listen_privately(address);
    if (listener < 0) return hwdi_fail_errno(-listener, "a private daemon's socket");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        int number = errno;
        hwdi_close(listener);
        hwdi_remove_socket(*address);
        free(*address);
        return hwdi_fail_errno(number, "socketpair");
    }
    int number = spawn(program, listener, ends[0]);
    // Without this process's copy of the listener, connecting fails at once if the daemon dies.
    hwdi_close(listener);
    hwdi_close(ends[0]);
    if (number) {
        hwdi_close(ends[1]);
        hwdi_remove_socket(*address);
        free(*address);
        return hwdi_fail(-number, "a private daemon (%s) cannot be started: %s", program, strerrordesc_np(number));
    }
    *lifetime = ends[1];
    return 0;
}
