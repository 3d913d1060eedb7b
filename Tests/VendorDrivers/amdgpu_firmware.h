// SPDX-License-Identifier: GPL-2.0-or-later
// AMD's encoder firmware: reads the commands of a picture and answers with a coded picture of the least size.
#ifndef HWD_VENDOR_AMDGPU_FIRMWARE_H
#define HWD_VENDOR_AMDGPU_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The numbers that a generation of firmware gives its parameters, and its answer's form.
struct firmware_interface {
    uint32_t rate_session, rate_layer, rate_picture, rate_picture_by_type;
    uint32_t slice_header, nal_unit, bitstream, feedback;
    uint32_t encode;
    /// Where the slice header's template is followed: copy, first slice, QP delta, SAO.
    uint32_t copy, first_slice, qp_delta, sao, loop_filter;
    bool is_uvd;
};

__attribute__((visibility("hidden"))) extern const struct firmware_interface firmware_uvd, firmware_vcn1, firmware_vcn2;

/// Runs one indirect buffer.
///
/// `memory` returns the bytes at an address of the GPU, of which `size` must exist, or null.
__attribute__((visibility("hidden"))) void firmware_run(
    const struct firmware_interface *interface, const uint32_t *words, size_t count,
    uint8_t *(*memory)(uint64_t address, uint64_t size));

#endif
