// SPDX-License-Identifier: MIT
// A session: its connection, what is in flight, and its events. All members but those said to be fixed are protected by
// `lock`. One thread at a time polls the socket, unlocked; the others wait for `changed`.
#ifndef HWDAEMON_SESSION_H
#define HWDAEMON_SESSION_H

#include "base/internal.h"

// An event, from its message until hwd_release.
typedef struct item {
    struct item *next;
    hwd_event event;
    uint64_t remote; // the worker's number of the packet or picture
    hwd_pool *memory;
    void *bytes; // owned: format, reason, side data
    size_t size; // of bytes
    uint32_t process;    // whose memory it is; 0: the session's own
    struct item *format; // owned: a format event that precedes the packet, while packets are held back
} item;

// A packet to decode that the worker has.
typedef struct flight {
    uint64_t number;
    bool reports_release; // its memory is the app's
    uint64_t offset, size; // of a packet in the session's own pool
} flight;

// An answer that is expected: by a thread, or by hwd_complete as an event.
typedef struct waiter {
    struct waiter *next;
    uint32_t sequence; // of the message that it answers
    bool completes;    // allocated; its answer is HWD_EVENT_COMPLETED
    bool answered;
    int32_t status;
    bool lost;  // with the worker: the request has to be repeated
    bool is_silent;    // with `completes`: its answer is no event
    struct entry *change; // that the request makes
    char *body; // with a NUL
} waiter;

// Something that the worker was sent, or will be, and that another worker would need. Packets to decode are in packets.h.
typedef struct entry {
    struct entry *next;
    uint64_t serial; // counts the log's entries, from 1
    enum entry_kind { FRAME_ENTRY, PROPERTIES_ENTRY, COMPLETION_ENTRY, FORMAT_ENTRY, EFFECTS_ENTRY } kind;
    uint32_t opcode;
    uint8_t *payload; // the message
    size_t size;
    bool sent;         // to the present worker
    bool confirmed;    // properties, format, effects: a worker has taken them
    uint64_t number;   // of a frame; in decompression sessions of the packet that follows
    int64_t pts;       // of a frame, of a change of effects; of a completion: up to which frame
    int32_t slot;      // of the session's own frames; -1
    int32_t copy;      // slot of the copy; -1
    bool read;         // by the present worker
    bool returned;     // the frame's memory is the app's again
    bool coded;        // the present worker has sent its packet
    bool delivered;    // the packet went to the app
    hwd_transfer *transfer; // owned: the planes of a transfer
} entry;

typedef struct effect_change effect_change;

typedef struct registered_pool {
    struct registered_pool *next;
    uint32_t number;
    hwd_pool *pool;
    bool removing; // removePool is sent
    int fence;     // of a picture's last frame that has one, owned; -1
} registered_pool;

typedef struct arena {
    struct arena *next;
    uint32_t number;
    hwd_pool *memory;
} arena;

typedef struct message {
    uint32_t opcode;
    const uint8_t *payload;
    size_t size;
    int fds[MAX_MESSAGE_FDS];
    uint32_t fd_count;
} message;

typedef struct receiver {
    uint8_t *buffer;
    size_t start, end;
    int fds[MAX_MESSAGE_FDS + KERNEL_MAX_FDS];
    uint32_t fd_count;
    uint32_t sequence;
} receiver;

// What Create's reply says.
typedef struct created {
    hwd_session_info info;
    char *texts[4]; // of info
    uint32_t max_frames_held, reorder_depth;
} created;

enum { MAX_RESTARTS = 3 }; // SessionKind.maxRestarts of the daemon

// Whether a worker serves the session (restart.c).
enum session_state {
    SERVED,
    LOST,      // the worker can do no more; the next thread that waits replaces it
    REPLACING, // a thread creates the next session
    PREPARING, // that thread sends the next worker what it needs before the log
    ENDED,     // every later call fails
};

struct hwd_session {
    // Fixed after Create.
    char *address;
    pid_t owner;
    int malfunction; // the status of a worker that died or broke the protocol
    int socket, wake;
    int timeout;            // ms; of calls that have none of their own
    uint32_t target_format, target_width, target_height; // of a transfer
    bool has_alpha;         // whether a compression session codes alpha

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool polling, want_write, sending, asking, at_eof;
    uint32_t turns_wanted; // threads that wait for `sending` to become false
    int epoll, ready; // -1 until hwd_get_fd
    bool is_ready;

    hwd_session_info info;
    char *texts[1 + MAX_RESTARTS][4]; // of info; an app may have those of earlier ones
    enum session_state state;
    int status;        // LOST, REPLACING, ENDED: why
    char reason[1024]; // the same in words

    // Going on in another process (restart.c).
    uint32_t process;   // counts workers, from 1
    char *call;         // the members of Create but properties
    char *properties;   // a JSON object; NULL: none
    bool prepared;
    entry *log, **log_end;
    uint64_t last_serial; // of the log
    struct replay *replay; // of a compression session
    struct packet_log *decoding; // of a decompression session

    // Messages that another thread's turn, or a full socket, delays.
    uint64_t *releases; // packets or pictures to give back
    uint32_t release_count, max_releases;
    bool completes_again; // CompleteFrames up to `again_pts`
    int64_t again_pts;

    receiver in;
    uint32_t sequence; // of the last message sent
    waiter *waiters;
    size_t completions; // of `waiters`: those of hwd_complete

    item *first, **last; // events not fetched
    size_t event_count, event_bytes;
    item *held; // events fetched and not released
    uint64_t last_item;
    uint32_t held_by_client; // packets or pictures sent and not released

    registered_pool *pools;
    uint32_t last_pool;
    arena *arenas;
    flight *flights;
    uint32_t flight_count, max_flights;
    uint64_t last_number;

    // Compression.
    int64_t last_pts;
    bool has_pts;
    bool is_final_pass; // of MultiPassStorage
    bool has_errors;
    uint64_t errors_packet;
    double errors[3];
    hwd_pool *frames; // the session's own, in slots
    uint32_t frames_number;
    uint64_t slot_size;
    uint32_t slot_count;
    uint32_t spare_slots; // that may keep frames which the worker has read
    uint8_t *slots; // 0: free, 1: the app's, 2: the session's
    bool making_frames;

    // Transfer: tables of effects (effects.c), the effects of the last frame that was answered, NULL for those of Create, and changes
    // before the log.
    hwd_pool **tables;
    uint32_t table_count, first_table;
    effect_change *effects, *changes;

    // Decompression: where packets are copied to.
    hwd_pool *packets;
    uint32_t packets_number;
    bool storing;
};

typedef bool (*condition)(hwd_session *session, void *context);

// ---- session.c

// Locks a session; fails in a process that is not its owner.
int hwdi_enter(hwd_session *session, uint32_t kind);
void hwdi_leave(hwd_session *session);
// When a timeout of a session's function is over.
int64_t hwdi_until(const hwd_session *session, int timeout_ms);
// Creates a session by a call with these parameters, which are freed, and these properties.
int hwdi_create(hwd_daemon *daemon, uint32_t kind, text *parameters, const char *properties, int timeout_ms, int max_wait_ms,
                hwd_session **out);
// Sends a Create call on a new connection: its socket, or an error.
int hwdi_exchange_create(const char *address, uint32_t kind, const char *parameters, int64_t deadline, created *reply);
void hwdi_free_texts(char **texts);
// Memory for what the worker's credits allow; false where there is none.
bool hwdi_make_credits(hwd_session *session);
// Adds ,"name":value.
void hwdi_add_member(text *to, const char *name, const char *value);
void hwdi_add_object(text *to, const char *name, const char *object);
void hwdi_add_fourcc(text *to, const char *name, uint32_t fourcc);
void hwdi_add_time_base(text *to, hwd_rational time_base);

// ---- link.c; locked

// A result of functions that send and wait: the worker is lost, and the session may continue. Never a public function's.
#define HWDI_LOST (-0x40000000)
// Ends the session, unless it has ended.
void hwdi_end(hwd_session *session, int status, const char *reason);
// Ends it because the worker broke the protocol.
void hwdi_broken(hwd_session *session, const char *reason);
// The session's end as a result.
int hwdi_ended(hwd_session *session);
// Receives until the condition holds: 1; 0 at the deadline; negative: the session has ended. Handles messages at least once.
int hwdi_pump(hwd_session *session, int64_t deadline, condition done, void *context);
// Waits until no other thread sends: nobody else sends until hwdi_send or hwdi_end_turn. What must hold when the worker
// reads the message is checked in between.
int hwdi_take_turn(hwd_session *session, int64_t deadline);
void hwdi_end_turn(hwd_session *session);
// Expects the reply to the message that this turn sends.
void hwdi_expect(hwd_session *session, waiter *reply);
// Whether it was expected.
bool hwdi_forget(hwd_session *session, waiter *reply);
// Sends a message in this turn; `fd` is -1 or a descriptor.
int hwdi_write(hwd_session *session, uint32_t opcode, struct iovec *parts, int count, int fd, int64_t deadline);
// The same, and ends the turn.
int hwdi_send(hwd_session *session, uint32_t opcode, struct iovec *parts, int count, int fd, int64_t deadline);
// Waits for a reply that is expected, and forgets it; its body, which the caller frees, unless `body` is NULL.
int hwdi_await_reply(hwd_session *session, waiter *reply, int64_t deadline, char **body);
// Sends a message in this turn, keeps the turn, and waits for the reply.
int hwdi_request_in_turn(
    hwd_session *session, uint32_t opcode, const void *payload, size_t size, int fd, int64_t deadline, char **body);
// The same in a turn of its own, again where the worker was lost.
int hwdi_request(hwd_session *session, uint32_t opcode, const void *payload, size_t size, int fd, int64_t deadline, char **body);
// Sends `invalidate` if that needs no waiting.
void hwdi_send_invalidate(hwd_session *session);
void hwdi_changed(hwd_session *session);

// ---- restart.c; locked

static inline bool hwdi_has_ended(const hwd_session *session) { return session->state == ENDED; }
static inline bool hwdi_has_worker(const hwd_session *session) { return session->state == SERVED || session->state == PREPARING; }
// Whether the worker can do no more, and the session may continue.
static inline bool hwdi_lacks_worker(const hwd_session *session) { return session->state == LOST || session->state == REPLACING; }
// Ends the session, or lets it continue in another process, because the worker can do no more.
void hwdi_lose(hwd_session *session, int status, const char *reason);
bool hwdi_may_continue(const hwd_session *session);
// Continues the session in another process, or ends it. Unlocks meanwhile.
void hwdi_recover(hwd_session *session);
// The daemon's answer about a session's end, which the caller frees; an error, or 0 while it runs.
int hwdi_ask_result(const char *address, const char *session, int64_t deadline, char **reply, json *found);

// ---- log.c; locked

static inline bool hwdi_is_change(const entry *of) {
    return of->kind == PROPERTIES_ENTRY || of->kind == FORMAT_ENTRY || of->kind == EFFECTS_ENTRY;
}
entry *hwdi_new_entry(enum entry_kind kind, uint32_t opcode, const struct iovec *parts, int count);
void hwdi_free_entry(entry *freed);
void hwdi_append(hwd_session *session, entry *added);
void hwdi_remove_entry(hwd_session *session, entry *removed);
// The log's entry of a serial number; NULL: it was removed.
entry *hwdi_find_entry(hwd_session *session, uint64_t serial);
entry *hwdi_find_frame(hwd_session *session, uint64_t number);
// Frames that the worker has not read.
uint32_t hwdi_unread(const hwd_session *session);
// Waits for a credit: 0, or an error. Nothing else may wait before the frame is appended.
int hwdi_wait_credit(hwd_session *session, int64_t deadline);
// Sends what was appended, and takes it back where that fails.
int hwdi_send_entry(hwd_session *session, entry *added, int64_t deadline);
// Sends what may be sent. HWDI_LOST: another worker is sent the rest.
int hwdi_send_logged(hwd_session *session, int64_t deadline);
// Sends what can be sent now, if no other thread sends.
void hwdi_advance(hwd_session *session);
bool hwdi_all_sent(hwd_session *session, void *context);
// Sends a change of properties or of the format, and waits for the reply, again where the worker was lost.
int hwdi_change(hwd_session *session, enum entry_kind kind, uint32_t opcode, const void *payload, size_t size, int64_t deadline);
// The oldest request for results that was sent; NULL if there is none.
entry *hwdi_first_completion(hwd_session *session);
// Makes properties that no remaining frame preceded part of the next Create call.
void hwdi_fold_properties(hwd_session *session);
// Prepares the log for another worker.
void hwdi_rewind(hwd_session *session);
// Gives a packet or picture back with the next message.
void hwdi_release_later(hwd_session *session, uint64_t remote);

// ---- receiver.c

// 1: a message, valid until the next call; 0: none has arrived; negative: the session has ended or is at its end of file.
int hwdi_next_message(hwd_session *session, message *out);
// Whether hwdi_next_message has something to do without reading the socket.
bool hwdi_has_message(const hwd_session *session);
void hwdi_free_receiver(receiver *in);
// Forgets what was received and counted, for another connection.
void hwdi_lose_receiver(hwd_session *session);

// ---- handlers.c, pictures.c; locked

// Takes a message; closes its descriptors.
void hwdi_handle(hwd_session *session, message *received);
void hwdi_handle_picture(hwd_session *session, message *received);
hwd_pool *hwdi_take_memory(hwd_session *session, message *received, uint64_t min_size, uint64_t max_size, const char *what);

// ---- frames.c; locked

enum { APP_MEMORY = -1, NO_SLOT = -2 };
// The slot of a frame that was acquired and not sent; APP_MEMORY for one in a pool of the app's, NO_SLOT for neither.
int32_t hwdi_acquired_slot(hwd_session *session, const hwd_frame *frame);

// ---- events.c; locked

item *hwdi_new_item(hwd_session *session, uint32_t type);
void hwdi_free_item(item *freed);
void hwdi_push(hwd_session *session, item *added);
void hwdi_signal(hwd_session *session);

// ---- flights.c; locked

// The result may move when another is added or removed.
flight *hwdi_find_flight(hwd_session *session, uint64_t number);
// Frees a flight's credit and memory.
void hwdi_end_flight(hwd_session *session, flight *ended);
// The memory of a registered pool, also of one that is being removed; NULL if there is none.
hwd_pool *hwdi_registered_pool(hwd_session *session, uint32_t number);
// Sends AddFence in this turn, for a pool that has a fence, and waits for the reply.
int hwdi_fence_in_turn(hwd_session *session, const registered_pool *pool, int64_t deadline);
// Sends AddPool in this turn and waits for the reply.
int hwdi_add_in_turn(hwd_session *session, uint32_t number, hwd_pool *pool, int64_t deadline);
// The memory of a pool that frames and packets may name; NULL if there is none.
hwd_pool *hwdi_find_pool(hwd_session *session, uint32_t number);
int hwdi_register_pool(hwd_session *session, hwd_pool *pool, int64_t deadline);
int hwdi_unregister_pool(hwd_session *session, uint32_t number, int64_t deadline);
// Another worker gets this pool in place of one, or with number 0 as a further one; its number.
int hwdi_replace_pool(hwd_session *session, uint32_t number, hwd_pool *pool);

// ---- little-endian fields

static inline void put_32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
}
static inline void put_64(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}
static inline uint32_t get_32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static inline uint64_t get_64(const uint8_t *at) { return get_32(at) | (uint64_t)get_32(at + 4) << 32; }

#endif
