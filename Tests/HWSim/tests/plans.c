// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tests/client.h"

static struct plan *add(struct client *client, int *count, int poc, int type, int nal_type, int temporal_id) {
    struct plan *plan = &client->plans[(*count)++];
    *plan = (struct plan){.poc = poc, .type = type, .nal_type = nal_type, .temporal_id = temporal_id};
    return plan;
}

static void refer(struct plan *plan, int list, int poc) {
    for (int i = 0; i < plan->active[list]; i++)
        if (plan->lists[list][i] == poc) return;
    if (poc >= 0 && plan->active[list] < 3) plan->lists[list][plan->active[list]++] = poc;
}

// The B pictures between two others, the middle one first.
static void halve(struct client *client, int *count, int low, int high, int level, bool leading) {
    int middle = (low + high) / 2;
    if (middle == low || *count >= client->scenario->frames) return;
    bool last = middle - low < 2 && high - middle < 2;
    int type = leading ? (last ? 8 : 9) : last ? 2 : 3;  // RASL or TSA
    struct plan *plan = add(client, count, middle, SLICE_B, type, level);
    refer(plan, 0, low);
    refer(plan, 1, high);
    halve(client, count, low, middle, level + 1, leading);
    halve(client, count, middle, high, level + 1, leading);
}

static void chain(struct client *client, int *count, int poc) {
    const struct scenario *scenario = client->scenario;
    struct plan *plan = add(client, count, poc, scenario->structure == P ? SLICE_P : SLICE_B, 1, 0);
    for (int i = 1; i <= scenario->references; i++) refer(plan, 0, poc - i);
    plan->active[1] = plan->type == SLICE_B ? plan->active[0] : 0;
    memcpy(plan->lists[1], plan->lists[0], sizeof plan->lists[0]);
}

// Which pictures each may still need: those that it or a later one refers to.
static void make_set(const struct client *client, int number) {
    const struct plan *plans = client->plans;
    struct plan *plan = (struct plan *)&plans[number];
    int below[MAX_FRAMES], above[MAX_FRAMES], counts[2] = {0, 0};
    bool used[2][MAX_FRAMES];
    for (int earlier = 0; earlier < number; earlier++) {
        int poc = plans[earlier].poc;
        bool now = false, needed = false;
        for (int later = number; later < client->scenario->frames; later++)
            for (int list = 0; list < 2; list++)
                for (int i = 0; i < plans[later].active[list]; i++)
                    if (plans[later].lists[list][i] == poc) needed = true, now = now || later == number;
        if (!needed) continue;
        bool after = poc > plan->poc;
        int *pocs = after ? above : below, place = counts[after]++;
        // Nearest first.
        for (; place > 0 && (after ? pocs[place - 1] > poc : pocs[place - 1] < poc); place--)
            pocs[place] = pocs[place - 1], used[after][place] = used[after][place - 1];
        pocs[place] = poc;
        used[after][place] = now;
    }
    plan->rps = (struct rps){.negative = counts[0], .positive = counts[1]};
    for (int i = 0; i < counts[0]; i++) plan->rps.delta[i] = below[i] - plan->poc, plan->rps.used[i] = used[0][i];
    for (int i = 0; i < counts[1]; i++)
        plan->rps.delta[counts[0] + i] = above[i] - plan->poc, plan->rps.used[counts[0] + i] = used[1][i];
}

void make_plans(struct client *client) {
    const struct scenario *scenario = client->scenario;
    int count = 0;
    add(client, &count, 0, SLICE_I, NAL_IDR_W_RADL, 0);
    for (int poc = 1; count < scenario->frames;) {
        switch (scenario->structure) {
            case INTRA: add(client, &count, poc++, SLICE_I, 1, 0); break;
            case P:
            case GPB: chain(client, &count, poc++); break;
            case B2: {
                struct plan *plan = add(client, &count, poc + 2, SLICE_P, 1, 0);
                refer(plan, 0, poc - 1);
                for (int i = 0; i < 2 && count < scenario->frames; i++) {
                    struct plan *b = add(client, &count, poc + i, SLICE_B, 0, 0);
                    refer(b, 0, poc - 1);
                    if (scenario->references > 1) refer(b, 0, poc + 2);
                    refer(b, 1, poc + 2);
                    if (scenario->references > 1) refer(b, 1, poc - 1);
                }
                poc += 3;
                break;
            }
            default: {
                bool open = scenario->structure == OPEN_GOP && poc % 16 == 9;
                struct plan *plan = add(client, &count, poc + 7, open ? SLICE_I : SLICE_P, open ? NAL_CRA : 1, 0);
                if (!open) refer(plan, 0, poc - 1);
                halve(client, &count, poc - 1, poc + 7, 1, open);
                poc += 8;
            }
        }
    }
    for (int i = 0; i < scenario->frames; i++) make_set(client, i);
}
