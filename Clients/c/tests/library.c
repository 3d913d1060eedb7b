// SPDX-License-Identifier: MIT
// library SHARED_OBJECT ADDRESS: dlopen, use, dlclose, then the end of the thread that used it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hwdaemon.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path, *address;

static void die(const char *what) {
    fprintf(stderr, "library: %s\n", what);
    exit(1);
}

static void *entry(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) die(name);
    return found;
}

// Loads the library, makes a failure and a session, unloads it, and ends the thread.
static void *use(void *context) {
    (void)context;
    void *library = dlopen(path, RTLD_NOW);
    if (!library) die(dlerror());
    int (*open_daemon)(const char *, uint32_t, hwd_daemon **);
    int (*create)(hwd_daemon *, const hwd_compression_config *, hwd_session **);
    void (*destroy)(hwd_session *), (*close_daemon)(hwd_daemon *);
    const char *(*last_error)(void);
    *(void **)&open_daemon = entry(library, "hwd_open");
    *(void **)&create = entry(library, "hwd_compression_create");
    *(void **)&destroy = entry(library, "hwd_destroy");
    *(void **)&close_daemon = entry(library, "hwd_close");
    *(void **)&last_error = entry(library, "hwd_last_error");
    hwd_daemon *daemon;
    if (open_daemon("/nowhere", 0, &daemon) == 0 || !last_error()[0]) die("a daemon that is nowhere was found");
    if (open_daemon(address, 0, &daemon) < 0) die(last_error());
    hwd_compression_config config;
    HWD_INIT(config);
    config.width = 64, config.height = 48, config.pixel_format = HWD_NV12;
    config.time_base.numerator = 1, config.time_base.denominator = 30;
    hwd_session *session;
    if (create(daemon, &config, &session) < 0) die(last_error());
    destroy(session);
    close_daemon(daemon);
    dlclose(library);
    return NULL;
}

static void use_in_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, use, NULL) || pthread_join(thread, NULL)) die("no thread");
}

int main(int argc, char **argv) {
    if (argc < 3) die("usage: library SHARED_OBJECT ADDRESS");
    path = argv[1];
    address = argv[2];
    for (int i = 0; i < 3; i++) use_in_thread();
    pid_t child = fork();
    if (child == 0) {
        use_in_thread();
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || status != 0) die("a child of fork failed");
    printf("library: dlopen, use, dlclose, thread exit and fork do not crash\n");
    return 0;
}
