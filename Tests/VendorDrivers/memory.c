// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#include "drm-shim/drm_shim.h"

#include <sys/mman.h>

/// The size that drm-shim gives its memory.
#define MEMORY_SIZE (4ull << 30)

uint8_t *memory_of(const struct shim_bo *buffer) {
    static uint8_t *all;
    if (!buffer) return NULL;
    if (!all) {
        void *mapped = mmap(
            NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shim_device.mem_fd, 0);
        if (mapped == MAP_FAILED) return NULL;
        all = mapped;
    }
    if (buffer->mem_addr > MEMORY_SIZE || buffer->size > MEMORY_SIZE - buffer->mem_addr) return NULL;
    return all + buffer->mem_addr;
}

struct shim_bo *buffer_of(int file, uint32_t handle) {
    struct shim_fd *owner = drm_shim_fd_lookup(file);
    struct shim_bo *buffer = owner ? drm_shim_bo_lookup(owner, handle) : NULL;
    // Not drm_shim_bo_put(), which frees a buffer that others still use.
    if (buffer) __atomic_sub_fetch(&buffer->refcount, 1, __ATOMIC_SEQ_CST);
    return buffer;
}
