// SPDX-License-Identifier: GPL-2.0-or-later
// What NVIDIA's libraries that are played here have in common.
#ifndef HWSIM_NVIDIA_COMMON_H
#define HWSIM_NVIDIA_COMMON_H

#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <stdbool.h>

#include "personality/personality.h"

#define EXPORT __attribute__((visibility("default")))

// cuda.h has more results than ffnvcodec's subset of it.
#define CUDA_INVALID_VALUE ((CUresult)1)
#define CUDA_OUT_OF_MEMORY ((CUresult)2)
#define CUDA_NOT_INITIALIZED ((CUresult)3)
#define CUDA_NO_DEVICE ((CUresult)100)
#define CUDA_INVALID_DEVICE ((CUresult)101)
#define CUDA_INVALID_CONTEXT ((CUresult)201)
#define CUDA_MAP_FAILED ((CUresult)205)
#define CUDA_INVALID_HANDLE ((CUresult)400)
#define CUDA_LAUNCH_FAILED ((CUresult)719)
#define CUDA_NOT_SUPPORTED ((CUresult)801)

// The device's alignment of lines.
enum { DEVICE_PITCH = 256 };

// What HWSIM_PERSONALITY names, read once; NULL, with a message on standard error, where it names nothing.
const struct personality *nvidia_personality(void);

// Says on standard error why something is refused.
void log_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Waits for ever.
void hang_forever(void) __attribute__((noreturn));

// libcuda's functions that ffnvcodec's loader does not ask for.
CUresult cuDriverGetVersion(int *version);
CUresult cuCtxGetCurrent(CUcontext *context);

#endif
