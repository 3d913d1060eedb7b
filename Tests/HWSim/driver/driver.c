// SPDX-License-Identifier: GPL-2.0-or-later
// The driver's beginning and end. See README.md.
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/hwsim.h"
#include "coder/transform.h"

void driver_complain(VADriverContextP context, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct driver *driver = DRIVER(context);
    if (driver && driver->trace) {
        fprintf(driver->trace, "error %s\n", text);
        fflush(driver->trace);
    }
    char line[560];
    snprintf(line, sizeof line, "hwsim: %s\n", text);
    if (context->error_callback) context->error_callback(context, line);
    else fputs(line, stderr);
}

static VAStatus terminate(VADriverContextP context) {
    struct driver *driver = DRIVER(context);
    unsigned place = 0;
    void *object;
    while ((object = heap_next(&driver->heap, OBJECT_CONTEXT, &place))) context_free(driver, object);
    place = 0;
    while ((object = heap_next(&driver->heap, OBJECT_IMAGE, &place))) heap_remove(&driver->heap, object);
    place = 0;
    while ((object = heap_next(&driver->heap, OBJECT_BUFFER, &place))) buffer_free(driver, object);
    place = 0;
    while ((object = heap_next(&driver->heap, OBJECT_SURFACE, &place))) surface_free(driver, object);
    place = 0;
    while ((object = heap_next(&driver->heap, OBJECT_CONFIG, &place))) heap_remove(&driver->heap, object);
    heap_free(&driver->heap);
    if (driver->trace) {
        calls_end(driver);
        fprintf(driver->trace, "end pictures %u busy_ns %llu\n", driver->pictures, (unsigned long long)driver->busy_time);
        fclose(driver->trace);
    }
    if (driver->recon) fclose(driver->recon);
    pthread_mutex_destroy(&driver->lock);
    pthread_cond_destroy(&driver->never);
    free(driver);
    context->pDriverData = NULL;
    return VA_STATUS_SUCCESS;
}

static FILE *file_named_by(const char *variable) {
    const char *path = getenv(variable);
    return path && *path ? fopen(path, "ae") : NULL;
}

static void describe(VADriverContextP context, struct driver *driver) {
    context->pDriverData = driver;
    context->version_major = 1;
    context->version_minor = 17;
    context->max_profiles = 6;
    context->max_entrypoints = 4;
    context->max_attributes = VAConfigAttribTypeMax;
    context->max_image_formats = 2;
    context->max_subpic_formats = 1;
    context->max_display_attributes = 1;
    context->str_vendor = driver->personality.vendor;
    struct VADriverVTable *table = context->vtable;
    table->vaTerminate = terminate;
    query_install(table);
    context_install(table);
    surface_install(table);
    image_install(table);
    export_install(table);
    buffer_install(table);
    submission_install(table);
    stubs_install(table);
}

__attribute__((visibility("default"))) VAStatus __vaDriverInit_1_0(VADriverContextP context);

VAStatus __vaDriverInit_1_0(VADriverContextP context) {
    struct driver *driver = calloc(1, sizeof *driver);
    if (!driver) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    char message[128];
    if (!personality_read(&driver->personality, getenv("HWSIM_PERSONALITY"), message, sizeof message)) {
        context->pDriverData = NULL;
        driver_complain(context, "HWSIM_PERSONALITY: %s", message);
        free(driver);
        return VA_STATUS_ERROR_INVALID_VALUE;
    }
    if (driver->personality.crash_init) raise(SIGSEGV);
    while (driver->personality.hang_init) pause();
    if (driver->personality.forbidden && !driver->personality.forbidden_at) forbidden_try(driver->personality.forbidden);
    if (driver->personality.fail_init) {
        free(driver);
        return VA_STATUS_ERROR_HW_BUSY;
    }
    transform_prepare();
    pthread_mutex_init(&driver->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&driver->never, &clock);
    pthread_condattr_destroy(&clock);
    driver->trace = file_named_by("HWSIM_TRACE");
    driver->recon = file_named_by("HWSIM_RECON");
    describe(context, driver);
    if (driver->trace && !calls_install(driver, context->vtable)) {
        terminate(context);
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    return VA_STATUS_SUCCESS;
}
