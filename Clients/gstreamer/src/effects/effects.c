// SPDX-License-Identifier: MIT
#include "effects/effects.h"

#include <errno.h>
#include <gst/video/gstvideofilter.h>
#include <string.h>

#include "effects/texts.h"
#include "element/daemon.h"
#include "video/formats.h"

GST_DEBUG_CATEGORY_EXTERN(hwd_debug);
#define GST_CAT_DEFAULT hwd_debug

#define FORMATS "{ " HWD_PLAIN_FORMATS ", BGRA, RGBA, BGR10A2_LE, RGB10A2_LE }"

enum { PROPERTY_EFFECTS = 1, PROPERTY_DEVICE, PROPERTY_SOCKET };

typedef struct HwdEffectFilter {
    GstVideoFilter parent;
    // The object's lock protects them.
    gchar *effects, *device, *socket;
    gboolean has_changed; // effects

    // The streaming thread's.
    hwd_daemon *daemon;
    hwd_session *session;
    HwdEffects read; // what the session has
    hwd_pool *source, *target;
    hwd_transfer frame;
} HwdEffectFilter;

typedef struct HwdEffectFilterClass { GstVideoFilterClass parent; } HwdEffectFilterClass;

G_DEFINE_TYPE(HwdEffectFilter, hwd_effect_filter, GST_TYPE_VIDEO_FILTER)
#define FILTER(object) ((HwdEffectFilter *)(object))

// ---- Properties

static gchar **text_of(HwdEffectFilter *filter, guint number) {
    return number == PROPERTY_EFFECTS ? &filter->effects : number == PROPERTY_DEVICE ? &filter->device : &filter->socket;
}

static void set_property(GObject *object, guint number, const GValue *value, GParamSpec *spec) {
    (void)spec;
    HwdEffectFilter *filter = FILTER(object);
    GST_OBJECT_LOCK(filter);
    gchar **text = text_of(filter, number);
    g_free(*text);
    *text = g_value_dup_string(value);
    filter->has_changed |= number == PROPERTY_EFFECTS;
    GST_OBJECT_UNLOCK(filter);
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    (void)spec;
    GST_OBJECT_LOCK(object);
    g_value_set_string(value, *text_of(FILTER(object), number));
    GST_OBJECT_UNLOCK(object);
}

static gchar *copy_of(HwdEffectFilter *filter, guint number) {
    GST_OBJECT_LOCK(filter);
    gchar *text = g_strdup(*text_of(filter, number));
    if (number == PROPERTY_EFFECTS) filter->has_changed = FALSE;
    GST_OBJECT_UNLOCK(filter);
    return text;
}

// ---- Colors

// Names of HWDaemon: NULL where the caps say nothing, and this where it has no name for what they say.
static const char UNNAMED[] = "";

static const char *primaries_of(const GstVideoColorimetry *color) {
    switch (color->primaries) {
    case GST_VIDEO_COLOR_PRIMARIES_BT709: return "709";
    case GST_VIDEO_COLOR_PRIMARIES_BT2020: return "2020";
    case GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432: return "p3";
    case GST_VIDEO_COLOR_PRIMARIES_SMPTE170M:
    case GST_VIDEO_COLOR_PRIMARIES_SMPTE240M: return "601-525";
    case GST_VIDEO_COLOR_PRIMARIES_BT470BG: return "601-625";
    case GST_VIDEO_COLOR_PRIMARIES_UNKNOWN: return NULL;
    default: return UNNAMED;
    }
}

static const char *transfer_of(const GstVideoColorimetry *color) {
    switch (color->transfer) {
    case GST_VIDEO_TRANSFER_SRGB: return "srgb";
    case GST_VIDEO_TRANSFER_SMPTE2084: return "pq";
    case GST_VIDEO_TRANSFER_ARIB_STD_B67: return "hlg";
    case GST_VIDEO_TRANSFER_GAMMA10: return "linear";
    case GST_VIDEO_TRANSFER_GAMMA22: return "gamma2.2";
    case GST_VIDEO_TRANSFER_GAMMA28: return "gamma2.8";
    case GST_VIDEO_TRANSFER_BT709:
    case GST_VIDEO_TRANSFER_BT601:
    case GST_VIDEO_TRANSFER_BT2020_10:
    case GST_VIDEO_TRANSFER_BT2020_12: return "bt1886";
    case GST_VIDEO_TRANSFER_UNKNOWN: return NULL;
    default: return UNNAMED;
    }
}

static const char *matrix_of(const GstVideoColorimetry *color) {
    switch (color->matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709: return "709";
    case GST_VIDEO_COLOR_MATRIX_BT2020: return "2020";
    case GST_VIDEO_COLOR_MATRIX_BT601: return "601";
    case GST_VIDEO_COLOR_MATRIX_UNKNOWN: return NULL;
    default: return UNNAMED;
    }
}

static const char *siting_of(GstVideoChromaSite site) {
    switch (site) {
    case GST_VIDEO_CHROMA_SITE_H_COSITED: return "left";
    case GST_VIDEO_CHROMA_SITE_NONE: return "center";
    case GST_VIDEO_CHROMA_SITE_COSITED: return "topleft";
    case GST_VIDEO_CHROMA_SITE_V_COSITED: return "top";
    default: return NULL;
    }
}

static hwd_image image_of(const GstVideoInfo *info) {
    hwd_image image = {.pixel_format = hwd_format(GST_VIDEO_INFO_FORMAT(info)), .primaries = primaries_of(&info->colorimetry),
                       .transfer = transfer_of(&info->colorimetry)};
    if (GST_VIDEO_INFO_IS_RGB(info)) {
        image.alpha = "straight";
        return image;
    }
    image.matrix = matrix_of(&info->colorimetry);
    image.siting = siting_of(info->chroma_site);
    image.range = info->colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? "full" : "video";
    return image;
}

// Why effects cannot be applied to frames of such a color, to free with g_free; NULL where they can.
static gchar *color_problem(const GstVideoInfo *info) {
    hwd_image image = image_of(info);
    const char *what = image.primaries == UNNAMED  ? "primaries"
                       : image.transfer == UNNAMED ? "transfer function"
                       : image.matrix == UNNAMED   ? "matrix"
                                                   : NULL;
    if (!what) return NULL;
    gchar *color = gst_video_colorimetry_to_string(&info->colorimetry);
    gchar *reason = g_strdup_printf("hwdaemon does not know the %s of the colorimetry %s, so it applies no effects", what, color);
    g_free(color);
    return reason;
}

// ---- The session

static void close_session(HwdEffectFilter *filter) {
    hwd_destroy(filter->session);
    hwd_pool_unref(filter->source);
    hwd_pool_unref(filter->target);
    filter->session = NULL;
    filter->source = filter->target = NULL;
    hwd_effects_clear(&filter->read);
}

static int add_pool(HwdEffectFilter *filter, const GstVideoInfo *info, hwd_pool **pool, hwd_plane *planes, guint32 *number) {
    uint64_t size;
    int count = hwd_layout(hwd_format(GST_VIDEO_INFO_FORMAT(info)), (guint)info->width, (guint)info->height, 0, planes, &size);
    if (count < 0) return count;
    int result = hwd_pool_create(size, pool);
    if (result < 0 || (result = hwd_add_pool(filter->session, *pool, HWD_DEFAULT_TIMEOUT)) < 0) return result;
    *number = (guint32)result;
    return count;
}

static int create_session(HwdEffectFilter *filter, const GstVideoInfo *info) {
    hwd_transfer_config config;
    hwd_transfer *frame = &filter->frame;
    HWD_INIT(config);
    gchar *options = g_strdup_printf("{\"effects\":%s}", filter->read.json), *device = copy_of(filter, PROPERTY_DEVICE);
    config.width = (guint)info->width, config.height = (guint)info->height;
    config.source = config.target = image_of(info);
    config.options = options;
    config.device = device;
    config.tables = filter->read.tables;
    config.table_count = filter->read.table_count;
    int result = hwd_transfer_create(filter->daemon, &config, &filter->session);
    g_free(options);
    g_free(device);
    if (result < 0) return result;
    HWD_INIT(*frame);
    if ((result = add_pool(filter, info, &filter->source, frame->source, &frame->source_pool)) < 0) return result;
    frame->source_plane_count = (guint32)result;
    if ((result = add_pool(filter, info, &filter->target, frame->target, &frame->target_pool)) < 0) return result;
    frame->target_plane_count = (guint32)result;
    return 0;
}

static gboolean fail(HwdEffectFilter *filter, const gchar *reason) {
    GST_ELEMENT_ERROR(filter, STREAM, FAILED, ("%s", reason ? reason : hwd_last_error()), (NULL));
    return FALSE;
}

// Opens a session for the effects; without any, frames pass.
static gboolean open_session(HwdEffectFilter *filter, const GstVideoInfo *info) {
    gchar *text = copy_of(filter, PROPERTY_EFFECTS), *reason;
    close_session(filter);
    gboolean is_read = hwd_effects_read(&filter->read, text, &reason);
    g_free(text);
    gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(filter), FALSE);
    if (!is_read) {
        fail(filter, reason);
        g_free(reason);
        return FALSE;
    }
    gboolean is_empty = strcmp(filter->read.json, "[]") == 0;
    gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(filter), is_empty);
    if (is_empty) return TRUE;
    reason = color_problem(info);
    if (!reason && create_session(filter, info) == 0) return TRUE;
    fail(filter, reason);
    g_free(reason);
    close_session(filter);
    return FALSE;
}

// Takes effects that were set since the last frame: parameters change in the session, others need another one.
static gboolean take_changes(HwdEffectFilter *filter, const GstVideoInfo *info) {
    GST_OBJECT_LOCK(filter);
    gboolean has_changed = filter->has_changed;
    filter->has_changed = FALSE;
    gchar *text = g_strdup(filter->effects), *reason;
    GST_OBJECT_UNLOCK(filter);
    HwdEffects changed = {0};
    gboolean is_done = !has_changed;
    if (has_changed && filter->session && hwd_effects_read(&changed, text, &reason)) {
        is_done = hwd_effects_share_tables(&changed, &filter->read) &&
                  hwd_change_effects(filter->session, changed.json, HWD_NEXT_FRAME, HWD_DEFAULT_TIMEOUT) == 0;
        hwd_effects_clear(&changed);
    } else if (has_changed && filter->session) {
        g_free(reason);
    }
    g_free(text);
    return is_done || open_session(filter, info);
}

// ---- Frames

static void copy_from_planes(const hwd_plane *planes, guint count, const guint8 *bytes, GstVideoFrame *to) {
    for (guint i = 0; i < count; i++) {
        guint8 *target = GST_VIDEO_FRAME_PLANE_DATA(to, i);
        for (guint32 row = 0; row < planes[i].rows; row++)
            memcpy(target + (gssize)row * GST_VIDEO_FRAME_PLANE_STRIDE(to, i),
                   bytes + planes[i].offset + (gsize)row * planes[i].stride, planes[i].row_bytes);
    }
}

// `reason`: why, where hwd_last_error does not say; the caller frees it.
static int convert(HwdEffectFilter *filter, GstVideoFrame *from, GstVideoFrame *to, gchar **reason) {
    hwd_event event;
    hwd_transfer *frame = &filter->frame;
    guint8 *bytes = hwd_pool_data(filter->source);
    for (guint i = 0; i < frame->source_plane_count; i++) frame->source[i].data = bytes + frame->source[i].offset;
    hwd_copy_to_planes(from, frame->source, frame->source_plane_count);
    int result = hwd_transfer_submit(filter->session, frame, HWD_DEFAULT_TIMEOUT);
    if (result < 0) return result;
    HWD_INIT(event);
    result = hwd_next_event(filter->session, &event, HWD_DEFAULT_TIMEOUT);
    if (result < 0) return result;
    if (result == 0) {
        *reason = g_strdup("hwdaemon did not answer in time");
        return -ETIMEDOUT;
    }
    result = event.status;
    if (result != 0 && event.reason) *reason = g_strdup(event.reason);
    if (result == 0) copy_from_planes(frame->target, frame->target_plane_count, hwd_pool_bytes(filter->target), to);
    hwd_release(filter->session, &event);
    return result;
}

static GstFlowReturn transform(GstVideoFilter *parent, GstVideoFrame *from, GstVideoFrame *to) {
    HwdEffectFilter *filter = FILTER(parent);
    // Why there is no session was posted.
    if (!filter->session) return GST_FLOW_ERROR;
    gchar *reason = NULL;
    if (convert(filter, from, to, &reason) == 0) return GST_FLOW_OK;
    fail(filter, reason);
    g_free(reason);
    return GST_FLOW_ERROR;
}

// Before the base class decides whether the frame passes.
static void before_transform(GstBaseTransform *parent, GstBuffer *buffer) {
    (void)buffer;
    take_changes(FILTER(parent), &GST_VIDEO_FILTER(parent)->in_info);
}

static gboolean set_info(GstVideoFilter *parent, GstCaps *from, GstVideoInfo *from_info, GstCaps *to, GstVideoInfo *to_info) {
    (void)from, (void)to, (void)to_info;
    return open_session(FILTER(parent), from_info);
}

static gboolean start(GstBaseTransform *parent) {
    HwdEffectFilter *filter = FILTER(parent);
    gchar *socket = copy_of(filter, PROPERTY_SOCKET);
    int result = hwd_shared_open(socket, &filter->daemon);
    g_free(socket);
    if (result == 0) return TRUE;
    GST_ELEMENT_ERROR(filter, RESOURCE, OPEN_READ, ("%s", hwd_last_error()), (NULL));
    return FALSE;
}

static gboolean stop(GstBaseTransform *parent) {
    HwdEffectFilter *filter = FILTER(parent);
    close_session(filter);
    if (filter->daemon) hwd_shared_close(filter->daemon);
    filter->daemon = NULL;
    return TRUE;
}

static void finalize(GObject *object) {
    for (guint number = PROPERTY_EFFECTS; number <= PROPERTY_SOCKET; number++) g_free(*text_of(FILTER(object), number));
    G_OBJECT_CLASS(hwd_effect_filter_parent_class)->finalize(object);
}

static void install(GObjectClass *class, guint number, const char *name, const char *nick, const char *blurb, GParamFlags flags) {
    g_object_class_install_property(class, number,
                                    g_param_spec_string(name, nick, blurb, NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | flags));
}

static void hwd_effect_filter_class_init(HwdEffectFilterClass *class) {
    static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FORMATS)));
    static GstStaticPadTemplate source = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FORMATS)));
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    base->start = start;
    base->stop = stop;
    base->before_transform = before_transform;
    class->parent.set_info = set_info;
    class->parent.transform_frame = transform;
    install(object, PROPERTY_EFFECTS, "effects", "Effects",
            "Effects in order, separated by semicolons, as hwctl effects lists them: exposure:ev=1;lut:file=look.cube,space=srgb. A "
            "backslash escapes a comma, a semicolon or a backslash in a path.",
            GST_PARAM_MUTABLE_PLAYING);
    install(object, PROPERTY_DEVICE, "device", "Device", "What converts: auto, vulkan, cpu, or a GPU's PCI address.", GST_PARAM_MUTABLE_READY);
    install(object, PROPERTY_SOCKET, "socket", "Socket", "The daemon's socket; empty for the default.", GST_PARAM_MUTABLE_READY);
    gst_element_class_add_static_pad_template(element, &sink);
    gst_element_class_add_static_pad_template(element, &source);
    gst_element_class_set_static_metadata(element, "Effects of hwdaemon", "Filter/Effect/Video",
                                          "Applies effects in linear light in a session of the hwdaemon daemon", "HWDaemon");
}

static void hwd_effect_filter_init(HwdEffectFilter *filter) { (void)filter; }
