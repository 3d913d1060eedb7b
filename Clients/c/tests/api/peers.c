// SPDX-License-Identifier: MIT
// Which listening users the library trusts, and where private daemons listen.
#include "base/internal.h"
#include "api/api.h"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { STRANGER = 65534 };

static void test_folders(void) {
    CHECK(hwdi_trusts_folder(998, 1000, 0, S_IFDIR | 0755));
    CHECK(hwdi_trusts_folder(998, 1000, 998, S_IFDIR | 02750));
    CHECK(hwdi_trusts_folder(998, 1000, 1000, S_IFDIR | 0700));
    CHECK(!hwdi_trusts_folder(998, 1000, 997, S_IFDIR | 0755));
    CHECK(!hwdi_trusts_folder(998, 1000, 998, S_IFLNK | 0755));
    static const mode_t open_to_others[] = {0775, 0757, 0777, 01777, 03770, 0720, 0702};
    for (size_t i = 0; i < sizeof open_to_others / sizeof *open_to_others; i++) {
        CHECK(!hwdi_trusts_folder(998, 1000, 998, S_IFDIR | open_to_others[i]));
        CHECK(!hwdi_trusts_folder(998, 1000, 0, S_IFDIR | open_to_others[i]));
    }
}

// Another user's process listens and, for each connection, writes to `report` how many bytes come.
static pid_t start_stranger(const char *address, int report) {
    pid_t child = fork();
    if (child != 0) return child;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    char bytes[256];
    if (setgid(STRANGER) < 0 || setuid(STRANGER) < 0) _exit(1);
    memcpy(at.sun_path, address, length);
    if (address[0] == '@') at.sun_path[0] = 0;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0 || listen(listener, 8) < 0)
        _exit(1);
    ssize_t count = 0;
    // The first report: it listens.
    while (write(report, &count, sizeof count) > 0) {
        int connection = accept(listener, NULL, NULL);
        count = read(connection, bytes, sizeof bytes);
        close(connection);
    }
    _exit(1);
}

static ssize_t next_report(int report) {
    ssize_t count;
    CHECK(read(report, &count, sizeof count) == sizeof count);
    return count;
}

// Whether the library sends nothing to a stranger at an address, and says why.
static void test_stranger(const char *address, bool is_trusted) {
    int report[2];
    hwd_daemon *daemon;
    CHECK(pipe(report) == 0);
    pid_t child = start_stranger(address, report[1]);
    CHECK(child > 0 && next_report(report[0]) == 0);
    int result = hwd_open(address, 0, &daemon);
    if (is_trusted) {
        CHECK(result == 0);
        hwd_close(daemon);
    } else {
        CHECK(result == -EACCES && !daemon && strstr(hwd_last_error(), "user 65534 listens on") && strstr(hwd_last_error(), address));
    }
    CHECK(next_report(report[0]) == 0);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    close(report[0]);
    close(report[1]);
}

// A folder of a stranger's is trusted where only that user can replace it; a private daemon's name is not.
static void test_strangers(void) {
    char address[108];
    snprintf(address, sizeof address, "@hwd-stranger-%d", (int)getpid());
    test_stranger(address, false);
    for (int in_run = 0; in_run < 2; in_run++) {
        char folder[64];
        snprintf(folder, sizeof folder, "%s/hwd-peers-XXXXXX", in_run ? "/run" : "/tmp");
        CHECK(mkdtemp(folder) && chown(folder, STRANGER, STRANGER) == 0 && chmod(folder, 0755) == 0);
        snprintf(address, sizeof address, "%s/socket", folder);
        test_stranger(address, in_run);
        CHECK(unlink(address) == 0 && chmod(folder, 0775) == 0);
        test_stranger(address, false);
        CHECK(unlink(address) == 0 && rmdir(folder) == 0);
    }
}

void test_peers(void) {
    test_folders();
    // Only root can become another user.
    if (geteuid() == 0) test_strangers();
}

static int entries(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 2;
}

// A private daemon listens in a folder that no other user can enter, and leaves nothing there.
void test_private_folder(void) {
    char folder[] = "/tmp/hwd-runtime-XXXXXX";
    hwd_daemon *daemon;
    CHECK(mkdtemp(folder) && setenv("XDG_RUNTIME_DIR", folder, 1) == 0);
    CHECK(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon) == 0);
    CHECK(!strncmp(hwd_address(daemon), folder, strlen(folder)) && entries(folder) == 1);
    hwd_session *session = open_session(daemon);
    CHECK(encode(session, 0, TIMEOUT) == 0 && finish(session) == 1);
    hwd_destroy(session);
    hwd_close(daemon);
    CHECK(entries(folder) == 0);
    CHECK(chmod(folder, 0710) == 0 && hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon) == 0);
    CHECK(hwd_address(daemon)[0] == '@' && entries(folder) == 0);
    hwd_close(daemon);
    CHECK(unsetenv("XDG_RUNTIME_DIR") == 0 && rmdir(folder) == 0);
}
