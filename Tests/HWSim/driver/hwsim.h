// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef HWSIM_H
#define HWSIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_drmcommon.h>
#include <va/va_enc_hevc.h>

#include "bitstream/bits.h"
#include "decoder/codec.h"
#include "driver/hwsim_picture.h"
#include "personality/personality.h"

// The objects behind libva's ids. One lock guards all of it; encoding itself runs without the
// lock, on objects that are marked busy meanwhile.

enum object_kind { OBJECT_CONFIG = 1, OBJECT_CONTEXT, OBJECT_SURFACE, OBJECT_BUFFER, OBJECT_IMAGE };

struct object {
    enum object_kind kind;
    VAGenericID id;
};

struct heap {
    struct object **slots;
    uint8_t *generations;
    unsigned capacity, last;
};

struct config {
    struct object object;
    VAProfile profile;
    VAEntrypoint entrypoint;
    uint32_t format, rate_control, packed_headers;
};

struct surface {
    struct object object;
    struct hwsim_picture picture;
    uint32_t fourcc;
    int memory_width, memory_height;  // of the allocation, in samples
    size_t size;
    uint8_t *memory;  // NULL when the surface is imported
    uint8_t *mapped[4];
    size_t mapped_size[4];
    unsigned busy, derived;
    bool hung;
    // The picture that it holds as a reconstruction.
    bool reconstructed;
    bool discardable;  // no picture of its temporal level may refer to it
    int poc, temporal_id;
    uint64_t serial;  // changes with every change of the samples
};

struct buffer {
    struct object object;
    VABufferType type;
    unsigned size, count;
    uint8_t *data;
    struct surface *surface;  // owner of `data`, for a derived image
    unsigned busy;
    bool hung, hung_map;  // for all waits, or for vaMapBuffer alone
    bool stale;           // the driver does not write the segments' status
    VACodedBufferSegment segments[2];
};

struct image {
    struct object object;
    VAImage image;
};

struct encoder;
struct hwsim_decoder;
struct submission;

struct context {
    struct object object;
    struct config config;
    int width, height;
    bool busy, begun;
    VASurfaceID target;
    struct submission *submission;
    struct encoder *encoder;
    struct hwsim_decoder *decoder;
    unsigned resets;   // of the GPU, before it was made
    enum codec codec;  // of a decoder that is not HEVC's, which keeps nothing; else 0
};

struct calls;

struct driver {
    pthread_mutex_t lock;
    pthread_cond_t never;  // never signalled: waits for a hung picture end by timeout
    struct heap heap;
    struct personality personality;
    unsigned pictures, decoded;  // submitted so far to encoders and to decoders
    uint64_t serial, busy_time;
    FILE *trace, *recon;
    struct calls *calls;  // with a trace
};

#define DRIVER(context) ((struct driver *)(context)->pDriverData)

// heap.c. Objects begin with a struct object, are zeroed, and are freed by heap_remove.
void *heap_add(struct heap *, enum object_kind, size_t size);
void *heap_find(const struct heap *, enum object_kind, VAGenericID);
void heap_remove(struct heap *, void *object);
// The next object of a kind after slot *place (which begins as 0), or NULL.
void *heap_next(const struct heap *, enum object_kind, unsigned *place);
void heap_free(struct heap *);

// driver.c: reports an error to libva's error callback and to the trace.
void driver_complain(VADriverContextP, const char *format, ...) __attribute__((format(printf, 2, 3)));

// query.c
void query_install(struct VADriverVTable *);
VAStatus query_check(const struct driver *, VAProfile, VAEntrypoint);
extern const VAImageFormat image_formats[2];

// surface.c
void surface_install(struct VADriverVTable *);
void surface_free(struct driver *, struct surface *);
// Lays out an NV12 or P010 picture, with lines and planes aligned as the driver's memory is.
size_t picture_layout(const struct personality *, struct hwsim_picture *, uint32_t fourcc, int width, int height,
    int *memory_width, int *memory_height);

// import.c: puts an empty surface into the client's memory.
VAStatus surface_import(struct surface *, const VADRMPRIMESurfaceDescriptor *);
void surface_unmap(struct surface *);

// export.c: vaExportSurfaceHandle.
void export_install(struct VADriverVTable *);

// Makes the chroma of an image's surface accessible or not, where derived images are said to map luma only.
void surface_guard(const struct driver *, struct surface *, bool is_derived);

// image.c
void image_install(struct VADriverVTable *);

// buffer.c
void buffer_install(struct VADriverVTable *);
void buffer_free(struct driver *, struct buffer *);
// Zeroed, page-aligned memory, as a device's is; freed by free.
void *pages(size_t size);
struct buffer *buffer_add(struct driver *, VABufferType, unsigned size, unsigned count, const void *data);
// Fills the coded buffer's segments; `bytes` may be NULL.
void buffer_set_coded(struct buffer *, const struct bytes *, uint32_t status, bool in_two);

// context.c
void context_install(struct VADriverVTable *);
void context_free(struct driver *, struct context *);

// submission.c: BeginPicture, RenderPicture, EndPicture.
void submission_install(struct VADriverVTable *);
void submission_free(struct submission *);

// calls.c: times every entry point for the trace, once the table is filled; false without memory.
bool calls_install(struct driver *, struct VADriverVTable *);
void calls_end(struct driver *);

// stubs.c: entry points that libva requires and this driver does not implement.
void stubs_install(struct VADriverVTable *);

#endif
