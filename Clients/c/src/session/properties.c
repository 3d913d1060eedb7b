// SPDX-License-Identifier: MIT
#include "replay/packets.h"
#include "replay/replay.h"

#include <math.h>
#include <stdio.h>

// Makes a change after the frames that were sent before; HWDI_LOST: the worker was lost meanwhile.
static int change_once(hwd_session *session, enum entry_kind kind, uint32_t opcode, struct iovec part, int64_t deadline) {
    int result = hwdi_pump(session, deadline, hwdi_all_sent, NULL);
    if (result == 0) return hwdi_fail(-ETIMEDOUT, "the session read no frame in time");
    if (result < 0 || (result = hwdi_take_turn(session, deadline)) < 0) return result;
    entry *added = hwdi_all_sent(session, NULL) ? hwdi_new_entry(kind, opcode, &part, 1) : NULL;
    if (!added) {
        result = !hwdi_all_sent(session, NULL) ? HWDI_LOST : part.iov_len > MAX_PAYLOAD ? HWD_PARAMETER : -ENOMEM;
        hwdi_end_turn(session);
        return result;
    }
    // Before frames that other threads append meanwhile. Where the worker is lost, hwdi_lose removes it.
    added->sent = true;
    hwdi_append(session, added);
    waiter reply = {.change = added};
    hwdi_expect(session, &reply);
    result = hwdi_send(session, opcode, &part, 1, -1, deadline);
    if (result == 0) {
        result = hwdi_await_reply(session, &reply, deadline, NULL);
    } else {
        hwdi_forget(session, &reply);
        free(reply.body);
    }
    if (result == HWDI_LOST) return result;
    // The reply has confirmed or removed it.
    if (!reply.answered) hwdi_remove_entry(session, added);
    hwdi_fold_properties(session);
    return result;
}

int hwdi_change(hwd_session *session, enum entry_kind kind, uint32_t opcode, const void *payload, size_t size, int64_t deadline) {
    int result;
    do {
        result = change_once(session, kind, opcode, (struct iovec){(void *)payload, size}, deadline);
        // An answer that another worker may not give.
        if (result == session->malfunction && hwdi_may_continue(session)) {
            hwdi_lose(session, result, hwd_last_error());
            result = HWDI_LOST;
        }
    } while (result == HWDI_LOST);
    return result;
}

// The final pass has the times of the first one again.
static void begin_pass(hwd_session *session, json properties) {
    json value;
    char *pass = hwdi_json_member(properties, "MultiPassStorage", &value) ? hwdi_json_string(value) : NULL;
    if (pass && strcmp(pass, "FinalPass") == 0 && !session->is_final_pass) {
        session->is_final_pass = true;
        session->has_pts = false;
    }
    free(pass);
}

int hwd_set_properties(hwd_session *session, const char *properties, int timeout_ms) {
    json checked, value;
    if (!properties || !hwdi_json_check(properties, strlen(properties), &checked) || checked.at[0] != '{')
        return hwdi_fail(HWD_PARAMETER, "the properties are no JSON object");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    int64_t deadline = hwdi_until(session, timeout_ms);
    result = hwdi_change(session, PROPERTIES_ENTRY, SET_PROPERTIES, checked.at, checked.size, deadline);
    if (result == 0) begin_pass(session, checked);
    if (result == 0 && session->replay && !session->prepared &&
        (hwdi_json_member(checked, "ReplaysAfterFailure", &value) || hwdi_json_member(checked, "MultiPassStorage", &value)))
        hwdi_keep_frames(session);
    if (result == 0 && session->decoding && session->last_number == 0) hwdi_keep_packets(session);
    hwdi_leave(session);
    return result;
}

// `value` is JSON.
static int set_one(hwd_session *session, const char *name, text *value) {
    text properties = {0};
    hwdi_add(&properties, "{");
    hwdi_add_string(&properties, name);
    hwdi_add(&properties, ":");
    hwdi_add(&properties, value->bytes ? value->bytes : "");
    hwdi_add(&properties, "}");
    int result = properties.failed || value->failed
                     ? hwdi_fail_errno(ENOMEM, "a property")
                     : hwd_set_properties(session, properties.bytes, HWD_DEFAULT_TIMEOUT);
    free(properties.bytes);
    free(value->bytes);
    return result;
}

int hwd_set_int(hwd_session *session, const char *name, int64_t value) {
    if (!name) return hwdi_fail(-EINVAL, "a property needs a name");
    text json = {0};
    hwdi_add_number(&json, value);
    return set_one(session, name, &json);
}

int hwd_set_number(hwd_session *session, const char *name, double value) {
    if (!name) return hwdi_fail(-EINVAL, "a property needs a name");
    if (!isfinite(value)) return hwdi_fail(HWD_PARAMETER, "%s: the value is not finite", name);
    char digits[40], *out = digits;
    snprintf(digits, sizeof digits, "%.17g", value);
    // The locale may have another decimal point, of one or more bytes.
    for (char *at = digits; *at; at++) {
        if (strchr("0123456789+-eE", *at))
            *out++ = *at;
        else if (out == digits || out[-1] != '.')
            *out++ = '.';
    }
    *out = 0;
    text json = {0};
    hwdi_add(&json, digits);
    return set_one(session, name, &json);
}

int hwd_set_string(hwd_session *session, const char *name, const char *value) {
    if (!name || !value) return hwdi_fail(-EINVAL, "a property needs a name and a value");
    text json = {0};
    hwdi_add_string(&json, value);
    return set_one(session, name, &json);
}

static bool names_notices(json names) {
    size_t place = 0;
    json value;
    bool is_empty = true, found = false;
    while (hwdi_json_next(names, &place, NULL, &value)) {
        is_empty = false;
        char *name = hwdi_json_string(value);
        found |= name && strcmp(name, "Notices") == 0;
        free(name);
    }
    return is_empty || found;
}

// The library's own notice, after those of the worker.
static void add_notice(const char *notice, char **values, json object) {
    json old, added;
    text notices = {0}, member = {0}, all = {0};
    char *before = hwdi_json_member(object, "Notices", &old) ? hwdi_json_string(old) : NULL;
    if (before) hwdi_add(&notices, before);
    if (before) hwdi_add(&notices, "; ");
    hwdi_add(&notices, notice);
    hwdi_add(&member, "{\"Notices\":");
    if (!notices.failed) hwdi_add_string(&member, notices.bytes);
    hwdi_add(&member, "}");
    if (!member.failed && hwdi_json_check(member.bytes, member.size, &added)) hwdi_add_merged(&all, object, added);
    if (all.bytes && !all.failed) {
        free(*values);
        *values = all.bytes;
    } else {
        free(all.bytes);
    }
    free(before);
    free(notices.bytes);
    free(member.bytes);
}

int hwd_copy_properties(hwd_session *session, const char *names, int timeout_ms, char **values) {
    json checked;
    if (!values) return hwdi_fail(-EINVAL, "hwd_copy_properties has no pointer for the values");
    *values = NULL;
    if (!names) names = "[]";
    if (!hwdi_json_check(names, strlen(names), &checked) || checked.at[0] != '[')
        return hwdi_fail(HWD_PARAMETER, "the names of properties are no JSON array");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    char *body = NULL;
    result = hwdi_request(session, COPY_PROPERTIES, checked.at, checked.size, -1, hwdi_until(session, timeout_ms), &body);
    json found;
    if (result == 0 && (!body || !hwdi_json_check(body, strlen(body), &found) || found.at[0] != '{')) {
        hwdi_broken(session, "it sent properties that are no JSON object");
        free(body);
        result = hwdi_ended(session);
    } else if (result == 0) {
        *values = body;
        const char *notice = session->replay ? session->replay->notice : session->decoding ? hwdi_notice(session->decoding) : "";
        if (*notice && names_notices(checked)) add_notice(notice, values, found);
    }
    hwdi_leave(session);
    return result;
}
