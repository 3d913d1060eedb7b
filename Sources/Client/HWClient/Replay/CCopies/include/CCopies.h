// SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>

/// Copies rows to memory that nothing reads soon, past the caches: lines that are overwritten whole are not fetched, and what
/// others have in the caches stays there.
///
/// - Parameters:
///   - to_stride: bytes from a row to the next, at least `row`; the same for `from_stride`.
///   - row: bytes of a row.
void chwd_copy_rows(
    void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows);
