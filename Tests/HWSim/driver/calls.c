// SPDX-License-Identifier: GPL-2.0-or-later
// What the driver takes of its callers' time, in every entry point: with HWSIM_TRACE each is called through a wrapper that
// reads the thread's CPU clock before and after.
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "driver/hwsim.h"

// All that the driver has but vaTerminate, which writes the sums and frees them.
#define ENTRIES(ENTRY) \
    ENTRY(vaQueryConfigProfiles, (VADriverContextP c, VAProfile *p, int *n), (c, p, n)) \
    ENTRY(vaQueryConfigEntrypoints, (VADriverContextP c, VAProfile p, VAEntrypoint *e, int *n), (c, p, e, n)) \
    ENTRY(vaGetConfigAttributes, (VADriverContextP c, VAProfile p, VAEntrypoint e, VAConfigAttrib *a, int n), \
        (c, p, e, a, n)) \
    ENTRY(vaCreateConfig, (VADriverContextP c, VAProfile p, VAEntrypoint e, VAConfigAttrib *a, int n, VAConfigID *i), \
        (c, p, e, a, n, i)) \
    ENTRY(vaDestroyConfig, (VADriverContextP c, VAConfigID i), (c, i)) \
    ENTRY(vaQueryConfigAttributes, \
        (VADriverContextP c, VAConfigID i, VAProfile *p, VAEntrypoint *e, VAConfigAttrib *a, int *n), (c, i, p, e, a, n)) \
    ENTRY(vaCreateSurfaces, (VADriverContextP c, int w, int h, int f, int n, VASurfaceID *s), (c, w, h, f, n, s)) \
    ENTRY(vaCreateSurfaces2, (VADriverContextP c, unsigned f, unsigned w, unsigned h, VASurfaceID *s, unsigned n, \
        VASurfaceAttrib *a, unsigned m), (c, f, w, h, s, n, a, m)) \
    ENTRY(vaDestroySurfaces, (VADriverContextP c, VASurfaceID *s, int n), (c, s, n)) \
    ENTRY(vaQuerySurfaceAttributes, (VADriverContextP c, VAConfigID i, VASurfaceAttrib *a, unsigned *n), (c, i, a, n)) \
    ENTRY(vaCreateContext, (VADriverContextP c, VAConfigID i, int w, int h, int f, VASurfaceID *s, int n, VAContextID *x), \
        (c, i, w, h, f, s, n, x)) \
    ENTRY(vaDestroyContext, (VADriverContextP c, VAContextID x), (c, x)) \
    ENTRY(vaCreateBuffer, (VADriverContextP c, VAContextID x, VABufferType t, unsigned s, unsigned n, void *d, VABufferID *b), \
        (c, x, t, s, n, d, b)) \
    ENTRY(vaBufferSetNumElements, (VADriverContextP c, VABufferID b, unsigned n), (c, b, n)) \
    ENTRY(vaMapBuffer, (VADriverContextP c, VABufferID b, void **p), (c, b, p)) \
    ENTRY(vaUnmapBuffer, (VADriverContextP c, VABufferID b), (c, b)) \
    ENTRY(vaDestroyBuffer, (VADriverContextP c, VABufferID b), (c, b)) \
    ENTRY(vaBufferInfo, (VADriverContextP c, VABufferID b, VABufferType *t, unsigned *s, unsigned *n), (c, b, t, s, n)) \
    ENTRY(vaBeginPicture, (VADriverContextP c, VAContextID x, VASurfaceID s), (c, x, s)) \
    ENTRY(vaRenderPicture, (VADriverContextP c, VAContextID x, VABufferID *b, int n), (c, x, b, n)) \
    ENTRY(vaEndPicture, (VADriverContextP c, VAContextID x), (c, x)) \
    ENTRY(vaSyncSurface, (VADriverContextP c, VASurfaceID s), (c, s)) \
    ENTRY(vaSyncSurface2, (VADriverContextP c, VASurfaceID s, uint64_t t), (c, s, t)) \
    ENTRY(vaSyncBuffer, (VADriverContextP c, VABufferID b, uint64_t t), (c, b, t)) \
    ENTRY(vaQuerySurfaceStatus, (VADriverContextP c, VASurfaceID s, VASurfaceStatus *t), (c, s, t)) \
    ENTRY(vaQueryImageFormats, (VADriverContextP c, VAImageFormat *f, int *n), (c, f, n)) \
    ENTRY(vaCreateImage, (VADriverContextP c, VAImageFormat *f, int w, int h, VAImage *i), (c, f, w, h, i)) \
    ENTRY(vaDeriveImage, (VADriverContextP c, VASurfaceID s, VAImage *i), (c, s, i)) \
    ENTRY(vaDestroyImage, (VADriverContextP c, VAImageID i), (c, i)) \
    ENTRY(vaSetImagePalette, (VADriverContextP c, VAImageID i, unsigned char *p), (c, i, p)) \
    ENTRY(vaGetImage, (VADriverContextP c, VASurfaceID s, int x, int y, unsigned w, unsigned h, VAImageID i), \
        (c, s, x, y, w, h, i)) \
    ENTRY(vaPutImage, (VADriverContextP c, VASurfaceID s, VAImageID i, int x, int y, unsigned w, unsigned h, int u, int v, \
        unsigned m, unsigned n), (c, s, i, x, y, w, h, u, v, m, n)) \
    ENTRY(vaQuerySubpictureFormats, (VADriverContextP c, VAImageFormat *f, unsigned *g, unsigned *n), (c, f, g, n)) \
    ENTRY(vaCreateSubpicture, (VADriverContextP c, VAImageID i, VASubpictureID *p), (c, i, p)) \
    ENTRY(vaDestroySubpicture, (VADriverContextP c, VASubpictureID p), (c, p)) \
    ENTRY(vaSetSubpictureImage, (VADriverContextP c, VASubpictureID p, VAImageID i), (c, p, i)) \
    ENTRY(vaSetSubpictureChromakey, (VADriverContextP c, VASubpictureID p, unsigned a, unsigned b, unsigned m), \
        (c, p, a, b, m)) \
    ENTRY(vaSetSubpictureGlobalAlpha, (VADriverContextP c, VASubpictureID p, float a), (c, p, a)) \
    ENTRY(vaAssociateSubpicture, (VADriverContextP c, VASubpictureID p, VASurfaceID *s, int n, short x, short y, \
        unsigned short w, unsigned short h, short u, short v, unsigned short m, unsigned short o, unsigned f), \
        (c, p, s, n, x, y, w, h, u, v, m, o, f)) \
    ENTRY(vaDeassociateSubpicture, (VADriverContextP c, VASubpictureID p, VASurfaceID *s, int n), (c, p, s, n)) \
    ENTRY(vaQueryDisplayAttributes, (VADriverContextP c, VADisplayAttribute *a, int *n), (c, a, n)) \
    ENTRY(vaGetDisplayAttributes, (VADriverContextP c, VADisplayAttribute *a, int n), (c, a, n)) \
    ENTRY(vaSetDisplayAttributes, (VADriverContextP c, VADisplayAttribute *a, int n), (c, a, n))

enum entry {
#define AT(name, parameters, arguments) AT_##name,
    ENTRIES(AT)
#undef AT
    ENTRY_COUNT
};

static const char *const names[ENTRY_COUNT] = {
#define NAME(name, parameters, arguments) #name,
    ENTRIES(NAME)
#undef NAME
};

struct calls {
    struct VADriverVTable table;  // what the wrappers call
    uint64_t reading;             // what it takes to read the clock
    _Atomic uint64_t time, count;
    _Atomic uint64_t times[ENTRY_COUNT], counts[ENTRY_COUNT];
};

static uint64_t thread_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void add(struct calls *calls, enum entry entry, uint64_t time) {
    calls->time += time;
    calls->times[entry] += time;
}

static void count(struct driver *driver, enum entry entry, uint64_t start) {
    struct calls *calls = driver->calls;
    uint64_t end = thread_nanoseconds();
    calls->count++;
    calls->counts[entry]++;
    // Half of each clock reading is outside of the measured call; without the trace no caller would spend it.
    add(calls, entry, end - start + calls->reading);
    if (entry != AT_vaEndPicture) return;
    fprintf(driver->trace, "calls %llu cpu_ns %llu\n", (unsigned long long)calls->count, (unsigned long long)calls->time);
    fflush(driver->trace);
    add(calls, entry, thread_nanoseconds() - end + calls->reading);
}

#define TIMED(name, parameters, arguments) \
    static VAStatus timed_##name parameters { \
        struct driver *driver = DRIVER(c); \
        uint64_t start = thread_nanoseconds(); \
        VAStatus status = driver->calls->table.name arguments; \
        count(driver, AT_##name, start); \
        return status; \
    }
ENTRIES(TIMED)
#undef TIMED

bool calls_install(struct driver *driver, struct VADriverVTable *table) {
    struct calls *calls = driver->calls = calloc(1, sizeof *calls);
    if (!calls) return false;
    calls->table = *table;
    calls->reading = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t start = thread_nanoseconds(), taken = thread_nanoseconds() - start;
        if (taken < calls->reading) calls->reading = taken;
    }
#define WRAP(name, parameters, arguments) \
    if (table->name) table->name = timed_##name;
    ENTRIES(WRAP)
#undef WRAP
    return true;
}

void calls_end(struct driver *driver) {
    struct calls *calls = driver->calls;
    if (!calls) return;
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (calls->counts[i])
            fprintf(driver->trace, "entry %s calls %llu cpu_ns %llu\n", names[i], (unsigned long long)calls->counts[i],
                (unsigned long long)calls->times[i]);
    free(calls);
    driver->calls = NULL;
}
