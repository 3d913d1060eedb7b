// SPDX-License-Identifier: GPL-2.0-or-later
// Which pictures a picture refers to, as H.265 8.3.2 has them: a reference picture set made from ReferenceFrames.
#ifndef HWSIM_DECODER_REFERENCES_H
#define HWSIM_DECODER_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <va/va.h>

#include "decoder/decoder.h"

/// The size of ReferenceFrames.
enum { DECODER_MAXIMUM_REFERENCES = 15 };

struct decoder_reference {
    /// PicOrderCnt minus the current picture's; never 0.
    int delta;
    bool long_term;
    /// By the current picture; others are only kept (the Foll lists).
    bool used;
};

struct decoder_references {
    /// The set in the order of the lists: before (nearest first), after (nearest first), long-term.
    struct decoder_reference list[DECODER_MAXIMUM_REFERENCES];
    int before, after, long_term;
    /// NumPicTotalCurr
    int used;
    /// For each of ReferenceFrames, its place in `list`, or −1.
    int place[15];
};

/// A picture that the decoder holds: the client's name for it. Surfaces are reused, so the surface alone does not identify it.
struct decoder_held {
    VASurfaceID surface;
    int32_t order;
};

struct decoder_holdings {
    struct decoder_held list[DECODER_MAXIMUM_REFERENCES + 1];
    int count;
};

/// Makes the set, and takes from `holdings` what is not in it. References that nobody can want (not held, and in no
/// slice's list) are left out; a slice that needs a reference where there is none gets one that is not held.
/// Returns how many references that slices use are not held.
int decoder_references_make(
    struct decoder_references *references, struct decoder_holdings *holdings,
    const VAPictureParameterBufferHEVC *picture, const struct hwsim_slice *slices, int count);

/// The entry of RefPicListTemp0 or 1 (H.265 8.3.4) that is the slice's RefPicList[list][index].
int decoder_references_entry(
    const struct decoder_references *references, const VASliceParameterBufferHEVC *slice, int list, int index);

/// How many lists a slice of this slice_type has: 2 for B (0), 1 for P (1), none for I (2).
static inline int decoder_lists(unsigned slice_type) { return slice_type == 0 ? 2 : slice_type == 1 ? 1 : 0; }

/// How many entries the slice's list has.
static inline int decoder_list_length(const VASliceParameterBufferHEVC *slice, int list) {
    return (list ? slice->num_ref_idx_l1_active_minus1 : slice->num_ref_idx_l0_active_minus1) + 1;
}

#endif
