// SPDX-License-Identifier: GPL-2.0-or-later
// libcuda.so.1: one device, whose memory is this process's. Contexts and addresses are checked as the driver does it, and all
// that is asked for has happened when a call returns.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "faults/plan.h"
#include "nvidia/nvidia_common.h"

struct CUctx_st {
    unsigned resets;  // of the GPU, before it was made
};

struct allocation {
    struct allocation *next;
    uint8_t *memory;
    size_t size;
};

enum { DEEPEST_STACK = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_started;
static struct allocation *allocations;
static size_t allocated;
static struct CUctx_st primary;
static unsigned primary_users, primary_flags;
static _Thread_local CUcontext stack[DEEPEST_STACK];
static _Thread_local int depth;

static CUcontext current(void) { return depth ? stack[depth - 1] : NULL; }

// What every call needs that touches the device.
static CUresult ready(void) {
    if (!is_started) return CUDA_NOT_INITIALIZED;
    if (!current()) return CUDA_INVALID_CONTEXT;
    return current()->resets == plan_resets() ? CUDA_SUCCESS : CUDA_LAUNCH_FAILED;
}

// --- The driver and its device

EXPORT CUresult cuInit(unsigned flags) {
    const struct personality *personality = nvidia_personality();
    if (!personality || flags) return personality ? CUDA_INVALID_VALUE : CUDA_ERROR_UNKNOWN;
    if (personality->crash_init) raise(SIGSEGV);
    if (personality->hang_init) hang_forever();
    if (personality->fail_init) return CUDA_ERROR_UNKNOWN;
    if (personality->no_device) return CUDA_NO_DEVICE;
    is_started = true;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
    const struct personality *personality = nvidia_personality();
    // CUDA 10.2, of driver 440, and 12.4, of driver 550.
    *version = personality && personality->old_driver ? 10020 : 12040;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *count) {
    if (!is_started) return CUDA_NOT_INITIALIZED;
    *count = 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    if (!is_started) return CUDA_NOT_INITIALIZED;
    *device = 0;
    return ordinal ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    if (device) return CUDA_INVALID_DEVICE;
    switch ((int)attribute) {
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: *value = DEVICE_PITCH; break;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: *value = 32; break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 8; break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 6; break;
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: *value = 1; break;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = 1; break;
        default: *value = 0; break;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    if (device || size < 1) return CUDA_INVALID_VALUE;
    strncpy(name, "HWSim", (size_t)size - 1);
    name[size - 1] = 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    memcpy(uuid->bytes, "HWSim: device 0", sizeof uuid->bytes);
    return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    *major = 8;
    *minor = 6;
    return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

// Of the device: what the personality has, or 8 GiB.
static size_t capacity(void) {
    unsigned megabytes = nvidia_personality()->gpu_memory;
    return (size_t)(megabytes ? megabytes : 8192) << 20;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
    if (!is_started) return CUDA_NOT_INITIALIZED;
    *size = capacity();
    return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

// --- Contexts

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (!is_started) return CUDA_NOT_INITIALIZED;
    if (!context || depth == DEEPEST_STACK) return CUDA_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    if (!depth) return CUDA_INVALID_CONTEXT;
    depth--;
    if (context) *context = stack[depth];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
    *context = current();
    return is_started ? CUDA_SUCCESS : CUDA_NOT_INITIALIZED;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    if (depth) depth--;
    return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    (void)flags;
    if (!is_started) return CUDA_NOT_INITIALIZED;
    if (device) return CUDA_INVALID_DEVICE;
    // A context takes some hundred megabytes of a real device.
    if (nvidia_personality()->gpu_memory && nvidia_personality()->gpu_memory < 2) return CUDA_OUT_OF_MEMORY;
    CUcontext made = calloc(1, sizeof *made);
    if (!made) return CUDA_OUT_OF_MEMORY;
    made->resets = plan_resets();
    *context = made;
    return cuCtxPushCurrent_v2(made);
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
    if (!context || context == &primary) return CUDA_INVALID_CONTEXT;
    if (current() == context) depth--;
    free(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    *device = 0;
    return current() ? CUDA_SUCCESS : CUDA_INVALID_CONTEXT;
}

EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    (void)limit, (void)value;
    return ready();
}

EXPORT CUresult cuCtxSynchronize(void) { return ready(); }

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    if (!is_started || device) return is_started ? CUDA_INVALID_DEVICE : CUDA_NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    if (!primary_users++) primary.resets = plan_resets();
    pthread_mutex_unlock(&lock);
    *context = &primary;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    pthread_mutex_lock(&lock);
    bool is_held = !device && primary_users;
    if (is_held) primary_users--;
    pthread_mutex_unlock(&lock);
    return is_held ? CUDA_SUCCESS : CUDA_INVALID_CONTEXT;
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    primary_flags = flags;
    return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    *flags = primary_flags;
    *active = primary_users > 0;
    return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) { return device ? CUDA_INVALID_DEVICE : CUDA_SUCCESS; }

// --- Memory

// Device memory is aligned.
static CUdeviceptr start_of(const struct allocation *allocation) {
    return ((CUdeviceptr)(uintptr_t)allocation->memory + DEVICE_PITCH - 1) / DEVICE_PITCH * DEVICE_PITCH;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    CUresult status = ready();
    if (status || !size) return status ? status : CUDA_INVALID_VALUE;
    struct allocation *made = malloc(sizeof *made);
    pthread_mutex_lock(&lock);
    bool fits = made && size <= capacity() - allocated;
    // Zeroed, which is green: what was never written shows.
    made = fits && (made->memory = calloc(1, size + DEVICE_PITCH)) ? made : (free(made), NULL);
    if (made) {
        made->size = size;
        made->next = allocations;
        allocations = made;
        allocated += size;
        *address = start_of(made);
    }
    pthread_mutex_unlock(&lock);
    return made ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}

EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element) {
    (void)element;
    *pitch = (width + DEVICE_PITCH - 1) / DEVICE_PITCH * DEVICE_PITCH;
    return cuMemAlloc_v2(address, *pitch * height);
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags) {
    (void)flags;
    return cuMemAlloc_v2(address, size);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    CUresult status = is_started ? CUDA_INVALID_VALUE : CUDA_NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    for (struct allocation **next = &allocations; *next; next = &(*next)->next) {
        struct allocation *found = *next;
        if (start_of(found) != address) continue;
        *next = found->next;
        allocated -= found->size;
        free(found->memory);
        free(found);
        status = CUDA_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    CUresult status = ready();
    if (status) return status;
    *total = capacity();
    pthread_mutex_lock(&lock);
    *available = *total - allocated;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

// Whether all of it is memory of the device.
static bool is_device(CUdeviceptr address, size_t size) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const struct allocation *next = allocations; next && !found; next = next->next)
        found = address >= start_of(next) && size <= next->size && address - start_of(next) <= next->size - size;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *host(CUdeviceptr address) { return (void *)(uintptr_t)address; }

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream stream) {
    (void)stream;
    CUresult status = ready();
    if (!status && !is_device(to, size)) status = CUDA_INVALID_VALUE;
    if (!status) memset(host(to), value, size);
    return status;
}

// With unified addressing either side may be the host's.
EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    CUresult status = ready();
    if (!status) memmove(host(to), host(from), size);
    return status;
}

EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    (void)stream;
    return cuMemcpy(to, from, size);
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    return is_device(to, size) ? cuMemcpy(to, (CUdeviceptr)(uintptr_t)from, size) : CUDA_INVALID_VALUE;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    (void)stream;
    return cuMemcpyHtoD_v2(to, from, size);
}

EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    return is_device(from, size) ? cuMemcpy((CUdeviceptr)(uintptr_t)to, from, size) : CUDA_INVALID_VALUE;
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    (void)stream;
    return cuMemcpyDtoH_v2(to, from, size);
}

EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return is_device(from, size) && is_device(to, size) ? cuMemcpy(to, from, size) : CUDA_INVALID_VALUE;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    (void)stream;
    return cuMemcpyDtoD_v2(to, from, size);
}

// Where one side of a copy begins, or NULL where it is not all memory of its kind.
static uint8_t *side(CUmemorytype type, const void *memory, CUdeviceptr address, size_t offset, size_t span) {
    if (type == CU_MEMORYTYPE_HOST) return memory ? (uint8_t *)(uintptr_t)memory + offset : NULL;
    if (type != CU_MEMORYTYPE_DEVICE || !is_device(address + offset, span)) return NULL;
    return (uint8_t *)host(address) + offset;
}

EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    CUresult status = ready();
    if (status || !copy->Height || !copy->WidthInBytes) return status;
    size_t from_pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes;
    size_t to_pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes;
    if (copy->WidthInBytes > from_pitch || copy->WidthInBytes > to_pitch) return CUDA_INVALID_VALUE;
    const uint8_t *from = side(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcY * from_pitch + copy->srcXInBytes,
        (copy->Height - 1) * from_pitch + copy->WidthInBytes);
    uint8_t *to = side(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstY * to_pitch + copy->dstXInBytes,
        (copy->Height - 1) * to_pitch + copy->WidthInBytes);
    if (!from || !to) return CUDA_INVALID_VALUE;
    for (size_t y = 0; y < copy->Height; y++) memcpy(to + y * to_pitch, from + y * from_pitch, copy->WidthInBytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    (void)stream;
    return cuMemcpy2D_v2(copy);
}

// --- The host's memory, which the device reaches anyway

EXPORT CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags) {
    (void)flags;
    return !memory || !size ? CUDA_INVALID_VALUE : ready();
}

EXPORT CUresult cuMemHostUnregister(void *memory) { return memory ? ready() : CUDA_INVALID_VALUE; }

EXPORT CUresult cuMemAllocHost_v2(void **memory, size_t size) {
    CUresult status = ready();
    if (!status && !(*memory = calloc(1, size))) status = CUDA_OUT_OF_MEMORY;
    return status;
}

EXPORT CUresult cuMemHostAlloc(void **memory, size_t size, unsigned flags) {
    (void)flags;
    return cuMemAllocHost_v2(memory, size);
}

EXPORT CUresult cuMemFreeHost(void *memory) {
    free(memory);
    return CUDA_SUCCESS;
}
