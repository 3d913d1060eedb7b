// SPDX-License-Identifier: MIT
// The movie writer without a daemon: what is refused, and files of a gray picture that a program cannot finish.
// movie FOLDER    writes movies to FOLDER, which scripts/check-clients gives to others.
#include "movie/movie.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                         \
    do {                                                                                                         \
        if (condition) break;                                                                                    \
        fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, hwd_last_error());                   \
        exit(1);                                                                                                 \
    } while (0)

// Of a gray picture of 64x64 that x265 coded.
static const char record_text[] =
    "0101600000009000000000001ef000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003001e959809a1000100"
    "2842010101600000030090000003000003001ea020810596566924caf0168080000003008000000f04a2000100074401c172b42240";
static const char picture_text[] = "0000000c2801af0860f929e39b2b1740";
static uint8_t record[128], picture[32];
static size_t record_size, picture_size;
static char folder[4096];

// What the library calls instead of libc's functions: a disk without space for the end, and what is flushed.
static enum { HELD, NO_SPACE, NOT_HELD } holding;
static int folders_flushed;

int fallocate(int fd, int mode, off_t at, off_t count) {
    int (*call)(int, int, off_t, off_t);
    *(void **)&call = dlsym(RTLD_NEXT, "fallocate");
    if (holding == HELD) return call(fd, mode, at, count);
    errno = ENOSPC;
    return holding == NO_SPACE ? -1 : 0;
}

int fsync(int fd) {
    struct stat status;
    int (*call)(int);
    *(void **)&call = dlsym(RTLD_NEXT, "fsync");
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) folders_flushed++;
    return call(fd);
}

static size_t parse(const char *text, uint8_t *bytes) {
    size_t size = strlen(text) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        CHECK(sscanf(text + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (uint8_t)byte;
    }
    return size;
}

static const char *path(const char *name) {
    static char made[2][8192];
    static int turn;
    turn = !turn;
    snprintf(made[turn], sizeof made[turn], "%s/%s", folder, name);
    return made[turn];
}

static hwd_movie *start(const char *name) {
    hwd_movie *movie;
    hwd_movie_video video;
    CHECK(hwd_movie_create(path(name), HWD_MOVIE_REPLACE, &movie) == 0);
    HWD_INIT(video);
    video.time_scale = 30, video.width = video.height = 64;
    video.format = record, video.format_size = record_size;
    CHECK(hwd_movie_add_video(movie, &video) == 0);
    return movie;
}

static int add(hwd_movie *movie, int64_t time) {
    hwd_movie_packet packet;
    HWD_INIT(packet);
    packet.data = picture, packet.data_size = picture_size;
    packet.pts = packet.dts = time, packet.duration = 1;
    return hwd_movie_append(movie, 0, &packet);
}

static off_t size_of(const char *name) {
    struct stat status;
    return stat(path(name), &status) == 0 ? status.st_size : -1;
}

static void check_arguments(void) {
    hwd_movie *movie = NULL;
    CHECK(hwd_movie_create(NULL, 0, &movie) == -EINVAL && !movie);
    CHECK(hwd_movie_create("", 0, &movie) == -EINVAL);
    CHECK(hwd_movie_create("a.mov", 0, NULL) == -EINVAL);
    CHECK(hwd_movie_create("a.mov", 8, &movie) == -EINVAL);
    CHECK(hwd_movie_create("a.mov", HWD_MOVIE_QUICKTIME | HWD_MOVIE_MP4, &movie) == -EINVAL);
    CHECK(hwd_movie_create(folder, HWD_MOVIE_REPLACE, &movie) == -EISDIR);
    CHECK(hwd_movie_create("/dev/null", HWD_MOVIE_REPLACE, &movie) == -EINVAL);
    CHECK(hwd_movie_create(path("none/a.mov"), 0, &movie) == -ENOENT && strstr(hwd_last_error(), "cannot be created"));
    CHECK(hwd_movie_append(NULL, 0, NULL) == -EINVAL && hwd_movie_flush(NULL) == -EINVAL);
    CHECK(hwd_movie_sync(NULL) == -EINVAL && hwd_movie_finish(NULL) == -EINVAL);
    CHECK(hwd_movie_change_format(NULL, 0, record, record_size) == -EINVAL);
    hwd_movie_close(NULL);
}

static void check_settings(void) {
    hwd_movie *movie = start("settings.mov");
    hwd_movie_video good, video;
    HWD_INIT(good);
    good.time_scale = 30, good.width = good.height = 64;
    good.format = record, good.format_size = record_size;
    CHECK(hwd_movie_add_video(movie, NULL) == -EINVAL);
    for (int i = 0; i < 9; i++) {
        video = good;
        if (i == 0) video.size = 4;
        if (i == 1) video.time_scale = 0;
        if (i == 2) video.width = 0;
        if (i == 3) video.height = 65536;
        if (i == 4) video.rotation = 45;
        if (i == 5) video.format = NULL;
        if (i == 6) video.format_size = 22;
        if (i == 7) video.boxes_size = 8;
        if (i == 8) video.boxes = "\0\0\0\7free", video.boxes_size = 8;
        CHECK(hwd_movie_add_video(movie, &video) == -EINVAL);
    }
    // Every part of a record.
    for (size_t size = 0; size < record_size; size++) {
        uint8_t *part = malloc(size + 1);
        memcpy(part, record, size);
        video = good;
        video.format = part, video.format_size = size;
        CHECK(hwd_movie_add_video(movie, &video) == -EINVAL);
        free(part);
    }
    uint8_t entry[36] = {0, 0, 0, 36, 'm', 'p', '4', 'a'};
    hwd_movie_sound sound;
    HWD_INIT(sound);
    sound.time_scale = 48000, sound.entry = entry, sound.entry_size = sizeof entry - 1;
    CHECK(hwd_movie_add_sound(movie, &sound) == -EINVAL);
    sound.entry_size = sizeof entry;
    sound.reserved = 1;
    CHECK(hwd_movie_add_sound(movie, &sound) == -EINVAL);
    sound.reserved = 0;
    for (int i = 1; i < HWD_MOVIE_MAX_TRACKS; i++) CHECK(hwd_movie_add_sound(movie, &sound) == i);
    CHECK(hwd_movie_add_sound(movie, &sound) == -EINVAL && strstr(hwd_last_error(), "16 tracks"));
    hwd_movie_close(movie);
}

// Files without a packet do not stay; other files of their names do.
static void check_names(void) {
    hwd_movie *movie = start("settings.mov");
    CHECK(hwd_movie_finish(movie) == -ENODATA && size_of("settings.mov") == -1);
    CHECK(mknod(path("settings.mov"), S_IFREG | 0600, 0) == 0);
    hwd_movie_close(movie);
    CHECK(size_of("settings.mov") == 0);
    movie = start("settings.mov");
    CHECK(rename(path("settings.mov"), path("moved.mov")) == 0 && mknod(path("settings.mov"), S_IFREG | 0600, 0) == 0);
    hwd_movie_close(movie);
    CHECK(size_of("settings.mov") == 0 && unlink(path("settings.mov")) == 0 && unlink(path("moved.mov")) == 0);
    movie = start("settings.mov");
    hwd_movie_close(movie);
    CHECK(size_of("settings.mov") == -1);
}

static void check_packets(void) {
    hwd_movie *movie = start("packets.mov"), *other;
    CHECK(add(movie, 5) == 0);
    CHECK(hwd_movie_create(path("packets.mov"), HWD_MOVIE_REPLACE, &other) == -EBUSY);
    CHECK(hwd_movie_create(path("packets.mov"), 0, &other) == -EEXIST);
    CHECK(add(movie, 4) == -EINVAL && add(movie, (int64_t)1 << 40) == -EINVAL && add(movie, INT64_MIN) == -EINVAL);
    CHECK(add(movie, INT64_MAX) == -EINVAL);
    hwd_movie_packet good, packet;
    HWD_INIT(good);
    good.data = picture, good.data_size = picture_size, good.pts = good.dts = 6, good.duration = 1;
    for (int i = 0; i < 6; i++) {
        packet = good;
        if (i == 0) packet.data = NULL;
        if (i == 1) packet.data_size = 0;
        if (i == 2) packet.duration = -1;
        if (i == 3) packet.pts = 5;
        if (i == 4) packet.duration = UINT32_MAX;
        if (i == 5) packet.size = 0;
        CHECK(hwd_movie_append(movie, 0, &packet) == -EINVAL);
    }
    packet = good;
    CHECK(hwd_movie_append(movie, -1, &packet) == -EINVAL && hwd_movie_append(movie, 1, &packet) == -EINVAL);
    // Parts of a packet, in memory of their sizes, so that sanitizers see what is read.
    for (size_t size = 1; size < picture_size; size++) {
        uint8_t *part = malloc(size);
        memcpy(part, picture, size);
        packet = good;
        packet.data = part, packet.data_size = size;
        CHECK(hwd_movie_append(movie, 0, &packet) == -EINVAL);
        free(part);
    }
    hwd_movie_video video;
    HWD_INIT(video);
    video.time_scale = 30, video.width = video.height = 64, video.format = record, video.format_size = record_size;
    CHECK(hwd_movie_add_video(movie, &video) == -EBUSY);
    for (int64_t time = 6; time < 95; time++) CHECK(add(movie, time) == 0);
    folders_flushed = 0;
    CHECK(hwd_movie_flush(movie) == 0 && hwd_movie_sync(movie) == 0 && folders_flushed == 1);
    CHECK(hwd_movie_sync(movie) == 0 && hwd_movie_finish(movie) == 0 && folders_flushed == 1);
    CHECK(hwd_movie_finish(movie) == -EINVAL && add(movie, 100) == -EINVAL && hwd_movie_flush(movie) == -EINVAL);
    hwd_movie_close(movie);
    CHECK(rename(path("packets.mov"), path("finished.mov")) == 0);
}

// Formats that differ in their level.
static void check_formats(void) {
    hwd_movie *movie = start("formats.mov");
    uint8_t changed[sizeof record];
    int64_t time = 0;
    int made = 0;
    memcpy(changed, record, record_size);
    CHECK(add(movie, time++) == 0);
    CHECK(hwd_movie_change_format(movie, 0, record, record_size - 1) == -EINVAL);
    CHECK(hwd_movie_change_format(movie, 1, record, record_size) == -EINVAL);
    for (int level = 31; level < 90; level++) {
        changed[12] = (uint8_t)level;
        int status = hwd_movie_change_format(movie, 0, changed, record_size);
        if (status == 0) made++;
        CHECK(status == 0 || status == -ENOSPC);
        CHECK(add(movie, time++) == 0);
    }
    // The space of the first movie box, or the table, is full; what was there is known still.
    CHECK(made > 8 && made < 59);
    CHECK(hwd_movie_change_format(movie, 0, record, record_size) == 0 && add(movie, time++) == 0);
    CHECK(hwd_movie_finish(movie) == 0);
    hwd_movie_close(movie);
}

static void check_full(void) {
    hwd_movie *movie = start("full.mov");
    for (int64_t time = 0; time < 40; time++) CHECK(add(movie, time) == 0);
    CHECK(hwd_movie_flush(movie) == 0);
    off_t size = size_of("full.mov");
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = (rlim_t)size + 100;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    int status = 0;
    for (int64_t time = 40; time < 90 && status == 0; time++) status = add(movie, time);
    CHECK(status == -EFBIG && add(movie, 90) == -EFBIG && size_of("full.mov") == size);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(hwd_movie_finish(movie) == 0 && size_of("full.mov") > size);
    hwd_movie_close(movie);
}

static blkcnt_t blocks_of(const char *name) {
    struct stat status;
    CHECK(stat(path(name), &status) == 0);
    return status.st_blocks;
}

// A fragment that has no space leaves the end its own.
static void check_space(void) {
    hwd_movie *movie = start("space.mov");
    for (int64_t time = 0; time < 40; time++) CHECK(add(movie, time) == 0);
    folders_flushed = 0;
    CHECK(hwd_movie_flush(movie) == 0);
    blkcnt_t blocks = blocks_of("space.mov");
    holding = NO_SPACE;
    int status = 0;
    for (int64_t time = 40; time < 90 && status == 0; time++) status = add(movie, time);
    CHECK(status == -ENOSPC && blocks_of("space.mov") == blocks);
    holding = HELD;
    CHECK(hwd_movie_finish(movie) == 0 && folders_flushed == 1);
    hwd_movie_close(movie);
}

// Movies end before what their readers take; each packet that was accepted is in the file.
static void check_limits(void) {
    for (int limit = 0; limit < 4; limit++) {
        hwd_movie *movie = start("limits.mov");
        uint8_t entry[36] = {0, 0, 0, 36, 'm', 'p', '4', 'a'};
        hwd_movie_sound sound;
        HWD_INIT(sound);
        sound.time_scale = 48000, sound.entry = entry, sound.entry_size = sizeof entry;
        CHECK(hwd_movie_add_sound(movie, &sound) == 1);
        CHECK(add(movie, 0) == 0 && hwd_movie_flush(movie) == 0);
        holding = NOT_HELD;
        if (limit == 0) movie->samples = MAX_SAMPLES - 40;
        if (limit == 1) movie->sequence = MAX_FRAGMENTS - 4;
        if (limit == 2) movie->runs = MAX_RUNS - 8;
        if (limit == 3) movie->boxes = MAX_FRAGMENT_BOXES - 1500;
        uint32_t count = 1;
        int status;
        while ((status = add(movie, count)) == 0) CHECK(++count < 200);
        CHECK(status == -EFBIG && strstr(hwd_last_error(), "readers") && count > 15);
        CHECK(add(movie, count) == -EFBIG && hwd_movie_finish(movie) == 0 && movie->tracks[0].count == count);
        CHECK(movie->samples <= MAX_SAMPLES && movie->sequence <= MAX_FRAGMENTS && movie->runs <= MAX_RUNS);
        CHECK(movie->boxes <= MAX_FRAGMENT_BOXES);
        hwd_movie_close(movie);
        holding = HELD;
    }
}

// A program that is killed, and one whose child may only free its movie.
static void check_killed(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        static hwd_movie *killed; // static: valgrind looks for leaks in this process, too
        killed = start("killed.mov");
        for (int64_t time = 0; time < 95; time++) CHECK(add(killed, time) == 0);
        kill(getpid(), SIGKILL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && size_of("killed.mov") > 0);
    hwd_movie *movie = start("forked.mov");
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        hwd_movie_video video;
        hwd_movie_sound sound;
        uint8_t entry[36] = {0, 0, 0, 36, 'm', 'p', '4', 'a'};
        HWD_INIT(video);
        HWD_INIT(sound);
        video.time_scale = 30, video.width = video.height = 64, video.format = record, video.format_size = record_size;
        sound.time_scale = 48000, sound.entry = entry, sound.entry_size = sizeof entry;
        CHECK(add(movie, 0) == -EPERM && hwd_movie_flush(movie) == -EPERM && hwd_movie_sync(movie) == -EPERM);
        CHECK(hwd_movie_change_format(movie, 0, record, record_size) == -EPERM && hwd_movie_finish(movie) == -EPERM);
        CHECK(hwd_movie_add_video(movie, &video) == -EPERM && hwd_movie_add_sound(movie, &sound) == -EPERM);
        hwd_movie_close(movie);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0 && size_of("forked.mov") == 0);
    CHECK(add(movie, 0) == 0 && hwd_movie_finish(movie) == 0);
    hwd_movie_close(movie);
    CHECK(size_of("forked.mov") > 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    snprintf(folder, sizeof folder, "%s", argv[1]);
    record_size = parse(record_text, record);
    picture_size = parse(picture_text, picture);
    check_arguments();
    check_settings();
    check_names();
    check_packets();
    check_formats();
    check_full();
    check_space();
    check_limits();
    check_killed();
    puts("movie: arguments, settings, packets, formats, a full disk, limits, and programs that are killed");
    return 0;
}
