// SPDX-License-Identifier: GPL-2.0-or-later
// libnvcuvid.so.1: decoders. A picture is decoded when cuvidDecodePicture returns, from the parameters of that call and the
// slices' data alone; it leaves when it is mapped.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "faults/plan.h"
#include "faults/spoil.h"
#include "nvidia/picture.h"

tcuMemAlloc_v2 cuMemAlloc_v2;
tcuMemFree_v2 cuMemFree_v2;

// NVDEC's smallest HEVC picture.
enum { SMALLEST_SIDE = 144, LARGEST_SURFACES = 64, LARGEST_OUTPUTS = 64 };

struct surface {
    struct hwsim_picture picture;
    bool decoded, hung;
    cuvidDecodeStatus status;
};

struct output {
    CUdeviceptr address;
    bool mapped;
};

struct decoder {
    pthread_mutex_t lock;
    CUVIDDECODECREATEINFO info;
    struct hwsim_decoder *decoder;
    struct nv_picture picture;
    CUdeviceptr memory;
    struct surface *surfaces;
    struct output *outputs;
    unsigned pitch, output_count;
    int left, top;
    unsigned resets;  // of the GPU, before it was made
};

struct _CUcontextlock_st {
    pthread_mutex_t mutex;
};

static _Atomic unsigned decoded;

static CUresult check_context(void) {
    CUcontext context = NULL;
    CUresult status = cuCtxGetCurrent(&context);
    return status ? status : context ? CUDA_SUCCESS : CUDA_INVALID_CONTEXT;
}

// --- What there is

EXPORT CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS *caps) {
    const struct personality *personality = nvidia_personality();
    CUresult status = check_context();
    if (status) return status;
    bool deep = caps->nBitDepthMinus8 == 2;
    CUVIDDECODECAPS answer = {.eCodecType = caps->eCodecType, .eChromaFormat = caps->eChromaFormat,
        .nBitDepthMinus8 = caps->nBitDepthMinus8};
    if (caps->eCodecType == cudaVideoCodec_HEVC && caps->eChromaFormat == cudaVideoChromaFormat_420 &&
        (deep || !caps->nBitDepthMinus8) && personality->decode[deep]) {
        answer.bIsSupported = 1;
        answer.nNumNVDECs = 1;
        answer.nOutputFormatMask = deep ? 1 << cudaVideoSurfaceFormat_P016 : 1 << cudaVideoSurfaceFormat_NV12;
        answer.nMaxWidth = (unsigned)personality->largest_width;
        answer.nMaxHeight = (unsigned)personality->largest_height;
        answer.nMaxMBCount = answer.nMaxWidth * answer.nMaxHeight / 256;
        answer.nMinWidth = answer.nMinHeight = SMALLEST_SIDE;
    }
    *caps = answer;
    return CUDA_SUCCESS;
}

// --- Decoders

static bool is_possible(const CUVIDDECODECREATEINFO *info) {
    const struct personality *personality = nvidia_personality();
    bool deep = info->bitDepthMinus8 == 2;
    long width = info->display_area.right - info->display_area.left, height = info->display_area.bottom - info->display_area.top;
    const char *wrong = NULL;
    if (info->CodecType != cudaVideoCodec_HEVC || info->ChromaFormat != cudaVideoChromaFormat_420 ||
        !(deep || !info->bitDepthMinus8) || !personality->decode[deep])
        wrong = "the codec, the chroma format or the depth is not supported";
    else if (info->ulWidth < SMALLEST_SIDE || info->ulHeight < SMALLEST_SIDE || info->ulWidth > (unsigned)personality->largest_width ||
             info->ulHeight > (unsigned)personality->largest_height)
        wrong = "the size is not supported";
    else if (info->OutputFormat != (deep ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12))
        wrong = "other output formats than NV12 and P016, each for its depth, are not implemented";
    else if (info->DeinterlaceMode != cudaVideoDeinterlaceMode_Weave) wrong = "deinterlacing is not implemented";
    else if (!info->ulNumDecodeSurfaces || info->ulNumDecodeSurfaces > LARGEST_SURFACES || info->ulNumOutputSurfaces > LARGEST_OUTPUTS)
        wrong = "so many surfaces are not supported";
    else if (width || height) {
        if (info->display_area.left < 0 || info->display_area.top < 0 || (unsigned long)info->display_area.right > info->ulWidth ||
            (unsigned long)info->display_area.bottom > info->ulHeight)
            wrong = "the display area is outside the picture";
        else if (((unsigned long)width + 1) / 2 * 2 != info->ulTargetWidth || ((unsigned long)height + 1) / 2 * 2 != info->ulTargetHeight)
            wrong = "scaling is not implemented";
    } else if (info->ulTargetWidth > info->ulWidth || info->ulTargetHeight > info->ulHeight) {
        wrong = "scaling is not implemented";
    }
    if (wrong) log_fault("cuvidCreateDecoder: %s", wrong);
    return !wrong;
}

EXPORT CUresult cuvidDestroyDecoder(CUvideodecoder handle) {
    struct decoder *decoder = handle;
    if (!decoder) return CUDA_INVALID_HANDLE;
    if (decoder->memory) cuMemFree_v2(decoder->memory);
    for (unsigned i = 0; decoder->outputs && i < decoder->output_count; i++)
        if (decoder->outputs[i].address) cuMemFree_v2(decoder->outputs[i].address);
    hwsim_decoder_destroy(decoder->decoder);
    nv_picture_free(&decoder->picture);
    pthread_mutex_destroy(&decoder->lock);
    free(decoder->surfaces);
    free(decoder->outputs);
    free(decoder);
    return CUDA_SUCCESS;
}

static CUresult allocate(struct decoder *decoder) {
    const CUVIDDECODECREATEINFO *info = &decoder->info;
    size_t sample = info->bitDepthMinus8 ? 2 : 1;
    size_t stride = (info->ulWidth * sample + DEVICE_PITCH - 1) / DEVICE_PITCH * DEVICE_PITCH;
    size_t each = stride * (info->ulHeight + info->ulHeight / 2);
    CUresult status = cuMemAlloc_v2(&decoder->memory, each * info->ulNumDecodeSurfaces);
    for (unsigned i = 0; !status && i < info->ulNumDecodeSurfaces; i++) {
        uint8_t *memory = (uint8_t *)(uintptr_t)decoder->memory + i * each;
        decoder->surfaces[i].picture = (struct hwsim_picture){.width = (int)info->ulWidth, .height = (int)info->ulHeight,
            .depth = (int)info->bitDepthMinus8 + 8, .planes = {memory, memory + stride * info->ulHeight},
            .strides = {(int)stride, (int)stride}};
    }
    decoder->pitch = (unsigned)((info->ulTargetWidth * sample + DEVICE_PITCH - 1) / DEVICE_PITCH * DEVICE_PITCH);
    for (unsigned i = 0; !status && i < decoder->output_count; i++)
        status = cuMemAlloc_v2(&decoder->outputs[i].address, (size_t)decoder->pitch * (info->ulTargetHeight * 3 / 2 + 1));
    return status;
}

EXPORT CUresult cuvidCreateDecoder(CUvideodecoder *handle, CUVIDDECODECREATEINFO *info) {
    CUresult status = check_context();
    if (status) return status;
    if (!is_possible(info)) return CUDA_NOT_SUPPORTED;
    struct decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return CUDA_OUT_OF_MEMORY;
    pthread_mutex_init(&decoder->lock, NULL);
    decoder->info = *info;
    decoder->resets = plan_resets();
    decoder->output_count = info->ulNumOutputSurfaces ? (unsigned)info->ulNumOutputSurfaces : 1;
    decoder->surfaces = calloc(info->ulNumDecodeSurfaces, sizeof *decoder->surfaces);
    decoder->outputs = calloc(decoder->output_count, sizeof *decoder->outputs);
    decoder->decoder = hwsim_decoder_create((int)info->ulWidth, (int)info->ulHeight, (int)info->bitDepthMinus8 + 8);
    if (info->display_area.right) {
        decoder->left = info->display_area.left;
        decoder->top = info->display_area.top;
    }
    status = decoder->surfaces && decoder->outputs && decoder->decoder ? allocate(decoder) : CUDA_OUT_OF_MEMORY;
    if (status) cuvidDestroyDecoder(decoder);
    else *handle = decoder;
    return status;
}

EXPORT CUresult cuvidReconfigureDecoder(CUvideodecoder handle, CUVIDRECONFIGUREDECODERINFO *info) {
    (void)handle, (void)info;
    return CUDA_NOT_SUPPORTED;
}

static CUresult decode(struct decoder *decoder, struct surface *surface, const CUVIDPICPARAMS *parameters, unsigned number) {
    const struct personality *personality = nvidia_personality();
    char message[MESSAGE_SIZE] = "";
    bool read = nv_picture_read(&decoder->picture, parameters, message);
    const VAIQMatrixBufferHEVC *matrix =
        parameters->CodecSpecific.hevc.scaling_list_enable_flag ? &decoder->picture.matrix : NULL;
    VAStatus result = read ? hwsim_decoder_decode(decoder->decoder, &decoder->picture.picture, matrix, decoder->picture.slices,
                                 (int)parameters->nNumSlices, &surface->picture, message, sizeof message)
                           : VA_STATUS_ERROR_INVALID_PARAMETER;
    if (message[0]) log_fault("picture %u (POC %d): %s", number, parameters->CodecSpecific.hevc.CurrPicOrderCntVal, message);
    bool is_wrong = personality->decode_wrong_at && number >= personality->decode_wrong_at;
    if (is_wrong) invert_picture(&surface->picture);
    // The lowest bit of the first sample.
    if (personality->wrong_samples) surface->picture.planes[0][0] ^= surface->picture.depth > 8 ? 1 << 6 : 1;
    // What cannot be decoded is grey or damaged, with success: hardware reports by the picture's status alone.
    surface->decoded = true;
    surface->status = result ? cuvidDecodeStatus_Error : message[0] ? cuvidDecodeStatus_Error_Concealed : cuvidDecodeStatus_Success;
    return read ? CUDA_SUCCESS : CUDA_INVALID_VALUE;
}

EXPORT CUresult cuvidDecodePicture(CUvideodecoder handle, CUVIDPICPARAMS *parameters) {
    const struct personality *personality = nvidia_personality();
    struct decoder *decoder = handle;
    CUresult status = check_context();
    if (status) return status;
    if (!decoder || parameters->CurrPicIdx < 0 || parameters->CurrPicIdx >= (int)decoder->info.ulNumDecodeSurfaces)
        return CUDA_INVALID_VALUE;
    unsigned number = ++decoded;
    enum planned_fault fault = plan_take(true, number);
    if (number == personality->decode_crash_at || fault == FAULT_DECODE_CRASH) raise(SIGSEGV);
    pthread_mutex_lock(&decoder->lock);
    struct surface *surface = &decoder->surfaces[parameters->CurrPicIdx];
    bool fails = (personality->decode_fail_at && number >= personality->decode_fail_at) || fault == FAULT_DECODE_FAIL;
    surface->hung = (personality->decode_hang_at && number >= personality->decode_hang_at) || fault == FAULT_DECODE_HANG;
    if (fails || plan_resets() > decoder->resets) {
        log_fault("picture %u: it was asked to fail", number);
        status = CUDA_LAUNCH_FAILED;
    } else if (!surface->hung) {
        status = decode(decoder, surface, parameters, number);
    }
    pthread_mutex_unlock(&decoder->lock);
    return status;
}

EXPORT CUresult cuvidGetDecodeStatus(CUvideodecoder handle, int index, CUVIDGETDECODESTATUS *status) {
    struct decoder *decoder = handle;
    if (!decoder || index < 0 || index >= (int)decoder->info.ulNumDecodeSurfaces) return CUDA_INVALID_VALUE;
    memset(status, 0, sizeof *status);
    pthread_mutex_lock(&decoder->lock);
    const struct surface *surface = &decoder->surfaces[index];
    status->decodeStatus = surface->hung ? cuvidDecodeStatus_InProgress : surface->status;
    pthread_mutex_unlock(&decoder->lock);
    return CUDA_SUCCESS;
}

// --- Pictures

// What of the surface is shown, line by line; what an odd size adds is the surface's own.
static void copy(const struct decoder *decoder, const struct surface *surface, uint8_t *to) {
    const struct hwsim_picture *picture = &surface->picture;
    size_t sample = picture->depth > 8 ? 2 : 1;
    for (int plane = 0; plane < 2; plane++) {
        int left = plane ? decoder->left / 2 * 2 : decoder->left, top = plane ? decoder->top / 2 : decoder->top;
        int width = (int)decoder->info.ulTargetWidth, height = (int)decoder->info.ulTargetHeight / (plane ? 2 : 1);
        int wide = picture->width - left < width ? picture->width - left : width;
        int high = picture->height / (plane ? 2 : 1) - top < height ? picture->height / (plane ? 2 : 1) - top : height;
        uint8_t *out = to + (plane ? (size_t)decoder->pitch * decoder->info.ulTargetHeight : 0);
        for (int y = 0; y < high; y++)
            memcpy(out + (size_t)y * decoder->pitch,
                picture->planes[plane] + (ptrdiff_t)(top + y) * picture->strides[plane] + (size_t)left * sample, (size_t)wide * sample);
    }
}

EXPORT CUresult cuvidMapVideoFrame64(
    CUvideodecoder handle, int index, unsigned long long *address, unsigned *pitch, CUVIDPROCPARAMS *parameters) {
    (void)parameters;
    struct decoder *decoder = handle;
    CUresult status = check_context();
    if (status) return status;
    if (!decoder || index < 0 || index >= (int)decoder->info.ulNumDecodeSurfaces) return CUDA_INVALID_VALUE;
    pthread_mutex_lock(&decoder->lock);
    const struct surface *surface = &decoder->surfaces[index];
    bool hung = surface->hung;
    struct output *output = NULL;
    for (unsigned i = 0; i < decoder->output_count && !output; i++)
        if (!decoder->outputs[i].mapped) output = &decoder->outputs[i];
    if (!surface->decoded || plan_resets() > decoder->resets) status = CUDA_LAUNCH_FAILED;
    else if (!output) status = CUDA_MAP_FAILED;
    if (!status && !hung) {
        copy(decoder, surface, (uint8_t *)(uintptr_t)output->address);
        output->mapped = true;
        *address = output->address;
        *pitch = decoder->pitch;
    }
    pthread_mutex_unlock(&decoder->lock);
    // Hardware's clients wait here for the picture.
    if (hung) hang_forever();
    return status;
}

EXPORT CUresult cuvidUnmapVideoFrame64(CUvideodecoder handle, unsigned long long address) {
    struct decoder *decoder = handle;
    if (!decoder) return CUDA_INVALID_HANDLE;
    CUresult status = CUDA_INVALID_VALUE;
    pthread_mutex_lock(&decoder->lock);
    for (unsigned i = 0; i < decoder->output_count; i++) {
        if (decoder->outputs[i].address != address || !decoder->outputs[i].mapped) continue;
        decoder->outputs[i].mapped = false;
        status = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&decoder->lock);
    return status;
}

// --- Locks

EXPORT CUresult cuvidCtxLockCreate(CUvideoctxlock *handle, CUcontext context) {
    (void)context;
    struct _CUcontextlock_st *made = malloc(sizeof *made);
    if (!made) return CUDA_OUT_OF_MEMORY;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&made->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    *handle = made;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuvidCtxLockDestroy(CUvideoctxlock handle) {
    pthread_mutex_destroy(&handle->mutex);
    free(handle);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuvidCtxLock(CUvideoctxlock handle, unsigned flags) {
    (void)flags;
    return pthread_mutex_lock(&handle->mutex) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuvidCtxUnlock(CUvideoctxlock handle, unsigned flags) {
    (void)flags;
    return pthread_mutex_unlock(&handle->mutex) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

// --- Files, which clients read themselves

#define MISSING(name) \
    CUresult name(void); \
    EXPORT CUresult name(void) { return (CUresult)CUDA_NOT_SUPPORTED; }

MISSING(cuvidCreateVideoSource)
MISSING(cuvidCreateVideoSourceW)
MISSING(cuvidDestroyVideoSource)
MISSING(cuvidSetVideoSourceState)
MISSING(cuvidGetVideoSourceState)
MISSING(cuvidGetSourceVideoFormat)
MISSING(cuvidGetSourceAudioFormat)
