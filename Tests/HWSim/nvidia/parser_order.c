// SPDX-License-Identifier: GPL-2.0-or-later
// Reference picture sets (H.265, 8.3.2) and the order of output (C.5.2).
#include <string.h>

#include "nvidia/parser.h"

static bool is_irap(int type) { return type >= NAL_BLA_W_LP && type <= NAL_IRAP_LAST; }

static int waiting(const struct stream_parser *parser) {
    int count = 0;
    for (unsigned i = 0; i < parser->surface_count; i++) count += parser->surfaces[i].waiting;
    return count;
}

static int held(const struct stream_parser *parser) {
    int count = 0;
    for (unsigned i = 0; i < parser->surface_count; i++)
        count += parser->surfaces[i].waiting || parser->surfaces[i].reference;
    return count;
}

// Shows the one that is first in order.
static bool show_next(struct stream_parser *parser) {
    struct shown *next = NULL;
    for (unsigned i = 0; i < parser->surface_count; i++) {
        struct shown *surface = &parser->surfaces[i];
        if (surface->waiting && (!next || surface->poc < next->poc)) next = surface;
    }
    if (!next) return false;
    next->waiting = false;
    next->used = ++parser->clock;
    CUVIDPARSERDISPINFO info = {
        .picture_index = (int)(next - parser->surfaces), .progressive_frame = 1, .timestamp = next->timestamp};
    if (!parser->parameters.pfnDisplayPicture(parser->parameters.pUserData, &info)) parser->failed = true;
    return true;
}

void order_show_all(struct stream_parser *parser) {
    while (show_next(parser)) continue;
}

// The surface that holds a reference; `mask` is all bits of its POC that are known.
static int find(const struct stream_parser *parser, int poc, int mask) {
    for (unsigned i = 0; i < parser->surface_count; i++)
        if (parser->surfaces[i].reference && ((parser->surfaces[i].poc ^ poc) & mask) == 0) return (int)i;
    return -1;
}

static void refer(struct stream_parser *parser, int set, int surface, int poc, bool keeps[MOST_SURFACES]) {
    struct reference_sets *sets = &parser->references;
    if (surface >= 0) keeps[surface] = true;
    if (set < 0 || sets->count[set] == MAX_REFERENCES) return;
    sets->surface[set][sets->count[set]] = surface;
    sets->poc[set][sets->count[set]++] = poc;
}

static void mark(struct stream_parser *parser) {
    const struct collected *picture = &parser->picture;
    const struct slice *slice = &picture->slice;
    bool keeps[MOST_SURFACES] = {false}, is_long[MOST_SURFACES] = {false};
    memset(&parser->references, 0, sizeof parser->references);
    int cycle = 1 << parser->active.log2_poc_lsb;
    for (int i = 0; i < slice->long_term_count; i++) {
        int poc = slice->long_term_poc[i], mask = cycle - 1;
        if (slice->long_term_msb[i]) {
            poc += picture->poc - slice->long_term_cycles[i] * cycle - (picture->poc & (cycle - 1));
            mask = -1;
        }
        int surface = find(parser, poc, mask);
        if (surface >= 0) {
            is_long[surface] = true;
            poc = parser->surfaces[surface].poc;
        }
        refer(parser, slice->long_term_used[i] ? 2 : -1, surface, poc, keeps);
    }
    for (int i = 0; i < slice->rps.negative + slice->rps.positive; i++) {
        int poc = picture->poc + slice->rps.delta[i], surface = find(parser, poc, -1);
        if (surface >= 0 && (parser->surfaces[surface].long_term || is_long[surface])) surface = -1;
        if (surface < 0 && !slice->rps.used[i]) continue;
        refer(parser, slice->rps.used[i] ? i >= slice->rps.negative : -1, surface, poc, keeps);
    }
    for (unsigned i = 0; i < parser->surface_count; i++) {
        parser->surfaces[i].reference &= keeps[i];
        parser->surfaces[i].long_term |= is_long[i];
    }
}

void order_begin(struct stream_parser *parser) {
    const struct collected *picture = &parser->picture;
    const int *ordering = parser->active.ordering[parser->active.sub_layers - 1];
    if (is_irap(picture->nal.type) && parser->skips_rasl) {
        bool drops = picture->slice.no_output_of_prior && !parser->begins;
        for (unsigned i = 0; i < parser->surface_count; i++) {
            parser->surfaces[i].reference = parser->surfaces[i].long_term = false;
            if (drops) parser->surfaces[i].waiting = false;
        }
        order_show_all(parser);
        memset(&parser->references, 0, sizeof parser->references);
        return;
    }
    mark(parser);
    while ((waiting(parser) > ordering[1] || held(parser) > ordering[0]) && show_next(parser)) continue;
}

int order_slot(struct stream_parser *parser) {
    do {
        int slot = -1;
        for (unsigned i = 0; i < parser->surface_count; i++) {
            const struct shown *surface = &parser->surfaces[i];
            if (surface->reference || surface->waiting) continue;
            // The one whose picture the client has had longest.
            if (slot < 0 || surface->used < parser->surfaces[slot].used) slot = (int)i;
        }
        if (slot >= 0) return slot;
    } while (show_next(parser));
    return -1;
}

void order_end(struct stream_parser *parser) {
    const struct collected *picture = &parser->picture;
    const int *ordering = parser->active.ordering[parser->active.sub_layers - 1];
    parser->surfaces[picture->surface] = (struct shown){.reference = true, .waiting = picture->slice.output, .poc = picture->poc,
        .timestamp = picture->timestamp, .used = ++parser->clock};
    while (waiting(parser) > ordering[1] && show_next(parser)) continue;
}
