// SPDX-License-Identifier: MIT
#include "video/memory.h"

typedef struct HwdMemory {
    GstMemory parent;
    hwd_pool *pool;
    gsize start; // in the pool, of the memory that is not shared from another
    GDestroyNotify release;
    gpointer owner;
} HwdMemory;

typedef struct GstHwdAllocator { GstAllocator parent; } GstHwdAllocator;
typedef struct GstHwdAllocatorClass { GstAllocatorClass parent_class; } GstHwdAllocatorClass;
GType hwd_allocator_get_type(void);
G_DEFINE_TYPE(GstHwdAllocator, hwd_allocator, GST_TYPE_ALLOCATOR)

static HwdMemory *make(GstMemory *parent, GstMemoryFlags flags, gsize max_size, gsize offset, gsize size) {
    static GstAllocator *allocator;
    if (g_once_init_enter(&allocator)) {
        GstAllocator *made = g_object_new(hwd_allocator_get_type(), NULL);
        gst_object_ref_sink(made);
        GST_OBJECT_FLAG_SET(made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
        g_once_init_leave(&allocator, made);
    }
    HwdMemory *memory = g_new0(HwdMemory, 1);
    gst_memory_init(GST_MEMORY_CAST(memory), flags, allocator, parent, max_size, 0, offset, size);
    return memory;
}

GstMemory *hwd_memory_new(hwd_pool *pool, gsize offset, gsize size, GDestroyNotify release, gpointer owner) {
    HwdMemory *memory = make(NULL, hwd_pool_data(pool) ? 0 : GST_MEMORY_FLAG_READONLY, size, 0, size);
    memory->pool = hwd_pool_ref(pool);
    memory->start = offset;
    memory->release = release;
    memory->owner = owner;
    return GST_MEMORY_CAST(memory);
}

hwd_pool *hwd_memory_pool(GstMemory *memory, gsize *offset) {
    if (!memory->allocator || G_OBJECT_TYPE(memory->allocator) != hwd_allocator_get_type()) return NULL;
    *offset = ((HwdMemory *)memory)->start + memory->offset;
    return ((HwdMemory *)memory)->pool;
}

static gpointer map(GstMemory *memory, gsize size, GstMapFlags flags) {
    (void)size;
    HwdMemory *mapped = (HwdMemory *)memory;
    if (flags & GST_MAP_WRITE && !hwd_pool_data(mapped->pool)) return NULL;
    return (guint8 *)hwd_pool_bytes(mapped->pool) + mapped->start;
}

static void unmap(GstMemory *memory) { (void)memory; }

static GstMemory *share(GstMemory *memory, gssize offset, gssize size) {
    HwdMemory *from = (HwdMemory *)memory;
    GstMemory *parent = memory->parent ? memory->parent : memory;
    if (size < 0) size = (gssize)memory->size - offset;
    GstMemoryFlags flags = GST_MINI_OBJECT_FLAGS(parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY;
    HwdMemory *made = make(parent, flags, memory->maxsize, memory->offset + (gsize)offset, (gsize)size);
    made->pool = hwd_pool_ref(from->pool);
    made->start = from->start;
    return GST_MEMORY_CAST(made);
}

static GstMemory *refuse(GstAllocator *allocator, gsize size, GstAllocationParams *params) {
    (void)allocator, (void)size, (void)params;
    return NULL;
}

static void free_memory(GstAllocator *allocator, GstMemory *memory) {
    (void)allocator;
    HwdMemory *freed = (HwdMemory *)memory;
    if (freed->release) freed->release(freed->owner);
    hwd_pool_unref(freed->pool);
    g_free(freed);
}

static void hwd_allocator_class_init(GstHwdAllocatorClass *class) {
    class->parent_class.alloc = refuse;
    class->parent_class.free = free_memory;
}

static void hwd_allocator_init(GstHwdAllocator *allocator) {
    GstAllocator *base = GST_ALLOCATOR_CAST(allocator);
    base->mem_type = "HwdMemory";
    base->mem_map = map;
    base->mem_unmap = unmap;
    base->mem_share = share;
    GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}
