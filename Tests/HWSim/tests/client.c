// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>

static bool good(VAStatus status, const char *what) {
    if (status == VA_STATUS_SUCCESS) return true;
    fprintf(stderr, "%s: %s\n", what, vaErrorStr(status));
    return false;
}

static void quiet(void *nothing, const char *text) { (void)nothing, (void)text; }

static bool open_display(struct client *client) {
    const struct scenario *scenario = client->scenario;
    setenv("HWSIM_PERSONALITY", scenario->personality ? scenario->personality : "full", 1);
    client->file = open("/dev/null", O_RDWR | O_CLOEXEC);
    client->display = vaGetDisplayDRM(client->file);
    if (!client->display) return fprintf(stderr, "no display: is nodes.so preloaded?\n"), false;
    vaSetInfoCallback(client->display, quiet, NULL);
    if (scenario->fault) vaSetErrorCallback(client->display, quiet, NULL);
    int major, minor;
    return good(vaInitialize(client->display, &major, &minor), "vaInitialize");
}

// The source in memory of this process, with a margin on the right.
static bool import_source(struct client *client) {
    bool ten = client->scenario->depth == 10;
    uint32_t fourcc = ten ? VA_FOURCC_P010 : VA_FOURCC_NV12, width = (uint32_t)client->coded_width;
    uint32_t height = (uint32_t)client->coded_height, pitch = (width + 96) * (ten ? 2 : 1);
    int file = memfd_create("source", MFD_CLOEXEC);
    client->memory_size = (size_t)pitch * height * 3 / 2;
    if (file < 0 || ftruncate(file, (off_t)client->memory_size)) return false;
    client->memory = mmap(NULL, client->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    client->memory_layout = (VAImage){.pitches = {pitch, pitch}, .offsets = {0, pitch * height}};
    VADRMPRIMESurfaceDescriptor descriptor = {
        .fourcc = fourcc, .width = width, .height = height, .num_objects = 1, .num_layers = 1,
        .objects = {{.fd = file, .size = (uint32_t)client->memory_size}},
        .layers = {{.drm_format = fourcc, .num_planes = 2, .offset = {0, pitch * height}, .pitch = {pitch, pitch}}},
    };
    VASurfaceAttrib attributes[] = {
        {VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_SETTABLE,
            {VAGenericValueTypeInteger, {.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2}}},
        {VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE,
            {VAGenericValueTypePointer, {.p = &descriptor}}},
    };
    unsigned format = ten ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
    VASurfaceID surface;
    // A descriptor that reaches beyond the memory is refused.
    descriptor.layers[0].offset[1] += pitch;
    bool refused = vaCreateSurfaces(client->display, format, width, height, &surface, 1, attributes, 2) != VA_STATUS_SUCCESS;
    descriptor.layers[0].offset[1] -= pitch;
    bool done = good(vaCreateSurfaces(client->display, format, width, height, &client->source, 1, attributes, 2), "an import");
    close(file);
    if (!refused) fprintf(stderr, "an import from beyond the memory is not refused\n");
    return done && refused && client->memory != MAP_FAILED;
}

bool client_open(struct client *client, const struct scenario *scenario, VADisplay display) {
    memset(client, 0, sizeof *client);
    client->scenario = scenario;
    client->coded = VA_INVALID_ID;
    client->shared = display != NULL;
    client->display = display;
    if (!display && !open_display(client)) return false;

    bool ten = scenario->depth == 10;
    VAProfile profile = ten ? VAProfileHEVCMain10 : VAProfileHEVCMain;
    VAEntrypoint entrypoints[4], entrypoint = 0;
    int count = 0;
    if (!good(vaQueryConfigEntrypoints(client->display, profile, entrypoints, &count), "entrypoints")) return false;
    for (int i = 0; i < count; i++)
        if (entrypoints[i] == VAEntrypointEncSlice || entrypoints[i] == VAEntrypointEncSliceLP) entrypoint = entrypoints[i];
    uint32_t packed = scenario->packed_sequence_only ? VA_ENC_PACKED_HEADER_SEQUENCE
                                                     : VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE |
                                                           VA_ENC_PACKED_HEADER_SLICE | VA_ENC_PACKED_HEADER_RAW_DATA;
    VAConfigAttrib attributes[] = {
        {VAConfigAttribRTFormat, ten ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420},
        {VAConfigAttribRateControl, scenario->rate_control ? scenario->rate_control : VA_RC_CQP},
        {VAConfigAttribEncPackedHeaders, packed},
    };
    make_sets(client);
    unsigned format = attributes[0].value, width = (unsigned)client->coded_width, height = (unsigned)client->coded_height;
    if (!good(vaCreateConfig(client->display, profile, entrypoint, attributes, 3, &client->config), "vaCreateConfig") ||
        !(scenario->imported
                ? import_source(client)
                : good(vaCreateSurfaces(client->display, format, width, height, &client->source, 1, NULL, 0), "source")) ||
        !good(vaCreateSurfaces(client->display, format, width, height, client->surfaces, MAX_SURFACES, NULL, 0), "surfaces") ||
        !good(vaCreateContext(client->display, client->config, (int)width, (int)height, VA_PROGRESSIVE, client->surfaces,
                  MAX_SURFACES, &client->context), "vaCreateContext") ||
        !good(vaCreateBuffer(client->display, client->context, VAEncCodedBufferType, 3 * width * height + 65536, 1, NULL,
                  &client->coded), "coded buffer"))
        return false;
    make_plans(client);
    client->frame_size = (size_t)scenario->width * (size_t)scenario->height * 3 / 2 * (ten ? 2 : 1);
    client->source_samples = malloc(client->frame_size);
    return client->source_samples != NULL;
}

void client_close(struct client *client) {
    if (client->display && !client->shared) {
        vaTerminate(client->display);  // which frees everything of the driver's
        close(client->file);
    }
    if (client->memory) munmap(client->memory, client->memory_size);
    free(client->source_samples);
}

// A gradient that moves, texture that stays, noise here and there, and a square that hurries.
void make_content(const struct client *client, int poc, uint8_t *samples) {
    const struct scenario *scenario = client->scenario;
    int width = scenario->width, height = scenario->height, ten = scenario->depth == 10;
    for (int plane = 0; plane < 2; plane++)
        for (int y = 0; y < height >> plane; y++)
            for (int x = 0; x < width; x++) {
                int cx = plane ? x / 2 * 2 : x, cy = y << plane, value;
                if (plane) value = 512 + (x & 1 ? cx : cy) % 200 + poc;
                else value = 200 + (cx + cy + 2 * poc) % 400 + ((cx / 8 ^ cy / 4) & 7) * 24;
                unsigned noise = (unsigned)(cx * 7919 + cy * 104729 + (cx > width / 2 ? 0 : poc) * 1299709) * 2654435761u;
                if (cy % 96 > 64) value += (int)(noise >> 26);
                int left = poc * 9 % (width - 40), top = poc * 5 % (height - 40);
                if (cx >= left && cx < left + 40 && cy >= top && cy < top + 40) value = plane ? 300 : 900;
                if (ten) ((uint16_t *)samples)[0] = (uint16_t)(value << 6), samples += 2;
                else *samples++ = (uint8_t)(value >> 2);
            }
}

// Between tightly packed samples and an image; only the visible part.
static void copy_image(const struct client *client, const VAImage *image, uint8_t *data, uint8_t *samples, bool in) {
    const struct scenario *scenario = client->scenario;
    size_t line = (size_t)scenario->width * (scenario->depth == 10 ? 2 : 1);
    for (int plane = 0; plane < 2; plane++)
        for (int y = 0; y < scenario->height >> plane; y++, samples += line) {
            uint8_t *row = data + image->offsets[plane] + (size_t)y * image->pitches[plane];
            memcpy(in ? row : samples, in ? samples : row, line);
        }
}

static bool upload(struct client *client, int poc) {
    VAImage image;
    void *data;
    make_content(client, poc, client->source_samples);
    if (client->memory) {
        copy_image(client, &client->memory_layout, client->memory, client->source_samples, true);
        return true;
    }
    bool derived = vaDeriveImage(client->display, client->source, &image) == VA_STATUS_SUCCESS;
    if (!derived) {
        VAImageFormat format = {.fourcc = client->scenario->depth == 10 ? VA_FOURCC_P010 : VA_FOURCC_NV12};
        if (!good(vaCreateImage(client->display, &format, client->coded_width, client->coded_height, &image), "vaCreateImage"))
            return false;
    }
    if (!good(vaMapBuffer(client->display, image.buf, &data), "vaMapBuffer")) return false;
    copy_image(client, &image, data, client->source_samples, true);
    vaUnmapBuffer(client->display, image.buf);
    unsigned width = (unsigned)client->coded_width, height = (unsigned)client->coded_height;
    bool done = derived || good(vaPutImage(client->display, client->source, image.image_id, 0, 0, width, height, 0, 0, width,
                                    height), "vaPutImage");
    vaDestroyImage(client->display, image.image_id);
    return done;
}

bool client_picture(struct client *client, int poc, uint8_t *samples) {
    VASurfaceID surface = VA_INVALID_SURFACE;
    for (int i = 0; i < MAX_SURFACES; i++)
        if (client->held[i] && client->pocs[i] == poc) surface = client->surfaces[i];
    VAImageFormat format = {.fourcc = client->scenario->depth == 10 ? VA_FOURCC_P010 : VA_FOURCC_NV12};
    VAImage image;
    void *data;
    unsigned width = (unsigned)client->coded_width, height = (unsigned)client->coded_height;
    if (surface == VA_INVALID_SURFACE ||
        !good(vaCreateImage(client->display, &format, (int)width, (int)height, &image), "vaCreateImage"))
        return false;
    bool done = good(vaGetImage(client->display, surface, 0, 0, width, height, image.image_id), "vaGetImage") &&
                good(vaMapBuffer(client->display, image.buf, &data), "vaMapBuffer");
    if (done) {
        copy_image(client, &image, data, samples, false);
        vaUnmapBuffer(client->display, image.buf);
    }
    vaDestroyImage(client->display, image.image_id);
    return done;
}

// Flips a bit in one buffer of eight or so; the same ones in every run.
static void spoil(VABufferType type, unsigned size, uint8_t *data) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    // Not the surfaces and buffers that are named: that is another fault.
    bool parameters = type == VAEncSequenceParameterBufferType || type == VAEncPackedHeaderDataBufferType ||
                      type == VAEncPackedHeaderParameterBufferType || type == VAEncSliceParameterBufferType ||
                      type == VAEncMiscParameterBufferType;
    if (!parameters || state >> 29) return;
    for (unsigned flips = 1 + (state >> 24 & 3); flips > 0; flips--) {
        state = state * 1664525 + 1013904223;
        // Headers are of interest where they begin.
        data[(state >> 8) % (size > 64 ? 64 : size)] ^= (uint8_t)(1 << (state >> 29));
    }
}

static bool send(struct client *client, VABufferType type, unsigned size, const void *data) {
    VABufferID buffer;
    uint8_t copy[4096];
    if (client->scenario->fault == RUBBISH && size <= sizeof copy) {
        memcpy(copy, data, size);
        spoil(type, size, copy);
        data = copy;
    }
    if (!good(vaCreateBuffer(client->display, client->context, type, size, 1, (void *)(uintptr_t)data, &buffer), "vaCreateBuffer"))
        return false;
    VAStatus status = vaRenderPicture(client->display, client->context, &buffer, 1);
    vaDestroyBuffer(client->display, buffer);
    if (client->scenario->fault == RUBBISH) return true;
    return good(status, "vaRenderPicture");
}

static bool send_packed(struct client *client, uint32_t type, const void *data, size_t bits, bool escaped) {
    VAEncPackedHeaderParameterBuffer header = {type, (uint32_t)bits, escaped, {0}};
    return send(client, VAEncPackedHeaderParameterBufferType, sizeof header, &header) &&
           send(client, VAEncPackedHeaderDataBufferType, (unsigned)((bits + 7) / 8), data);
}

static bool send_misc(struct client *client, VAEncMiscParameterType type, const void *data, size_t size) {
    uint64_t memory[32] = {0};
    VAEncMiscParameterBuffer *misc = (void *)memory;
    misc->type = type;
    memcpy(misc->data, data, size);
    return send(client, VAEncMiscParameterBufferType, (unsigned)(sizeof *misc + size), misc);
}

static bool send_sets(struct client *client) {
    const struct scenario *scenario = client->scenario;
    const struct sps *sps = &client->sets.sps[0];
    VAEncSequenceParameterBufferHEVC sequence;
    fill_sequence(client, &sequence);
    switch (scenario->fault) {
        case WRONG_WIDTH: sequence.pic_width_in_luma_samples += 8; break;
        case WRONG_DEPTH: sequence.seq_fields.bits.bit_depth_luma_minus8 = 2; break;
        case WRONG_CTB: sequence.log2_diff_max_min_luma_coding_block_size--; break;
        case WRONG_TB: sequence.log2_diff_max_min_transform_block_size--; break;
        case WRONG_AMP: sequence.seq_fields.bits.amp_enabled_flag ^= 1; break;
        default: break;
    }
    if (!send(client, VAEncSequenceParameterBufferType, sizeof sequence, &sequence)) return false;
    if (scenario->rate_control) {
        VAEncMiscParameterRateControl rate = {
            .bits_per_second = scenario->bits_per_second, .target_percentage = 100, .window_size = 1000,
            .ICQ_quality_factor = 30, .quality_factor = 20};
        VAEncMiscParameterFrameRate frame_rate = {.framerate = 30};
        VAEncMiscParameterHRD hrd = {
            .initial_buffer_fullness = scenario->bits_per_second / 2, .buffer_size = scenario->bits_per_second};
        if (!send_misc(client, VAEncMiscParameterTypeRateControl, &rate, sizeof rate) ||
            !send_misc(client, VAEncMiscParameterTypeFrameRate, &frame_rate, sizeof frame_rate) ||
            !send_misc(client, VAEncMiscParameterTypeHRD, &hrd, sizeof hrd))
            return false;
    }
    struct bytes bytes = {0}, pps = {0};
    write_vps(&bytes, sps);
    write_sps(&bytes, sps);
    write_pps(&pps, &client->sets.pps[0]);
    bool sent = send_packed(client, VAEncPackedHeaderSequence, bytes.data, 8 * bytes.count, true) &&
                (scenario->packed_sequence_only ||
                    send_packed(client, VAEncPackedHeaderPicture, pps.data, 8 * pps.count, true));
    bytes_free(&bytes);
    bytes_free(&pps);
    return sent;
}

static void break_picture(const struct client *client, VAEncPictureParameterBufferHEVC *picture) {
    switch (client->scenario->fault) {
        case WRONG_QP_DELTA_FLAG: picture->pic_fields.bits.cu_qp_delta_enabled_flag ^= 1; break;
        case WRONG_HIDING: picture->pic_fields.bits.sign_data_hiding_enabled_flag ^= 1; break;
        case WRONG_POC: picture->decoded_curr_pic.pic_order_cnt++; break;
        case WRONG_NAL_TYPE: picture->nal_unit_type ^= 1; break;
        case WRONG_INIT_QP: picture->pic_init_qp++; break;
        case NO_REFERENCE: picture->reference_frames[0] = (VAPictureHEVC){VA_INVALID_SURFACE, 0, VA_PICTURE_HEVC_INVALID, {0}}; break;
        case FOREIGN_SURFACE: picture->reference_frames[0].picture_id = client->source; break;
        default: break;
    }
}

static void break_slice(const struct client *client, struct slice *slice, VAEncSliceParameterBufferHEVC *buffer) {
    switch (client->scenario->fault) {
        case WRONG_QP: buffer->slice_qp_delta++; break;
        case WRONG_DEBLOCKING: buffer->slice_fields.bits.slice_deblocking_filter_disabled_flag ^= 1; break;
        case WRONG_SAO: buffer->slice_fields.bits.slice_sao_luma_flag ^= 1; break;
        case WRONG_TYPE: buffer->slice_type = SLICE_I; break;
        case WRONG_LIST: buffer->ref_pic_list0[0].pic_order_cnt--; break;
        case WRONG_COUNT: buffer->num_ref_idx_l0_active_minus1++; break;
        case WRONG_CTBS: buffer->num_ctu_in_slice--; break;
        case FOREIGN_SURFACE: buffer->ref_pic_list0[0].picture_id = client->source; break;
        case HIGHER_LEVEL: slice->nal.temporal_id = 0; break;
        default: break;
    }
}

static bool send_slices(struct client *client, const struct plan *plan, bool broken) {
    const struct scenario *scenario = client->scenario;
    for (int i = 0; i < (scenario->slices ? scenario->slices : 1); i++) {
        struct slice slice;
        VAEncSliceParameterBufferHEVC buffer;
        fill_slice(client, plan, i, &slice, &buffer);
        if (broken) break_slice(client, &slice, &buffer);
        struct bytes rbsp = {0}, packed = {0};
        int zeros;
        write_slice(&rbsp, &client->sets.sps[0], &client->sets.pps[0], &slice);
        if (scenario->escaped_slices) {
            append_nal(&packed, &rbsp, &zeros);
        } else {
            bytes_append(&packed, "\0\0\1", 3);
            bytes_append(&packed, rbsp.data, rbsp.count);
        }
        size_t bits = 8 * packed.count - (broken && scenario->fault == NOT_ALIGNED ? 8 : 0);
        bool left_out = scenario->packed_sequence_only || (broken && scenario->fault == NO_HEADER);
        bool sent = left_out || send_packed(client, VAEncPackedHeaderSlice, packed.data, bits, scenario->escaped_slices);
        bytes_free(&rbsp);
        bytes_free(&packed);
        if (!sent || !send(client, VAEncSliceParameterBufferType, sizeof buffer, &buffer)) return false;
    }
    return true;
}

static int free_surface(struct client *client, const struct plan *plan) {
    for (int i = 0; i < MAX_SURFACES; i++) {
        bool kept = false;
        for (int j = 0; j < plan->rps.negative + plan->rps.positive; j++)
            kept = kept || (client->held[i] && client->pocs[i] == plan->poc + plan->rps.delta[j]);
        if (!kept) return i;
    }
    return 0;
}

VAStatus client_encode(struct client *client, int number, struct bytes *stream) {
    const struct scenario *scenario = client->scenario;
    const struct plan *plan = &client->plans[number];
    bool broken = scenario->fault && number == (int)scenario->fault_at;
    int place = free_surface(client, plan);
    client->held[place] = false;
    VAEncPictureParameterBufferHEVC picture;
    fill_picture(client, plan, client->surfaces[place], &picture);
    if (broken) break_picture(client, &picture);
    VAStatus failed = VA_STATUS_ERROR_UNKNOWN;
    if (!upload(client, plan->poc) || !good(vaBeginPicture(client->display, client->context, client->source), "vaBeginPicture"))
        return failed;
    if (plan->nal_type >= NAL_BLA_W_LP && !send_sets(client)) return failed;
    static const uint8_t delimiter[] = {0, 0, 0, 1, NAL_AUD << 1, 1, 0x50};
    if (!scenario->packed_sequence_only && !send_packed(client, VAEncPackedHeaderRawData, delimiter, 56, true)) return failed;
    if (!send(client, VAEncPictureParameterBufferType, sizeof picture, &picture) || !send_slices(client, plan, broken))
        return failed;
    VAStatus status = vaEndPicture(client->display, client->context);
    VACodedBufferSegment *segment;
    if (!good(vaMapBuffer(client->display, client->coded, (void **)&segment), "the coded buffer")) return failed;
    if (!status && !segment->size) status = VA_STATUS_ERROR_ENCODING_ERROR;
    if (status && segment->size) status = VA_STATUS_SUCCESS;  // which the caller will take amiss
    for (; !status && segment; segment = segment->next) bytes_append(stream, segment->buf, segment->size);
    vaUnmapBuffer(client->display, client->coded);
    client->held[place] = status == VA_STATUS_SUCCESS;
    client->pocs[place] = plan->poc;
    return status;
}
