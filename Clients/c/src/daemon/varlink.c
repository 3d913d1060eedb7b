// SPDX-License-Identifier: MIT
#include "base/internal.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// Sends a whole call with its NUL. A daemon at its limit of connections sends an error and closes, perhaps before it reads.
static int send_call(int fd, const char *bytes, size_t size, int64_t deadline) {
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, bytes + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return 0;
        } else if (errno == EAGAIN) {
            int ready = hwdi_poll(fd, POLLOUT, deadline);
            if (ready < 0) return hwdi_fail_errno(-ready, "poll");
            if (ready == 0) return hwdi_fail(-ETIMEDOUT, "the daemon did not read the call in time");
        } else if (errno != EINTR) {
            return hwdi_fail_errno(errno, "send");
        }
    }
    return 0;
}

// Reads up to the NUL and not further: after an upgrade call the session's messages follow, with descriptors.
static int read_reply(int fd, const char *method, int64_t deadline, text *reply) {
    char buffer[4096];
    while (true) {
        ssize_t count = recv(fd, buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
        if (count > 0) {
            const char *end = memchr(buffer, 0, (size_t)count);
            size_t size = end ? (size_t)(end - buffer) + 1 : (size_t)count;
            count = recv(fd, buffer, size, MSG_DONTWAIT);
            if (count > 0) hwdi_add_bytes(reply, buffer, (size_t)count);
            if (reply->failed) return hwdi_fail_errno(ENOMEM, "a reply");
            if (end && count == (ssize_t)size) return 0;
            if (reply->size > MAX_REPLY) return hwdi_fail(-EPROTO, "the reply to %s is too long", method);
        } else if (count == 0 || errno == ECONNRESET) {
            return hwdi_fail(-ECONNRESET, "the daemon closed the connection without a reply to %s", method);
        } else if (errno == EAGAIN) {
            int ready = hwdi_poll(fd, POLLIN, deadline);
            if (ready < 0) return hwdi_fail_errno(-ready, "poll");
            if (ready == 0) return hwdi_fail(-ETIMEDOUT, "the daemon did not answer %s in time", method);
        } else if (errno != EINTR) {
            return hwdi_fail_errno(errno, "recv");
        }
    }
}

int hwdi_exchange(int fd, const char *method, const char *parameters, bool upgrade, int64_t deadline, char **reply) {
    text call = {0};
    hwdi_add(&call, "{\"method\":");
    hwdi_add_string(&call, method);
    hwdi_add(&call, ",\"parameters\":");
    hwdi_add(&call, parameters);
    hwdi_add(&call, upgrade ? ",\"upgrade\":true}" : "}");
    int result;
    text answer = {0};
    if (call.failed)
        result = hwdi_fail_errno(ENOMEM, "a call");
    else if (call.size > MAX_CALL)
        result = hwdi_fail(HWD_PARAMETER, "the call of %s has %zu bytes; %d is the limit", method, call.size, MAX_CALL);
    else
        result = send_call(fd, call.bytes, call.size + 1, deadline);
    if (result == 0) result = read_reply(fd, method, deadline, &answer);
    free(call.bytes);
    if (result < 0) {
        free(answer.bytes);
        return result;
    }
    *reply = answer.bytes;
    return 0;
}

static int error_reply(json error, json reply) {
    json parameters, member;
    int64_t code;
    bool has_parameters = hwdi_json_member(reply, "parameters", &parameters);
    if (has_parameters && hwdi_json_member(parameters, "code", &member) && hwdi_json_integer(member, &code) &&
        hwdi_is_status(code) && hwdi_json_member(parameters, "reason", &member)) {
        char *reason = hwdi_json_string(member);
        char line[1024];
        hwdi_printable(line, sizeof line, reason ? reason : "", reason ? strlen(reason) : 0);
        free(reason);
        return hwdi_fail((int)code, "%s", line);
    }
    // Errors of Varlink itself: an unknown method, a parameter that does not exist.
    char name[256], detail[512];
    if (has_parameters && hwdi_json_member(parameters, "parameter", &member)) {
        hwdi_printable(detail, sizeof detail, member.at, member.size);
        return hwdi_fail(HWD_PARAMETER, "the daemon does not accept the parameter %s", detail);
    }
    hwdi_printable(name, sizeof name, error.at, error.size);
    hwdi_printable(detail, sizeof detail, has_parameters ? parameters.at : "", has_parameters ? parameters.size : 0);
    return hwdi_fail(HWD_PARAMETER, "the daemon replied %s: %s", name, detail);
}

int hwdi_parameters(const char *reply, const char *method, json *parameters) {
    json document, error;
    // The reader allows no more levels than the daemon does.
    if (!hwdi_json_check(reply, strlen(reply), &document) || document.at[0] != '{')
        return hwdi_fail(-EPROTO, "the reply to %s is not valid JSON", method);
    if (hwdi_json_member(document, "error", &error)) return error_reply(error, document);
    if (!hwdi_json_member(document, "parameters", parameters)) *parameters = (json){"{}", 2};
    if (parameters->at[0] != '{') return hwdi_fail(-EPROTO, "the reply to %s has no parameters", method);
    return 0;
}
