// SPDX-License-Identifier: MIT
#include "session.h"

#include <math.h>
#include <stdio.h>

int hwd_set_properties(hwd_session *session, const char *properties, int timeout_ms) {
    json checked;
    if (!properties || !hwdi_json_check(properties, strlen(properties), &checked) || checked.at[0] != '{')
        return hwdi_fail(HWD_PARAMETER, "the properties are no JSON object");
    int result = hwdi_enter(session, 0);
    if (result < 0) return result;
    result = hwdi_request(session, SET_PROPERTIES, checked.at, checked.size, -1, hwdi_until(session, timeout_ms), NULL);
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

int hwd_copy_properties(hwd_session *session, const char *names, int timeout_ms, char **values) {
    json checked;
    if (!values) return hwdi_fail(-EINVAL, "hwd_copy_properties has no place for the values");
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
    }
    hwdi_leave(session);
    return result;
}
