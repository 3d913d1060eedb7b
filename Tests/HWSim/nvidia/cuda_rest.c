// SPDX-License-Identifier: GPL-2.0-or-later
// The rest of libcuda that clients look for: streams and events, which never wait, and what a codec's client never calls.
#include "nvidia/nvidia_common.h"

// Streams and events are this one, which says nothing: all work is done when its call returns.
static int done;

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    (void)flags;
    *stream = (CUstream)(void *)&done;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamQuery(CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback *callback, void *data, unsigned flags) {
    (void)flags;
    callback(stream, CUDA_SUCCESS, data);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    *event = (CUevent)(void *)&done;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventQuery(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    (void)event, (void)stream;
    return CUDA_SUCCESS;
}

// Their parameters do not matter.
#define MISSING(name) \
    CUresult name(void); \
    EXPORT CUresult name(void) { return (CUresult)CUDA_NOT_SUPPORTED; }

MISSING(cuLaunchKernel)
MISSING(cuLinkCreate)
MISSING(cuLinkAddData)
MISSING(cuLinkComplete)
MISSING(cuLinkDestroy)
MISSING(cuModuleLoadData)
MISSING(cuModuleUnload)
MISSING(cuModuleGetFunction)
MISSING(cuModuleGetGlobal)
MISSING(cuTexObjectCreate)
MISSING(cuTexObjectDestroy)
MISSING(cuGLGetDevices_v2)
MISSING(cuGraphicsGLRegisterImage)
MISSING(cuGraphicsUnregisterResource)
MISSING(cuGraphicsMapResources)
MISSING(cuGraphicsUnmapResources)
MISSING(cuGraphicsSubResourceGetMappedArray)
MISSING(cuGraphicsResourceGetMappedPointer_v2)
MISSING(cuArray3DCreate_v2)
MISSING(cuArrayDestroy)
MISSING(cuImportExternalMemory)
MISSING(cuDestroyExternalMemory)
MISSING(cuExternalMemoryGetMappedBuffer)
MISSING(cuExternalMemoryGetMappedMipmappedArray)
MISSING(cuMipmappedArrayGetLevel)
MISSING(cuMipmappedArrayDestroy)
MISSING(cuImportExternalSemaphore)
MISSING(cuDestroyExternalSemaphore)
MISSING(cuSignalExternalSemaphoresAsync)
MISSING(cuWaitExternalSemaphoresAsync)
