// SPDX-License-Identifier: MIT
// Packets to decode that the worker has, and registered pools.
#include "replay/replay.h"

flight *hwdi_find_flight(hwd_session *session, uint64_t number) {
    for (uint32_t i = 0; i < session->flight_count; i++)
        if (session->flights[i].number == number) return &session->flights[i];
    return NULL;
}

void hwdi_end_flight(hwd_session *session, flight *ended) {
    *ended = session->flights[--session->flight_count];
}

static registered_pool *find_registered(hwd_session *session, uint32_t number) {
    registered_pool *at = session->pools;
    while (at && at->number != number) at = at->next;
    return at;
}

hwd_pool *hwdi_registered_pool(hwd_session *session, uint32_t number) {
    registered_pool *found = find_registered(session, number);
    return found ? found->pool : NULL;
}

hwd_pool *hwdi_find_pool(hwd_session *session, uint32_t number) {
    registered_pool *found = find_registered(session, number);
    return found && !found->removing ? found->pool : NULL;
}

// The message that registers a pool: its opcode.
static uint32_t describe_pool(picture_message *message, uint32_t number, const hwd_pool *pool) {
    if (pool->picture) {
        *message = *pool->picture;
        put_32(message->bytes, number);
        return ADD_PICTURE;
    }
    memset(message->bytes, 0, sizeof message->bytes);
    message->size = 16;
    put_32(message->bytes, number);
    put_64(message->bytes + 8, pool->size);
    return ADD_POOL;
}

int hwdi_add_in_turn(hwd_session *session, uint32_t number, hwd_pool *pool, int64_t deadline) {
    picture_message message;
    uint32_t opcode = describe_pool(&message, number, pool);
    return hwdi_request_in_turn(session, opcode, message.bytes, message.size, pool->fd, deadline, NULL);
}

int hwdi_register_pool(hwd_session *session, hwd_pool *pool, int64_t deadline) {
    registered_pool *added = malloc(sizeof *added);
    if (!added) return hwdi_fail_errno(ENOMEM, "a pool");
    if (session->last_pool == INT32_MAX) {
        free(added);
        return hwdi_fail(HWD_ALLOCATION_FAILED, "the session has no more numbers for pools");
    }
    uint32_t number = ++session->last_pool;
    picture_message message;
    uint32_t opcode = describe_pool(&message, number, pool);
    int result = hwdi_request(session, opcode, message.bytes, message.size, pool->fd, deadline, NULL);
    if (result < 0) {
        free(added);
        return result;
    }
    *added = (registered_pool){session->pools, number, hwd_pool_ref(pool), false, -1};
    session->pools = added;
    return (int)number;
}

int hwdi_replace_pool(hwd_session *session, uint32_t number, hwd_pool *pool) {
    registered_pool *found = find_registered(session, number);
    if (!found) {
        found = session->last_pool < INT32_MAX ? malloc(sizeof *found) : NULL;
        if (!found) return hwdi_fail_errno(ENOMEM, "a pool");
        *found = (registered_pool){session->pools, ++session->last_pool, NULL, false, -1};
        session->pools = found;
    }
    hwd_pool_unref(found->pool);
    found->pool = hwd_pool_ref(pool);
    return (int)found->number;
}

static void forget_pool(hwd_session *session, registered_pool *removed) {
    registered_pool **place = &session->pools;
    while (*place != removed) place = &(*place)->next;
    *place = removed->next;
    hwd_pool_unref(removed->pool);
    hwdi_close(removed->fence);
    free(removed);
}

int hwdi_unregister_pool(hwd_session *session, uint32_t number, int64_t deadline) {
    int result = hwdi_take_turn(session, deadline);
    if (result < 0) return result;
    registered_pool *removed = find_registered(session, number);
    if (!removed || removed->removing) {
        hwdi_end_turn(session);
        return hwdi_fail(HWD_PARAMETER, "there is no pool %u", number);
    }
    if ((result = hwdi_vacate_pool(session, number)) < 0) {
        hwdi_end_turn(session);
        return result;
    }
    // From now on no other thread's frame names it: that would end the session.
    removed->removing = true;
    uint8_t payload[4];
    put_32(payload, number);
    waiter reply = {0};
    struct iovec part = {payload, sizeof payload};
    hwdi_expect(session, &reply);
    result = hwdi_send(session, REMOVE_POOL, &part, 1, -1, deadline);
    if (result < 0 && result != HWDI_LOST) {
        hwdi_forget(session, &reply);
        free(reply.body);
        removed->removing = false;
        return result;
    }
    if (result == 0) result = hwdi_await_reply(session, &reply, deadline, NULL);
    else hwdi_forget(session, &reply);
    if (result < 0 && result != HWDI_LOST) {
        // The message was sent, and the worker may still remove it.
        removed->removing = result == -ETIMEDOUT;
        return result;
    }
    // Another worker does not get the pool.
    forget_pool(session, removed);
    return 0;
}

int hwd_add_pool(hwd_session *session, hwd_pool *pool, int timeout_ms) {
    if (!pool) return hwdi_fail(-EINVAL, "hwd_add_pool needs a pool");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    result = hwdi_register_pool(session, pool, hwdi_until(session, timeout_ms));
    hwdi_leave(session);
    return result;
}

int hwd_remove_pool(hwd_session *session, int number, int timeout_ms) {
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    uint32_t own = (uint32_t)number;
    if (number <= 0 || own == session->frames_number || own == session->packets_number)
        result = hwdi_fail(HWD_PARAMETER, "there is no pool %d of the app's", number);
    else
        result = hwdi_unregister_pool(session, own, hwdi_until(session, timeout_ms));
    hwdi_leave(session);
    return result;
}
