// SPDX-License-Identifier: GPL-2.0-or-later
// A libva driver that starts or fails to, as FAKE_VA demands (ready, crash, hang, fail, and complain, which prints why it
// fails), and does nothing else. With "busy" its encoder is always in use, with "decoder" it has none, with "bare" it has
// neither HEVC's encoder nor its decoder, and with "constant" no bit rates. With "unstable" it refuses configurations for another
// reason after the first process that asked for one, which the file FAKE_VA_STATE records.
// FAKE_VA_VENDOR is its vendor string. It claims HEVC Main decoding and (low-power) encoding.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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
    const char *how = getenv("FAKE_VA");
    *count = how && !strcmp(how, "bare") ? 1 : 3;
    return VA_STATUS_SUCCESS;
}

static VAStatus entrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *list, int *count) {
    *count = 0;
    list[(*count)++] = VAEntrypointVLD;
    const char *how = getenv("FAKE_VA");
    if (profile == VAProfileHEVCMain && !(how && !strcmp(how, "decoder"))) list[(*count)++] = VAEntrypointEncSliceLP;
    return VA_STATUS_SUCCESS;
}

static VAStatus attributes(
    VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count) {
    const char *how = getenv("FAKE_VA");
    for (int i = 0; i < count; i++) switch (list[i].type) {
        // Main 10 cannot be used, because there are no 10-bit surfaces.
        case VAConfigAttribRTFormat: list[i].value = VA_RT_FORMAT_YUV420; break;
        case VAConfigAttribRateControl: list[i].value = how && !strcmp(how, "constant") ? VA_RC_CQP : VA_RC_CQP | VA_RC_CBR; break;
        case VAConfigAttribEncPackedHeaders: list[i].value = VA_ENC_PACKED_HEADER_SEQUENCE; break;
        case VAConfigAttribMaxPictureWidth: list[i].value = 4096; break;
        default: list[i].value = VA_ATTRIB_NOT_SUPPORTED;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus create_config(
    VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count,
    VAConfigID *config) {
    static VAStatus status = VA_STATUS_SUCCESS;
    const char *state = getenv("FAKE_VA_STATE");
    if (status != VA_STATUS_SUCCESS || !state) return status ? status : VA_STATUS_ERROR_UNIMPLEMENTED;
    int file = open(state, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    status = file >= 0 ? VA_STATUS_ERROR_INVALID_PARAMETER : VA_STATUS_ERROR_UNIMPLEMENTED;
    if (file >= 0) close(file);
    return status;
}

static VAStatus busy(
    VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *list, int count,
    VAConfigID *config) {
    return VA_STATUS_ERROR_HW_BUSY;
}

VAStatus __vaDriverInit_1_0(VADriverContextP context) {
    const char *how = getenv("FAKE_VA");
    if (how && !strcmp(how, "crash")) raise(SIGSEGV);
    if (how && !strcmp(how, "hang")) for (;;) pause();
    if (how && !strcmp(how, "fail")) return VA_STATUS_ERROR_HW_BUSY;

    if (how && !strcmp(how, "complain")) {
        fprintf(stderr, "fake: libfake.so.1:\033[31m cannot open shared object file\n");
        return VA_STATUS_ERROR_UNKNOWN;
    }

    // libva refuses a driver with empty entries.
    void **table = (void **)context->vtable;
    for (size_t i = 0; i < offsetof(struct VADriverVTable, reserved) / sizeof(void *); i++) table[i] = (void *)stub;
    context->vtable->vaTerminate = terminate;
    if (how && !strcmp(how, "unstable")) context->vtable->vaCreateConfig = create_config;
    if (how && !strcmp(how, "busy")) context->vtable->vaCreateConfig = busy;
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
