// SPDX-License-Identifier: MIT
// What the library's files share. Names begin with hwdi_, and the version script hides them.
#ifndef HWDAEMON_INTERNAL_H
#define HWDAEMON_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hwdaemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    HEADER_SIZE = 16,
    MAX_PAYLOAD = 65536,
    MAX_MESSAGE_FDS = 8,
    KERNEL_MAX_FDS = 253,       // SCM_MAX_FD
    MAX_REPLY = 4 << 20,        // bytes of a Varlink reply
    MAX_CALL = 65536,           // bytes of a Varlink call, without its NUL
    MAX_CREDITS = 4096,         // that Create's reply may grant
    MAX_EVENTS = 4096,          // that a worker may leave unfetched
    MAX_EVENT_BYTES = 16 << 20, // of texts, records and side data in them
    MAX_UNFETCHED_EVENTS = 2000, // with which a client may still send frames
    MAX_SIDE_DATA_BYTES = 49152,
    MAX_PACKET = 64 << 20,
    MAX_ARENAS = 64,
    MAX_DIMENSION = 16384,   // luma samples of a frame
    CALL_TIMEOUT = 30000,    // ms: the daemon's calls and Create
    SESSION_TIMEOUT = 60000, // ms: requests of a session whose Create set no timeout
};

// Of pts and durations.
#define TIME_BOUND ((int64_t)1 << 56)

// Opcodes of docs/protocol.md.
enum {
    SET_PROPERTIES = 1, COPY_PROPERTIES, ADD_POOL, REMOVE_POOL, PREPARE, ENCODE_FRAME, COMPLETE_FRAMES, RELEASE_PACKET,
    INVALIDATE, DECODE_FRAME, FINISH_DELAYED_FRAMES, CAN_ACCEPT_FORMAT, CHANGE_FORMAT, RELEASE_FRAME,
    ENCODE_FRAME_WITH_METADATA, TRANSFER_FRAME = 20, FINISH_FRAMES, TRANSFER_TIMED_FRAME,
    ADD_TABLE, CHANGE_EFFECTS, ADD_PICTURE, ADD_FENCE,
    REPLY = 64, FORMAT_DESCRIPTION, ADD_ARENA, FRAME_RELEASED, PACKET, END, FRAME_DECODED, PACKET_REPORT, REMOVE_ARENA,
    QUALITY_METRICS, FRAME_TRANSFERRED = 80,
};

// ---- error.c

// Records the cause for hwd_last_error; returns `status`.
int hwdi_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same for -number, with strerror's text.
int hwdi_fail_errno(int number, const char *call);
// Copies text of another process: one line of valid UTF-8, NUL-terminated.
void hwdi_printable(char *out, size_t capacity, const void *bytes, size_t size);
bool hwdi_is_status(int64_t number);

// ---- json.c: only what calls and replies need

// A JSON value's text.
typedef struct json {
    const char *at;
    size_t size;
} json;

// Whether the text is one JSON value that is nested 16 levels at most; trims it.
bool hwdi_json_check(const char *text, size_t size, json *value);
// A member of a checked object; false if there is none, or if it is null.
bool hwdi_json_member(json object, const char *name, json *value);
// Steps through a checked array or, with `key`, an object; `place` begins at 0.
bool hwdi_json_next(json list, size_t *place, json *key, json *value);
// A checked string's text, which the caller frees; NULL for other values, for one with a NUL, and without memory.
char *hwdi_json_string(json value);
bool hwdi_json_integer(json value, int64_t *number);
bool hwdi_json_boolean(json value, bool *truth);

// Text that grows; `failed` is set where memory ran out or a part was not valid.
typedef struct text {
    char *bytes;
    size_t size, capacity;
    bool failed;
} text;

void hwdi_add(text *to, const char *bytes);
void hwdi_add_bytes(text *to, const char *bytes, size_t size);
void hwdi_add_string(text *to, const char *value);            // quoted
void hwdi_add_number(text *to, int64_t value);
void hwdi_add_hex(text *to, const uint8_t *bytes, size_t size);
// Adds the object with the members of two checked ones: those of `over` replace, and a null removes one.
void hwdi_add_merged(text *to, json base, json over);

// ---- time and sockets: socket.c, varlink.c

int64_t hwdi_now(void); // monotonic nanoseconds
// When a timeout of a public function is over.
int64_t hwdi_deadline(int timeout_ms, int default_ms);
int hwdi_milliseconds_until(int64_t deadline);
// Retries close(2) never, as Linux has closed the descriptor whatever it returns.
void hwdi_close(int fd);
// A connected nonblocking socket of a user whom this process trusts, or an error.
int hwdi_connect(const char *address, int64_t deadline);
// Waits for poll(2) events; 1, 0 at the deadline, or -errno.
int hwdi_poll(int fd, short events, int64_t deadline);
// Sends a call and returns the reply's text with a NUL, which the caller frees. `parameters` is JSON.
int hwdi_exchange(int fd, const char *method, const char *parameters, bool upgrade, int64_t deadline, char **reply);
// The parameters of a reply; an error reply fails with its status and reason.
int hwdi_parameters(const char *reply, const char *method, json *parameters);

// ---- peer.c

// 0 where the user who listens at the other end of a connection is trusted, else -EACCES.
int hwdi_check_peer(int fd, const char *address);
// Whether only root, this user and the user who listens can change a folder in the socket's path.
bool hwdi_trusts_folder(uid_t peer, uid_t own, uid_t owner, mode_t mode);

// ---- daemon.c, private.c

struct hwd_daemon {
    char *address;
    int lifetime; // of a private daemon: it ends when this socket closes; -1
    pid_t owner;
};

int hwdi_start_private(char **address, int *lifetime);
// Removes the file of a private daemon that has ended; the daemon itself does that, unless it was killed.
void hwdi_remove_socket(const char *address);

// ---- pool.c, format.c

// The message that registers a picture in a dma-buf, whose number is set when it is sent.
typedef struct picture_message {
    size_t size;
    uint8_t bytes[32 + 16 * HWD_MAX_PLANES];
} picture_message;

struct hwd_pool {
    int references;
    int fd;
    size_t size;
    void *bytes;
    bool writable;
    dev_t device; // of the memfd: pools of the same memory have the same numbers
    ino_t file;
    picture_message *picture; // owned; NULL for a memfd
};

// Takes the descriptor and the mapping; NULL, and neither taken, without memory.
hwd_pool *hwdi_make_pool(int fd, size_t size, void *bytes, bool writable);
// Before and after the bytes of a pool that may be a dma-buf are read; false where they may lack what a device wrote last.
bool hwdi_access_pool(const hwd_pool *pool, bool begins);

// Maps a memfd that a worker sent, for reading, and takes the descriptor in any case. The reason is without a subject.
hwd_pool *hwdi_receive_memory(int fd, uint64_t min_size, uint64_t max_size, const char **reason);
int hwdi_planes(uint32_t format);
// HWD_PARAMETER for a frame's size that is not possible.
int hwdi_check_size(uint32_t width, uint32_t height);
// The bytes of kinds of side data that have one size; 0 for the others.
uint32_t hwdi_side_data_size(uint32_t kind);
// NULL, or what is wrong with the planes of a picture in a pool; sets rows and row_bytes.
const char *hwdi_check_planes(
    uint32_t format, uint32_t width, uint32_t height, hwd_plane *planes, uint32_t count, uint64_t pool_size);

// Copies a caller's structure, which may be of an older or newer version of the header.
int hwdi_take(void *local, size_t local_size, const void *given);
// Copies a structure to the caller as far as it knows it; the caller's size stays.
int hwdi_return(void *given, const void *local, size_t local_size);

#endif
