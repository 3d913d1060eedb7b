// SPDX-License-Identifier: MIT
// Tables and changes of effects of a transfer session, which another worker would need.
#include "replay/replay.h"

#include <stdio.h>

enum { MAX_TABLES = 16, MAX_TABLE_SIZE = 64 << 20, MAX_EFFECTS_SIZE = MAX_PAYLOAD - 8 };

// A change that was made before the log's first frame.
struct effect_change {
    struct effect_change *next; // of a later time
    int64_t pts;
    size_t size;
    uint8_t payload[]; // of changeEffects
};

void hwdi_free_effects(hwd_session *session) {
    for (uint32_t i = 0; i < session->table_count; i++) hwd_pool_unref(session->tables[i]);
    free(session->tables);
    for (effect_change *at = session->changes, *next; at; at = next) next = at->next, free(at);
    free(session->effects);
}

// The link to a change of this time, or where it belongs.
static effect_change **link_of(hwd_session *session, int64_t pts) {
    effect_change **link = &session->changes;
    while (*link && (*link)->pts < pts) link = &(*link)->next;
    return link;
}

bool hwdi_settle_effects(hwd_session *session, const entry *change) {
    effect_change *made = malloc(sizeof *made + change->size);
    if (!made) return false;
    memcpy(made->payload, change->payload, change->size);
    made->size = change->size;
    made->pts = change->pts;
    effect_change **link = link_of(session, made->pts), *old = *link;
    // The worker did the same.
    made->next = old && old->pts == made->pts ? old->next : old;
    *link = made;
    if (made->next != old) free(old);
    return true;
}

void hwdi_advance_effects(hwd_session *session, const hwd_transfer *answered) {
    const int64_t pts = answered->flags & HWD_HAS_PTS ? answered->pts : HWD_NEXT_FRAME;
    while (session->changes && session->changes->pts <= pts) {
        free(session->effects);
        session->effects = session->changes;
        session->changes = session->effects->next;
    }
    if (!session->effects) return;
    // As that of the next frame.
    session->effects->pts = HWD_NEXT_FRAME;
    put_64(session->effects->payload, (uint64_t)HWD_NEXT_FRAME);
}

static int send_change(hwd_session *session, const effect_change *sent, int64_t deadline) {
    return hwdi_request_in_turn(session, CHANGE_EFFECTS, sent->payload, sent->size, -1, deadline, NULL);
}

static int send_table(hwd_session *session, uint32_t index, int64_t deadline) {
    uint8_t payload[16] = {0};
    put_32(payload, session->first_table + index);
    put_64(payload + 8, session->tables[index]->size);
    return hwdi_request_in_turn(session, ADD_TABLE, payload, sizeof payload, session->tables[index]->fd, deadline, NULL);
}

int hwdi_send_effects(hwd_session *session, int64_t deadline) {
    int result = 0;
    for (uint32_t i = 0; i < session->table_count && result == 0; i++) result = send_table(session, i, deadline);
    if (session->effects && result == 0) result = send_change(session, session->effects, deadline);
    for (effect_change *at = session->changes; at && result == 0; at = at->next) result = send_change(session, at, deadline);
    return result;
}

int hwdi_check_tables(const hwd_transfer_config *config) {
    if (config->table_count > MAX_TABLES) return hwdi_fail(HWD_PARAMETER, "%u tables are too many", config->table_count);
    if (config->table_count > 0 && !config->tables) return hwdi_fail(-EINVAL, "the tables are missing");
    for (uint32_t i = 0; i < config->table_count; i++) {
        const hwd_table *table = &config->tables[i];
        if (!table->text || table->size == 0 || table->size > MAX_TABLE_SIZE)
            return hwdi_fail(HWD_PARAMETER, "table %u has %zu bytes, not 1 to %d", i, table->size, MAX_TABLE_SIZE);
    }
    return 0;
}

int hwdi_options_with_tables(const hwd_transfer_config *config, uint32_t *first, char **options) {
    const char *own = config->options ? config->options : "{}";
    char added[48];
    json base, over, tables, value;
    size_t position = 0;
    text merged = {0};
    *first = 0;
    snprintf(added, sizeof added, "{\"added_tables\":%u}", config->table_count);
    if (!hwdi_json_check(own, strlen(own), &base) || base.at[0] != '{' || !hwdi_json_check(added, strlen(added), &over))
        return hwdi_fail(HWD_PARAMETER, "the options are no JSON object");
    if (hwdi_json_member(base, "tables", &tables) && tables.at[0] == '[')
        while (hwdi_json_next(tables, &position, NULL, &value)) ++*first;
    hwdi_add_merged(&merged, base, over);
    if (merged.bytes && !merged.failed) {
        *options = merged.bytes;
        return 0;
    }
    free(merged.bytes);
    return hwdi_fail_errno(ENOMEM, "a call");
}

// Makes the tables' memory, while nobody else knows the session.
static int make_tables(hwd_session *session, const hwd_transfer_config *config) {
    session->tables = calloc(config->table_count, sizeof *session->tables);
    if (!session->tables) return hwdi_fail_errno(ENOMEM, "a session's tables");
    for (uint32_t i = 0; i < config->table_count; i++) {
        int result = hwd_pool_create(config->tables[i].size, &session->tables[i]);
        if (result < 0) return result;
        session->table_count++;
        memcpy(session->tables[i]->bytes, config->tables[i].text, config->tables[i].size);
    }
    return 0;
}

int hwdi_add_tables(hwd_session *session, const hwd_transfer_config *config, uint32_t first) {
    int result = hwdi_enter(session, HWD_TRANSFER);
    if (result < 0) return result;
    const int64_t deadline = hwdi_until(session, HWD_DEFAULT_TIMEOUT);
    session->first_table = first;
    result = make_tables(session, config);
    if (result == 0 && (result = hwdi_take_turn(session, deadline)) == 0) {
        result = hwdi_send_effects(session, deadline);
        hwdi_end_turn(session);
    }
    // Another worker is sent them before anything else.
    if (result == HWDI_LOST) result = 0;
    hwdi_leave(session);
    return result;
}

int hwd_change_effects(hwd_session *session, const char *effects, int64_t pts, int timeout_ms) {
    json checked;
    if (!effects || !hwdi_json_check(effects, strlen(effects), &checked) || checked.at[0] != '[')
        return hwdi_fail(HWD_PARAMETER, "the effects are no JSON array");
    if (pts != HWD_NEXT_FRAME && (pts <= -TIME_BOUND || pts >= TIME_BOUND))
        return hwdi_fail(HWD_PARAMETER, "the time %lld is out of range", (long long)pts);
    if (checked.size > MAX_EFFECTS_SIZE) return hwdi_fail(HWD_PARAMETER, "the effects do not fit a message");
    uint8_t *payload = malloc(8 + checked.size);
    if (!payload) return hwdi_fail_errno(ENOMEM, "a message");
    put_64(payload, (uint64_t)pts);
    memcpy(payload + 8, checked.at, checked.size);
    int result = hwdi_enter(session, HWD_TRANSFER);
    if (result == 0) {
        result = hwdi_change(session, EFFECTS_ENTRY, CHANGE_EFFECTS, payload, 8 + checked.size, hwdi_until(session, timeout_ms));
        hwdi_leave(session);
    }
    free(payload);
    return result;
}
