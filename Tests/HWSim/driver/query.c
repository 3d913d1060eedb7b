// SPDX-License-Identifier: GPL-2.0-or-later
// The driver's capabilities, and configurations.
#include "decoder/codec.h"
#include "driver/hwsim.h"

static int depth_index(VAProfile profile) {
    return profile == VAProfileHEVCMain ? 0 : profile == VAProfileHEVCMain10 ? 1 : -1;
}

static bool decodes_codec(const struct personality *personality, VAProfile profile) {
    return (personality->decoders & codec_of(profile)) != 0;
}

VAStatus query_check(const struct driver *driver, VAProfile profile, VAEntrypoint entrypoint) {
    const struct personality *personality = &driver->personality;
    if (decodes_codec(personality, profile))
        return entrypoint == VAEntrypointVLD ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
    int depth = depth_index(profile);
    if (depth < 0 || (!personality->encode[depth] && !personality->decode[depth]))
        return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (entrypoint == VAEntrypointVLD && personality->decode[depth]) return VA_STATUS_SUCCESS;
    if (entrypoint == personality->entrypoint && entrypoint && personality->encode[depth]) return VA_STATUS_SUCCESS;
    return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
}

static VAStatus query_profiles(VADriverContextP context, VAProfile *list, int *count) {
    const struct personality *personality = &DRIVER(context)->personality;
    *count = 0;
    for (int depth = 0; depth < 2; depth++)
        if (personality->encode[depth] || personality->decode[depth])
            list[(*count)++] = depth ? VAProfileHEVCMain10 : VAProfileHEVCMain;
    static const VAProfile others[] = {VAProfileH264High, VAProfileVP9Profile0, VAProfileVP9Profile2, VAProfileAV1Profile0};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (decodes_codec(personality, others[i])) list[(*count)++] = others[i];
    return VA_STATUS_SUCCESS;
}

static VAStatus query_entrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *list, int *count) {
    const struct personality *personality = &DRIVER(context)->personality;
    int depth = depth_index(profile);
    *count = 0;
    if (decodes_codec(personality, profile)) list[(*count)++] = VAEntrypointVLD;
    if (depth >= 0 && personality->decode[depth]) list[(*count)++] = VAEntrypointVLD;
    if (depth >= 0 && personality->encode[depth]) list[(*count)++] = personality->entrypoint;
    return *count ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
}

static uint32_t encode_attribute(const struct personality *personality, VAConfigAttribType type) {
    switch (type) {
        case VAConfigAttribRateControl: return personality->rate_control;
        case VAConfigAttribEncPackedHeaders: return personality->packed_headers;
        case VAConfigAttribEncMaxRefFrames:
            return (uint32_t)personality->references[0] | (uint32_t)personality->references[1] << 16;
        case VAConfigAttribEncMaxSlices: return (uint32_t)personality->slices;
        case VAConfigAttribEncSliceStructure:
            return VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS | VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS;
        case VAConfigAttribEncQualityRange: return personality->quality_levels;
        case VAConfigAttribPredictionDirection:
            return personality->prediction_direction ? personality->prediction_direction : VA_ATTRIB_NOT_SUPPORTED;
        case VAConfigAttribEncHEVCFeatures:
            return personality->tells_features ? personality->features.value : VA_ATTRIB_NOT_SUPPORTED;
        case VAConfigAttribEncHEVCBlockSizes:
            return personality->tells_features ? personality->blocks.value : VA_ATTRIB_NOT_SUPPORTED;
        default: return VA_ATTRIB_NOT_SUPPORTED;
    }
}

static uint32_t attribute(
    const struct driver *driver, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttribType type) {
    switch (type) {
        case VAConfigAttribRTFormat:
            if (profile == VAProfileAV1Profile0) return VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10;
            return profile == VAProfileHEVCMain10 || profile == VAProfileVP9Profile2 ? VA_RT_FORMAT_YUV420_10
                                                                                   : VA_RT_FORMAT_YUV420;
        case VAConfigAttribMaxPictureWidth: return (uint32_t)driver->personality.largest_width;
        case VAConfigAttribMaxPictureHeight: return (uint32_t)driver->personality.largest_height;
        case VAConfigAttribDecSliceMode:
            return entrypoint == VAEntrypointVLD ? VA_DEC_SLICE_MODE_NORMAL : VA_ATTRIB_NOT_SUPPORTED;
        default: break;
    }
    return entrypoint == VAEntrypointVLD ? VA_ATTRIB_NOT_SUPPORTED : encode_attribute(&driver->personality, type);
}

static VAStatus get_attributes(
    VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count) {
    VAStatus status = query_check(DRIVER(context), profile, entrypoint);
    if (status) return status;
    for (int i = 0; i < count; i++) list[i].value = attribute(DRIVER(context), profile, entrypoint, list[i].type);
    return VA_STATUS_SUCCESS;
}

// An attribute as the client wants it, or why not.
static VAStatus apply_attribute(const struct driver *driver, struct config *config, const VAConfigAttrib *wanted) {
    uint32_t offered = attribute(driver, config->profile, config->entrypoint, wanted->type), value = wanted->value;
    switch (wanted->type) {
        case VAConfigAttribRTFormat:
            if (!(value & offered)) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
            config->format = value & offered;
            return VA_STATUS_SUCCESS;
        case VAConfigAttribRateControl:
            if (config->entrypoint == VAEntrypointVLD) return VA_STATUS_SUCCESS;
            // One mode, and one of those offered.
            if (!value || value & (value - 1) || value & ~offered) return VA_STATUS_ERROR_INVALID_VALUE;
            config->rate_control = value;
            return VA_STATUS_SUCCESS;
        case VAConfigAttribEncPackedHeaders:
            if (config->entrypoint == VAEntrypointVLD || value & ~offered) return VA_STATUS_ERROR_INVALID_VALUE;
            config->packed_headers = value;
            return VA_STATUS_SUCCESS;
        default: return VA_STATUS_SUCCESS;
    }
}

static VAStatus create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
    VAConfigAttrib *list, int count, VAConfigID *id) {
    struct driver *driver = DRIVER(context);
    VAStatus status = query_check(driver, profile, entrypoint);
    if (!status && driver->personality.refuses_codecs && codec_of(profile)) status = VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
    if (status) return status;
    struct config config = {
        .profile = profile,
        .entrypoint = entrypoint,
        .format = attribute(driver, profile, entrypoint, VAConfigAttribRTFormat),
        .rate_control = VA_RC_CQP,
    };
    for (int i = 0; i < count; i++)
        if ((status = apply_attribute(driver, &config, &list[i]))) {
            driver_complain(context, "vaCreateConfig: attribute %d cannot be 0x%x", list[i].type, list[i].value);
            return status;
        }
    pthread_mutex_lock(&driver->lock);
    struct config *made = heap_add(&driver->heap, OBJECT_CONFIG, sizeof *made);
    if (made) {
        config.object = made->object;
        *made = config;
        *id = made->object.id;
    }
    pthread_mutex_unlock(&driver->lock);
    return made ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
}

static VAStatus destroy_config(VADriverContextP context, VAConfigID id) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    struct config *config = heap_find(&driver->heap, OBJECT_CONFIG, id);
    if (config) heap_remove(&driver->heap, config);
    pthread_mutex_unlock(&driver->lock);
    return config ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}

static VAStatus query_config(VADriverContextP context, VAConfigID id, VAProfile *profile, VAEntrypoint *entrypoint,
    VAConfigAttrib *list, int *count) {
    struct driver *driver = DRIVER(context);
    pthread_mutex_lock(&driver->lock);
    const struct config *config = heap_find(&driver->heap, OBJECT_CONFIG, id);
    if (config) {
        *profile = config->profile;
        *entrypoint = config->entrypoint;
        *count = 1;
        list[0] = (VAConfigAttrib){.type = VAConfigAttribRTFormat, .value = config->format};
        if (config->entrypoint != VAEntrypointVLD) {
            list[1] = (VAConfigAttrib){.type = VAConfigAttribRateControl, .value = config->rate_control};
            list[2] = (VAConfigAttrib){.type = VAConfigAttribEncPackedHeaders, .value = config->packed_headers};
            *count = 3;
        }
    }
    pthread_mutex_unlock(&driver->lock);
    return config ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}

static VASurfaceAttrib surface_attribute(VASurfaceAttribType type, uint32_t flags, int value) {
    return (VASurfaceAttrib){
        .type = type, .flags = flags, .value = {.type = VAGenericValueTypeInteger, .value = {.i = value}}};
}

static VAStatus query_surface_attributes(
    VADriverContextP context, VAConfigID id, VASurfaceAttrib *list, unsigned *count) {
    struct driver *driver = DRIVER(context);
    const struct personality *personality = &driver->personality;
    pthread_mutex_lock(&driver->lock);
    const struct config *config = heap_find(&driver->heap, OBJECT_CONFIG, id);
    bool ten = config && config->format & VA_RT_FORMAT_YUV420_10, eight = config && config->format & VA_RT_FORMAT_YUV420;
    pthread_mutex_unlock(&driver->lock);
    if (!config) return VA_STATUS_ERROR_INVALID_CONFIG;
    const uint32_t get = VA_SURFACE_ATTRIB_GETTABLE, set = get | VA_SURFACE_ATTRIB_SETTABLE;
    const VASurfaceAttrib all[] = {
        surface_attribute(VASurfaceAttribPixelFormat, set, (int)VA_FOURCC_NV12),
        surface_attribute(VASurfaceAttribPixelFormat, set, (int)VA_FOURCC_P010),
        surface_attribute(VASurfaceAttribMaxWidth, get, personality->largest_width),
        surface_attribute(VASurfaceAttribMaxHeight, get, personality->largest_height),
        surface_attribute(VASurfaceAttribMemoryType, set,
            VA_SURFACE_ATTRIB_MEM_TYPE_VA | (personality->no_import ? 0 : VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)),
        surface_attribute(VASurfaceAttribMinWidth, get, personality->smallest_width),
        surface_attribute(VASurfaceAttribMinHeight, get, personality->smallest_height),
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
            .value = {.type = VAGenericValueTypePointer}},
    };
    unsigned needed = 0;
    VASurfaceAttrib listed[sizeof all / sizeof *all];
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        bool minimum = all[i].type == VASurfaceAttribMinWidth || all[i].type == VASurfaceAttribMinHeight;
        if (all[i].type == VASurfaceAttribPixelFormat && !(all[i].value.value.i == (int)VA_FOURCC_P010 ? ten : eight)) continue;
        if ((minimum && personality->hidden_minimum) ||
            (all[i].type == VASurfaceAttribExternalBufferDescriptor && personality->no_import))
            continue;
        listed[needed++] = all[i];
    }
    bool room = *count >= needed;
    for (unsigned i = 0; list && room && i < needed; i++) list[i] = listed[i];
    *count = needed;
    return list && !room ? VA_STATUS_ERROR_MAX_NUM_EXCEEDED : VA_STATUS_SUCCESS;
}

void query_install(struct VADriverVTable *table) {
    table->vaQueryConfigProfiles = query_profiles;
    table->vaQueryConfigEntrypoints = query_entrypoints;
    table->vaGetConfigAttributes = get_attributes;
    table->vaCreateConfig = create_config;
    table->vaDestroyConfig = destroy_config;
    table->vaQueryConfigAttributes = query_config;
    table->vaQuerySurfaceAttributes = query_surface_attributes;
}
