// SPDX-License-Identifier: MIT
#include "video/pool.h"

#include <string.h>

#include "video/formats.h"
#include "video/memory.h"

enum { MAX_FRAMES = 32, MIN_FRAMES = 2, MAX_BYTES = 512 << 20 };

// The memory of one run of a pool. Buffers keep it when the pool has stopped.
typedef struct Slots {
    gint references;
    hwd_pool *memory;
    GMutex lock;
    gsize size;
    guint count;
    gboolean used[MAX_FRAMES];
} Slots;

typedef struct Slot { Slots *of; guint index; } Slot;

typedef struct GstHwdFramePool {
    GstBufferPool parent;
    GstVideoInfo info;
    hwd_plane planes[HWD_MAX_PLANES];
    guint plane_count;
    gsize size;
    Slots *slots;
} GstHwdFramePool;
typedef struct GstHwdFramePoolClass { GstBufferPoolClass parent_class; } GstHwdFramePoolClass;
GType hwd_frame_pool_get_type(void);
G_DEFINE_TYPE(GstHwdFramePool, hwd_frame_pool, GST_TYPE_BUFFER_POOL)

static void unref_slots(Slots *slots) {
    if (!slots || !g_atomic_int_dec_and_test(&slots->references)) return;
    hwd_pool_unref(slots->memory);
    g_mutex_clear(&slots->lock);
    g_free(slots);
}

static Slots *new_slots(gsize size, guint count) {
    hwd_pool *memory;
    if (hwd_pool_create(size * count, &memory) < 0) return NULL;
    Slots *slots = g_new0(Slots, 1);
    slots->references = 1;
    slots->memory = memory;
    slots->size = size;
    slots->count = count;
    g_mutex_init(&slots->lock);
    return slots;
}

static Slot *take_slot(Slots *slots) {
    Slot *taken = NULL;
    g_mutex_lock(&slots->lock);
    for (guint i = 0; i < slots->count && !taken; i++) {
        if (slots->used[i]) continue;
        slots->used[i] = TRUE;
        g_atomic_int_inc(&slots->references);
        taken = g_new0(Slot, 1);
        *taken = (Slot){slots, i};
    }
    g_mutex_unlock(&slots->lock);
    return taken;
}

static void free_slot(gpointer freed) {
    Slot *slot = freed;
    g_mutex_lock(&slot->of->lock);
    slot->of->used[slot->index] = FALSE;
    g_mutex_unlock(&slot->of->lock);
    unref_slots(slot->of);
    g_free(slot);
}

static guint max_frames(gsize size) { return (guint)CLAMP(MAX_BYTES / size, MIN_FRAMES, MAX_FRAMES); }

static gboolean start(GstBufferPool *base) {
    GstHwdFramePool *pool = (GstHwdFramePool *)base;
    unref_slots(pool->slots);
    pool->slots = pool->size ? new_slots(pool->size, max_frames(pool->size)) : NULL;
    return pool->slots && GST_BUFFER_POOL_CLASS(hwd_frame_pool_parent_class)->start(base);
}

static gboolean set_config(GstBufferPool *base, GstStructure *config) {
    GstHwdFramePool *pool = (GstHwdFramePool *)base;
    GstCaps *caps;
    guint size, least, most;
    hwd_plane planes[HWD_MAX_PLANES];
    uint64_t bytes;
    GstVideoInfo info;
    if (!gst_buffer_pool_config_get_params(config, &caps, &size, &least, &most) || !caps || !gst_video_info_from_caps(&info, caps))
        return FALSE;
    int count = hwd_layout(hwd_format(GST_VIDEO_INFO_FORMAT(&info)), (guint)info.width, (guint)info.height, 0, planes, &bytes);
    if (count < 0) return FALSE;
    // Without video meta the layout is GStreamer's.
    if (!gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META)) {
        for (int i = 0; i < count; i++) {
            planes[i].offset = info.offset[i];
            planes[i].stride = (guint)info.stride[i];
        }
        bytes = info.size;
    }
    enum { PAGE = 4096 };
    pool->size = (bytes + PAGE - 1) / PAGE * PAGE;
    guint limit = max_frames(pool->size);
    if (least > limit) return FALSE;
    memcpy(pool->planes, planes, sizeof planes);
    pool->plane_count = (guint)count;
    pool->info = info;
    gst_buffer_pool_config_set_params(config, caps, (guint)pool->size, least, most == 0 ? limit : MIN(most, limit));
    return GST_BUFFER_POOL_CLASS(hwd_frame_pool_parent_class)->set_config(base, config);
}

static GstFlowReturn alloc_buffer(GstBufferPool *base, GstBuffer **buffer, GstBufferPoolAcquireParams *params) {
    (void)params;
    GstHwdFramePool *pool = (GstHwdFramePool *)base;
    Slot *slot = take_slot(pool->slots);
    Slots *slots = pool->slots;
    // Slots can be missing where other buffers share the memory of those that came back. The encoder copies ordinary memory.
    GstMemory *memory = slot ? hwd_memory_new(slots->memory, slot->index * slots->size, slots->size, free_slot, slot)
                             : gst_allocator_alloc(NULL, pool->size, NULL);
    if (!memory) return GST_FLOW_ERROR;
    *buffer = gst_buffer_new();
    gst_buffer_append_memory(*buffer, memory);
    gsize offsets[GST_VIDEO_MAX_PLANES] = {0};
    gint strides[GST_VIDEO_MAX_PLANES] = {0};
    for (guint i = 0; i < pool->plane_count; i++) {
        offsets[i] = pool->planes[i].offset;
        strides[i] = (gint)pool->planes[i].stride;
    }
    const GstVideoInfo *info = &pool->info;
    gst_buffer_add_video_meta_full(*buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info), (guint)info->width,
                                   (guint)info->height, pool->plane_count, offsets, strides);
    return GST_FLOW_OK;
}

static const gchar **get_options(GstBufferPool *base) {
    (void)base;
    static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, NULL};
    return options;
}

static void finalize(GObject *object) {
    unref_slots(((GstHwdFramePool *)object)->slots);
    G_OBJECT_CLASS(hwd_frame_pool_parent_class)->finalize(object);
}

static void hwd_frame_pool_class_init(GstHwdFramePoolClass *class) {
    G_OBJECT_CLASS(class)->finalize = finalize;
    class->parent_class.start = start;
    class->parent_class.set_config = set_config;
    class->parent_class.alloc_buffer = alloc_buffer;
    class->parent_class.get_options = get_options;
}

static void hwd_frame_pool_init(GstHwdFramePool *pool) { (void)pool; }

GstBufferPool *hwd_frame_pool_new(GstCaps *caps, const GstVideoInfo *info, guint *size, guint *count) {
    GstHwdFramePool *pool = g_object_new(hwd_frame_pool_get_type(), NULL);
    gst_object_ref_sink(pool);
    GstBufferPool *base = GST_BUFFER_POOL_CAST(pool);
    GstStructure *config = gst_buffer_pool_get_config(base);
    gst_buffer_pool_config_set_params(config, caps, (guint)info->size, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (!gst_buffer_pool_set_config(base, config)) {
        gst_object_unref(base);
        return NULL;
    }
    *size = (guint)pool->size;
    *count = max_frames(pool->size);
    return base;
}
