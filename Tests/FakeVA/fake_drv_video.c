// SPDX-License-Identifier: GPL-2.0-or-later
// A libva driver that starts or fails to, as FAKE_VA demands (ready, crash, hang, fail), and does nothing else.
// FAKE_VA_VENDOR is its vendor string. It claims HEVC Main decoding and (low-power) encoding.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_backend.h>

static VAStatus stub(void) { return VA_STATUS_ERROR_UNIMPLEMENTED; }
static VAStatus terminate(VADriverContextP context) { return VA_STATUS_SUCCESS; }

static VAStatus profiles(VADriverContextP context, VAProfile *list, int *count) {
    list[0] = VAProfileH264Main;
    list[1] = VAProfileHEVCMain;
    list[2] = VAProfileHEVCMain10;
    *count = 3;
    return VA_STATUS_SUCCESS;
}

static VAStatus entrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *list, int *count) {
    *count = 0;
    list[(*count)++] = VAEntrypointVLD;
    if (profile == VAProfileHEVCMain) list[(*count)++] = VAEntrypointEncSliceLP;
    return VA_STATUS_SUCCESS;
}

static VAStatus attributes(
    VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count) {
    for (int i = 0; i < count; i++) switch (list[i].type) {
        // Main 10 cannot be used, because there are no 10-bit surfaces.
        case VAConfigAttribRTFormat: list[i].value = VA_RT_FORMAT_YUV420; break;
        case VAConfigAttribRateControl: list[i].value = VA_RC_CQP | VA_RC_CBR; break;
        case VAConfigAttribEncPackedHeaders: list[i].value = VA_ENC_PACKED_HEADER_SEQUENCE; break;
        case VAConfigAttribMaxPictureWidth: list[i].value = 4096; break;
        default: list[i].value = VA_ATTRIB_NOT_SUPPORTED;
    }
    return VA_STATUS_SUCCESS;
}

VAStatus __vaDriverInit_1_0(VADriverContextP context) {
    const char *how = getenv("FAKE_VA");
    if (how && !strcmp(how, "crash")) raise(SIGSEGV);
    if (how && !strcmp(how, "hang")) for (;;) pause();
    if (how && !strcmp(how, "fail")) return VA_STATUS_ERROR_HW_BUSY;

    // libva refuses a driver with empty entries.
    void **table = (void **)context->vtable;
    for (size_t i = 0; i < offsetof(struct VADriverVTable, reserved) / sizeof(void *); i++) table[i] = (void *)stub;
    context->vtable->vaTerminate = terminate;
    context->vtable->vaQueryConfigProfiles = profiles;
    context->vtable->vaQueryConfigEntrypoints = entrypoints;
    context->vtable->vaGetConfigAttributes = attributes;
    context->version_major = 1;
    context->version_minor = 0;
    context->max_profiles = 4;
    context->max_entrypoints = 4;
    context->max_attributes = 8;
    context->max_image_formats = 1;
    context->max_subpic_formats = 1;
    const char *vendor = getenv("FAKE_VA_VENDOR");
    context->str_vendor = vendor ? vendor : "Fake driver 1.2.3 for tests";
    return VA_STATUS_SUCCESS;
}
