// SPDX-License-Identifier: MIT
// fork(2), and private daemons.
#include "api/api.h"

#include <signal.h>
#include <sys/wait.h>

// The child may only free what it has inherited; the parent's session continues.
void test_fork(hwd_daemon *daemon) {
    hwd_session *session = open_session(daemon);
    CHECK(encode(session, 0, TIMEOUT) == 0);
    pid_t child = fork();
    if (child == 0) {
        hwd_event event;
        HWD_INIT(event);
        bool refused = hwd_next_event(session, &event, 0) == -EPERM && hwd_get_fd(session) == -EPERM;
        hwd_destroy(session);
        hwd_session *own = open_session(daemon);
        bool works = encode(own, 0, TIMEOUT) == 0 && finish(own) == 1;
        hwd_destroy(own);
        hwd_close(daemon);
        _exit(refused && works ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(encode(session, 1, TIMEOUT) == 0 && finish(session) == 2);
    hwd_destroy(session);
}

static bool is_gone(const char *address) {
    hwd_daemon *daemon;
    for (int i = 0; i < 400; i++, usleep(20000)) {
        if (hwd_open(address, 0, &daemon) == -ECONNREFUSED) return true;
        hwd_close(daemon);
    }
    return false;
}

static void *start(void *context) {
    CHECK(hwd_open(NULL, HWD_OPEN_PRIVATE, context) == 0);
    return NULL;
}

void test_private_daemon(void) {
    hwd_daemon *daemon;
    pthread_t thread;
    char address[128];
    unsetenv("HWDAEMON_SOCKET");
    // It outlives the thread that started it.
    CHECK(pthread_create(&thread, NULL, start, &daemon) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(hwd_is_private(daemon) && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    snprintf(address, sizeof address, "%s", hwd_address(daemon));
    hwd_session *session = open_session(daemon);
    CHECK(encode(session, 0, TIMEOUT) == 0 && finish(session) == 1);
    hwd_destroy(session);
    hwd_close(daemon);
    CHECK(is_gone(address));
    // It ends with its process, however that ends.
    int report[2];
    CHECK(pipe(report) == 0);
    pid_t child = fork();
    if (child == 0) {
        start(&daemon);
        if (write(report[1], hwd_address(daemon), strlen(hwd_address(daemon)) + 1) > 0) pause();
        _exit(1);
    }
    CHECK(read(report[0], address, sizeof address) > 1);
    CHECK(hwd_open(address, 0, &daemon) == 0);
    hwd_close(daemon);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    CHECK(is_gone(address));
    test_private_folder();
    // An address that is set is the only one.
    setenv("HWDAEMON_SOCKET", "/nowhere/socket", 1);
    CHECK(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon) == -ECONNREFUSED);
}
