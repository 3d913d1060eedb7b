// SPDX-License-Identifier: GPL-2.0-or-later
// libnvidia-encode's buffers: pictures in the device's memory, the library's own or the client's, and coded data.
#include <stdlib.h>

#include "nvidia/nvenc.h"

tcuMemAlloc_v2 cuMemAlloc_v2;
tcuMemFree_v2 cuMemFree_v2;
tcuCtxPushCurrent_v2 cuCtxPushCurrent_v2;
tcuCtxPopCurrent_v2 cuCtxPopCurrent_v2;

static NVENCSTATUS create_input(void *handle, NV_ENC_CREATE_INPUT_BUFFER *asked) {
    struct session *session = handle;
    if (asked->version != NV_ENC_CREATE_INPUT_BUFFER_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (!nvenc_has_format(asked->bufferFmt) || !asked->width || !asked->height) return NV_ENC_ERR_UNSUPPORTED_PARAM;
    struct input *input = calloc(1, sizeof *input);
    if (!input) return NV_ENC_ERR_OUT_OF_MEMORY;
    size_t sample = asked->bufferFmt == NV_ENC_BUFFER_FORMAT_YUV420_10BIT ? 2 : 1;
    size_t pitch = (asked->width * sample + DEVICE_PITCH - 1) / DEVICE_PITCH * DEVICE_PITCH;
    *input = (struct input){.width = asked->width, .height = asked->height, .pitch = (unsigned)pitch, .format = asked->bufferFmt,
        .own = true};
    cuCtxPushCurrent_v2(session->context);
    CUresult status = cuMemAlloc_v2(&input->memory, pitch * (asked->height + (asked->height + 1) / 2));
    cuCtxPopCurrent_v2(NULL);
    if (status) {
        free(input);
        return status == CUDA_OUT_OF_MEMORY ? NV_ENC_ERR_OUT_OF_MEMORY : NV_ENC_ERR_DEVICE_NOT_EXIST;
    }
    asked->inputBuffer = input;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS destroy_input(void *handle, NV_ENC_INPUT_PTR buffer) {
    struct input *input = buffer;
    (void)handle;
    if (!input || !input->own) return NV_ENC_ERR_INVALID_PARAM;
    cuMemFree_v2(input->memory);
    free(input);
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS lock_input(void *handle, NV_ENC_LOCK_INPUT_BUFFER *lock) {
    const struct input *input = lock->inputBuffer;
    (void)handle;
    if (lock->version != NV_ENC_LOCK_INPUT_BUFFER_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (!input || !input->own) return NV_ENC_ERR_INVALID_PARAM;
    lock->bufferDataPtr = (void *)(uintptr_t)input->memory;
    lock->pitch = input->pitch;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS unlock_input(void *handle, NV_ENC_INPUT_PTR buffer) {
    (void)handle;
    return buffer ? NV_ENC_SUCCESS : NV_ENC_ERR_INVALID_PARAM;
}

static NVENCSTATUS register_resource(void *handle, NV_ENC_REGISTER_RESOURCE *asked) {
    (void)handle;
    if (asked->version != NV_ENC_REGISTER_RESOURCE_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (asked->resourceType != NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR || asked->bufferUsage != NV_ENC_INPUT_IMAGE ||
        !nvenc_has_format(asked->bufferFormat) || !asked->resourceToRegister)
        return NV_ENC_ERR_RESOURCE_REGISTER_FAILED;
    struct input *input = calloc(1, sizeof *input);
    if (!input) return NV_ENC_ERR_OUT_OF_MEMORY;
    *input = (struct input){.memory = (CUdeviceptr)(uintptr_t)asked->resourceToRegister, .width = asked->width,
        .height = asked->height, .pitch = asked->pitch, .format = asked->bufferFormat};
    asked->registeredResource = input;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS unregister_resource(void *handle, NV_ENC_REGISTERED_PTR resource) {
    struct input *input = resource;
    (void)handle;
    if (!input || input->own) return NV_ENC_ERR_RESOURCE_NOT_REGISTERED;
    free(input);
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS map_resource(void *handle, NV_ENC_MAP_INPUT_RESOURCE *asked) {
    struct input *input = asked->registeredResource;
    (void)handle;
    if (asked->version != NV_ENC_MAP_INPUT_RESOURCE_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (!input || input->own) return NV_ENC_ERR_RESOURCE_NOT_REGISTERED;
    if (input->mapped) return NV_ENC_ERR_MAP_FAILED;
    input->mapped = true;
    asked->mappedResource = input;
    asked->mappedBufferFmt = input->format;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS unmap_resource(void *handle, NV_ENC_INPUT_PTR buffer) {
    struct input *input = buffer;
    (void)handle;
    if (!input || !input->mapped) return NV_ENC_ERR_RESOURCE_NOT_MAPPED;
    input->mapped = false;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS create_output(void *handle, NV_ENC_CREATE_BITSTREAM_BUFFER *asked) {
    (void)handle;
    if (asked->version != NV_ENC_CREATE_BITSTREAM_BUFFER_VER) return NV_ENC_ERR_INVALID_VERSION;
    asked->bitstreamBuffer = calloc(1, sizeof(struct output));
    return asked->bitstreamBuffer ? NV_ENC_SUCCESS : NV_ENC_ERR_OUT_OF_MEMORY;
}

static NVENCSTATUS destroy_output(void *handle, NV_ENC_OUTPUT_PTR buffer) {
    struct output *output = buffer;
    (void)handle;
    if (!output) return NV_ENC_ERR_INVALID_PARAM;
    bytes_free(&output->data);
    free(output);
    return NV_ENC_SUCCESS;
}

void nvenc_install_buffers(NV_ENCODE_API_FUNCTION_LIST *list) {
    list->nvEncCreateInputBuffer = create_input;
    list->nvEncDestroyInputBuffer = destroy_input;
    list->nvEncCreateBitstreamBuffer = create_output;
    list->nvEncDestroyBitstreamBuffer = destroy_output;
    list->nvEncLockInputBuffer = lock_input;
    list->nvEncUnlockInputBuffer = unlock_input;
    list->nvEncMapInputResource = map_resource;
    list->nvEncUnmapInputResource = unmap_resource;
    list->nvEncRegisterResource = register_resource;
    list->nvEncUnregisterResource = unregister_resource;
}
