// SPDX-License-Identifier: GPL-2.0-or-later
// The part of i915.c that creates, maps and executes buffers; included there once.

/// A buffer with its tiling, which the driver asks back.
struct buffer {
    struct shim_bo base;
    uint32_t tiling, stride;
};

static int add(int fd, uint64_t size, uint32_t *handle) {
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return -ENOMEM;
    int error = drm_shim_bo_init(&buffer->base, (size + 4095) & ~4095ull);
    if (error) {
        free(buffer);
        return error;
    }
    *handle = drm_shim_bo_get_handle(drm_shim_fd_lookup(fd), &buffer->base);
    drm_shim_bo_put(&buffer->base);
    // Memory that another buffer used before is zeroed, as the kernel does.
    uint8_t *bytes = memory_of(&buffer->base);
    if (bytes) memset(bytes, 0, buffer->base.size);
    return 0;
}

static int create(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_create *create = arg;
    return add(fd, create->size, &create->handle);
}

static int create_extended(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_create_ext *create = arg;
    return add(fd, create->size, &create->handle);
}

static int user_memory(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_userptr *user = arg;
    return add(fd, user->user_size, &user->handle);
}

static int map(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_mmap *map = arg;
    struct shim_bo *buffer = buffer_of(fd, map->handle);
    if (!buffer) return -ENOENT;
    // The driver unmaps what it gets, so that each call needs a mapping of its own.
    void *bytes = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, shim_device.mem_fd, buffer->mem_addr);
    if (bytes == MAP_FAILED) return -ENOMEM;
    map->addr_ptr = (uintptr_t)bytes + map->offset;
    return 0;
}

static int map_offset(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_mmap_offset *map = arg;
    struct shim_bo *buffer = buffer_of(fd, map->handle);
    if (!buffer) return -ENOENT;
    map->offset = drm_shim_bo_get_mmap_offset(drm_shim_fd_lookup(fd), buffer);
    return 0;
}

static int write_buffer(int fd, unsigned long request, void *arg) {
    const struct drm_i915_gem_pwrite *write = arg;
    struct shim_bo *buffer = buffer_of(fd, write->handle);
    uint8_t *bytes = memory_of(buffer);
    if (!bytes || write->offset > buffer->size || write->size > buffer->size - write->offset) return -EINVAL;
    memcpy(bytes + write->offset, (const void *)(uintptr_t)write->data_ptr, write->size);
    return 0;
}

static int read_buffer(int fd, unsigned long request, void *arg) {
    const struct drm_i915_gem_pread *read = arg;
    struct shim_bo *buffer = buffer_of(fd, read->handle);
    const uint8_t *bytes = memory_of(buffer);
    if (!bytes || read->offset > buffer->size || read->size > buffer->size - read->offset) return -EINVAL;
    memcpy((void *)(uintptr_t)read->data_ptr, bytes + read->offset, read->size);
    return 0;
}

static int set_tiling(int fd, unsigned long request, void *arg) {
    const struct drm_i915_gem_set_tiling *tiling = arg;
    struct buffer *buffer = (struct buffer *)buffer_of(fd, tiling->handle);
    if (!buffer) return -ENOENT;
    buffer->tiling = tiling->tiling_mode;
    buffer->stride = tiling->stride;
    return 0;
}

static int get_tiling(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_get_tiling *tiling = arg;
    const struct buffer *buffer = (const struct buffer *)buffer_of(fd, tiling->handle);
    if (!buffer) return -ENOENT;
    tiling->tiling_mode = buffer->tiling;
    tiling->swizzle_mode = tiling->phys_swizzle_mode = I915_BIT_6_SWIZZLE_NONE;
    return 0;
}

/// A submission: its buffers, the one that holds the commands, and the commands.
struct submission {
    int fd;
    const struct drm_i915_gem_exec_object2 *objects;
    uint32_t count;
    bool has_indices;
    const struct drm_i915_gem_exec_object2 *batch;
    size_t start;
    const uint32_t *words;
};

static const uint8_t *bytes_of(const struct submission *s, uint32_t handle, uint64_t offset, uint64_t size) {
    const struct shim_bo *buffer = buffer_of(s->fd, handle);
    const uint8_t *bytes = memory_of(buffer);
    return bytes && offset <= buffer->size && size <= buffer->size - offset ? bytes + offset : NULL;
}

/// The memory that two words of the batch address: by a relocation entry, or by a buffer with a fixed address.
static const uint8_t *addressed(const void *state, size_t index, uint64_t size) {
    const struct submission *s = state;
    const struct drm_i915_gem_relocation_entry *entries = (const void *)(uintptr_t)s->batch->relocs_ptr;
    for (uint32_t i = 0; i < s->batch->relocation_count; i++) {
        if (entries[i].offset != s->start + 4 * index) continue;
        uint32_t target = entries[i].target_handle;
        if (s->has_indices && target >= s->count) return NULL;
        return bytes_of(s, s->has_indices ? s->objects[target].handle : target, entries[i].delta, size);
    }
    uint64_t address = (s->words[index] | (uint64_t)s->words[index + 1] << 32) & ((1ull << 48) - 1);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct shim_bo *buffer = buffer_of(s->fd, s->objects[i].handle);
        uint64_t first = s->objects[i].offset & ((1ull << 48) - 1);
        if (buffer && address >= first && address - first < buffer->size)
            return bytes_of(s, s->objects[i].handle, address - first, size);
    }
    return NULL;
}

static int execute(int fd, unsigned long request, void *arg) {
    const struct drm_i915_gem_execbuffer2 *exec = arg;
    if (exec->buffer_count == 0) return -EINVAL;
    struct submission s = {
        .fd = fd, .objects = (const void *)(uintptr_t)exec->buffers_ptr, .count = exec->buffer_count,
        .has_indices = exec->flags & I915_EXEC_HANDLE_LUT, .start = exec->batch_start_offset,
    };
    s.batch = &s.objects[exec->flags & I915_EXEC_BATCH_FIRST ? 0 : s.count - 1];
    const struct shim_bo *buffer = buffer_of(fd, s.batch->handle);
    uint64_t length = exec->batch_len ? exec->batch_len : buffer ? buffer->size - s.start : 0;
    s.words = (const uint32_t *)bytes_of(&s, s.batch->handle, s.start, length);
    if (s.words) huc_run(s.words, length / 4, &s, addressed);
    return 0;
}
