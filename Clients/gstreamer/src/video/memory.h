// SPDX-License-Identifier: MIT
// Parts of a session's shared memory as GstMemory, so that frames and pictures are not copied.
#ifndef HWD_MEMORY_H
#define HWD_MEMORY_H

#include <gst/gst.h>
#include <hwdaemon.h>

// `size` bytes from `offset` on of a pool, of which it takes a reference. `release` is called with `owner` once nothing uses
// them. What cannot be written is marked as read-only.
GstMemory *hwd_memory_new(hwd_pool *pool, gsize offset, gsize size, GDestroyNotify release, gpointer owner);
// The pool and where the memory begins in it; NULL for memory of other kinds.
hwd_pool *hwd_memory_pool(GstMemory *memory, gsize *offset);

#endif
