// SPDX-License-Identifier: GPL-2.0-or-later
// libnvidia-encode.so.1: the interface. A session codes HEVC Main and Main 10 with the coder that the VA-API driver has.
#include "nvidia/nvenc.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coder/transform.h"
#include "faults/plan.h"
#include "nvidia/nvenc_slots.h"

static _Atomic unsigned opened;

static NVENCSTATUS wrong(struct session *session, const char *call) {
    log_fault("%s: %s", call, session->error);
    return NV_ENC_ERR_INVALID_PARAM;
}

// --- Sessions

static NVENCSTATUS open_session(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS *parameters, void **handle) {
    const struct personality *personality = nvidia_personality();
    if (!parameters || !handle) return NV_ENC_ERR_INVALID_PTR;
    *handle = NULL;
    if (!personality) return NV_ENC_ERR_GENERIC;
    if (parameters->version != NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS_VER || parameters->apiVersion != NVENCAPI_VERSION ||
        personality->old_driver)
        return NV_ENC_ERR_INVALID_VERSION;
    // What data centre chips without the engine answer.
    if (personality->no_nvenc) return NV_ENC_ERR_UNSUPPORTED_DEVICE;
    if (parameters->deviceType != NV_ENC_DEVICE_TYPE_CUDA || !parameters->device) return NV_ENC_ERR_INVALID_ENCODERDEVICE;
    if (personality->busy) return NV_ENC_ERR_ENCODER_BUSY;
    int slot = -1;
    if (personality->three_sessions && (slot = slots_take()) < 0)
        return personality->client_key ? NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY : NV_ENC_ERR_OUT_OF_MEMORY;
    struct session *session = calloc(1, sizeof *session);
    if (!session) {
        slots_release(slot);
        return NV_ENC_ERR_OUT_OF_MEMORY;
    }
    transform_prepare();
    session->slot = slot;
    session->context = parameters->device;
    session->number = ++opened;
    session->resets = plan_resets();
    *handle = session;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS open_old(void *device, uint32_t type, void **handle) {
    (void)device, (void)type, (void)handle;
    return NV_ENC_ERR_UNIMPLEMENTED;
}

static NVENCSTATUS destroy(void *handle) {
    struct session *session = handle;
    if (!session) return NV_ENC_ERR_INVALID_ENCODERDEVICE;
    for (unsigned i = 0; i < session->pending_count; i++) bytes_free(&session->pending[i].sei);
    for (int i = 0; i < MOST_KEPT; i++) frame_free(&session->kept[i].frame);
    coder_free(&session->coder);
    free(session->source_memory);
    slots_release(session->slot);
    free(session);
    return NV_ENC_SUCCESS;
}

static const char *last_error(void *handle) {
    struct session *session = handle;
    return session ? session->error : "";
}

// --- Configuration

static bool allocate_source(struct session *session) {
    bool deep = session->sps.depth_luma > 8;
    size_t stride = (size_t)session->sps.width * (deep ? 2 : 1), luma = stride * (size_t)session->sps.height;
    session->source_memory = malloc(luma + luma / 2);
    session->source = (struct hwsim_picture){session->sps.width, session->sps.height, session->sps.depth_luma,
        {session->source_memory, session->source_memory + luma}, {(int)stride, (int)stride}};
    return session->source_memory;
}

static NVENCSTATUS initialize(void *handle, NV_ENC_INITIALIZE_PARAMS *parameters) {
    struct session *session = handle;
    if (!session || !parameters) return NV_ENC_ERR_INVALID_PTR;
    if (session->is_ready) return NV_ENC_ERR_INVALID_CALL;
    if (parameters->version != NV_ENC_INITIALIZE_PARAMS_VER) return NV_ENC_ERR_INVALID_VERSION;
    session->parameters = *parameters;
    if (parameters->encodeConfig) {
        if (parameters->encodeConfig->version != NV_ENC_CONFIG_VER) return NV_ENC_ERR_INVALID_VERSION;
        session->config = *parameters->encodeConfig;
    } else {
        NV_ENC_PRESET_CONFIG preset = {.version = NV_ENC_PRESET_CONFIG_VER, .presetCfg = {.version = NV_ENC_CONFIG_VER}};
        NVENCSTATUS status =
            nvenc_preset(handle, parameters->encodeGUID, parameters->presetGUID, parameters->tuningInfo, &preset);
        if (status) return status;
        session->config = preset.presetCfg;
    }
    if (!nvenc_configure(session)) return wrong(session, "nvEncInitializeEncoder");
    if (!allocate_source(session)) return NV_ENC_ERR_OUT_OF_MEMORY;
    session->is_ready = true;
    nvenc_trace_session(session, "session");
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS reconfigure(void *handle, NV_ENC_RECONFIGURE_PARAMS *change) {
    struct session *session = handle;
    if (!session || !session->is_ready) return NV_ENC_ERR_ENCODER_NOT_INITIALIZED;
    if (change->version != NV_ENC_RECONFIGURE_PARAMS_VER) return NV_ENC_ERR_INVALID_VERSION;
    const NV_ENC_INITIALIZE_PARAMS *to = &change->reInitEncodeParams;
    const NV_ENC_CONFIG *config = to->encodeConfig ? to->encodeConfig : &session->config;
    if (to->encodeWidth != session->parameters.encodeWidth || to->encodeHeight != session->parameters.encodeHeight ||
        config->gopLength != session->config.gopLength || config->frameIntervalP != session->config.frameIntervalP) {
        refuse(session->error, "the size and the structure cannot change");
        return wrong(session, "nvEncReconfigureEncoder");
    }
    NV_ENC_INITIALIZE_PARAMS old_parameters = session->parameters;
    NV_ENC_CONFIG old = session->config;
    session->parameters = *to;
    session->config = *config;
    if (!nvenc_configure(session)) {
        session->parameters = old_parameters;
        session->config = old;
        nvenc_configure(session);
        return wrong(session, "nvEncReconfigureEncoder");
    }
    session->forces_idr = session->forces_idr || change->forceIDR;
    nvenc_trace_session(session, "change");
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS sequence(void *handle, NV_ENC_SEQUENCE_PARAM_PAYLOAD *payload) {
    struct session *session = handle;
    if (!session || !session->is_ready) return NV_ENC_ERR_ENCODER_NOT_INITIALIZED;
    if (payload->version != NV_ENC_SEQUENCE_PARAM_PAYLOAD_VER) return NV_ENC_ERR_INVALID_VERSION;
    struct bytes bytes = {0};
    nvenc_write_sets(session, &bytes);
    NVENCSTATUS status = bytes.failed ? NV_ENC_ERR_OUT_OF_MEMORY : NV_ENC_SUCCESS;
    if (!status && bytes.count > payload->inBufferSize) status = NV_ENC_ERR_NOT_ENOUGH_BUFFER;
    if (!status) {
        memcpy(payload->spsppsBuffer, bytes.data, bytes.count);
        *payload->outSPSPPSPayloadSize = (uint32_t)bytes.count;
    }
    bytes_free(&bytes);
    return status;
}

// --- Pictures

// The client's messages, as a prefix SEI NAL unit (7.3.5).
static void write_sei(struct bytes *bytes, const NV_ENC_PIC_PARAMS_HEVC *picture) {
    struct bytes rbsp = {0};
    const uint8_t header[2] = {NAL_SEI_PREFIX << 1, 1}, end = 0x80;
    if (!picture->seiPayloadArrayCnt) return;
    bytes_append(&rbsp, header, sizeof header);
    for (uint32_t i = 0; i < picture->seiPayloadArrayCnt; i++) {
        const NV_ENC_SEI_PAYLOAD *payload = &picture->seiPayloadArray[i];
        for (int field = 0; field < 2; field++) {
            uint32_t value = field ? payload->payloadSize : payload->payloadType;
            for (uint8_t byte = 255; byte == 255; value -= byte) {
                byte = (uint8_t)(value < 255 ? value : 255);
                bytes_append(&rbsp, &byte, 1);
            }
        }
        bytes_append(&rbsp, payload->payload, payload->payloadSize);
    }
    bytes_append(&rbsp, &end, 1);
    int zeros;
    append_nal(bytes, &rbsp, &zeros);
    bytes_free(&rbsp);
}

static NVENCSTATUS encode(void *handle, NV_ENC_PIC_PARAMS *picture) {
    struct session *session = handle;
    if (!session || !session->is_ready) return NV_ENC_ERR_ENCODER_NOT_INITIALIZED;
    if (picture->version != NV_ENC_PIC_PARAMS_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (picture->encodePicFlags & NV_ENC_PIC_FLAG_EOS) return nvenc_flush(session);
    struct input *input = picture->inputBuffer;
    struct output *output = picture->outputBitstream;
    if (!input || !output || !(input->own || input->mapped)) return NV_ENC_ERR_INVALID_PTR;
    if (input->width < session->parameters.encodeWidth || input->height < session->parameters.encodeHeight ||
        (picture->pictureStruct && picture->pictureStruct != NV_ENC_PIC_STRUCT_FRAME)) {
        refuse(session->error, "the picture is smaller than the session's, or a field");
        return wrong(session, "nvEncEncodePicture");
    }
    if (session->output_count == MOST_OUTPUTS || session->pending_count == MOST_PENDING) return NV_ENC_ERR_ENCODER_BUSY;
    output->filled = output->hung = false;
    session->outputs[session->output_count++] = output;
    struct pending pending = {.input = input, .pitch = picture->inputPitch, .flags = picture->encodePicFlags,
        .index = picture->frameIdx, .timestamp = picture->inputTimeStamp, .duration = picture->inputDuration};
    write_sei(&pending.sei, &picture->codecPicParams.hevcPicParams);
    NVENCSTATUS status = nvenc_take(session, &pending);
    if (status && status != NV_ENC_ERR_NEED_MORE_INPUT) log_fault("nvEncEncodePicture: %s", session->error);
    return status;
}

static NVENCSTATUS lock_output(void *handle, NV_ENC_LOCK_BITSTREAM *lock) {
    struct output *output = lock->outputBitstream;
    (void)handle;
    if (lock->version != NV_ENC_LOCK_BITSTREAM_VER) return NV_ENC_ERR_INVALID_VERSION;
    if (!output) return NV_ENC_ERR_INVALID_PTR;
    if (output->hung && !lock->doNotWait) hang_forever();
    if (!output->filled || output->hung) return NV_ENC_ERR_LOCK_BUSY;
    lock->bitstreamBufferPtr = output->data.data;
    lock->bitstreamSizeInBytes = (uint32_t)output->data.count;
    lock->pictureType = output->type;
    lock->pictureStruct = NV_ENC_PIC_STRUCT_FRAME;
    lock->outputTimeStamp = output->timestamp;
    lock->outputDuration = output->duration;
    lock->frameIdx = output->index;
    lock->frameAvgQP = output->qp;
    lock->numSlices = output->slices;
    lock->hwEncodeStatus = 2;
    return NV_ENC_SUCCESS;
}

static NVENCSTATUS unlock_output(void *handle, NV_ENC_OUTPUT_PTR buffer) {
    (void)handle;
    return buffer ? NV_ENC_SUCCESS : NV_ENC_ERR_INVALID_PARAM;
}

static NVENCSTATUS set_streams(void *handle, NV_ENC_CUSTREAM_PTR in, NV_ENC_CUSTREAM_PTR out) {
    (void)in, (void)out;
    return handle ? NV_ENC_SUCCESS : NV_ENC_ERR_INVALID_ENCODERDEVICE;
}

// --- The library

EXPORT NVENCSTATUS NvEncodeAPIGetMaxSupportedVersion(uint32_t *version);
EXPORT NVENCSTATUS NvEncodeAPIGetMaxSupportedVersion(uint32_t *version) {
    const struct personality *personality = nvidia_personality();
    // Those of drivers 440 and 550.
    *version = personality && personality->old_driver ? 9 << 4 | 1 : 12 << 4 | 2;
    return NV_ENC_SUCCESS;
}

EXPORT NVENCSTATUS NvEncodeAPICreateInstance(NV_ENCODE_API_FUNCTION_LIST *list) {
    if (!list) return NV_ENC_ERR_INVALID_PTR;
    if (list->version != NV_ENCODE_API_FUNCTION_LIST_VER) return NV_ENC_ERR_INVALID_VERSION;
    *list = (NV_ENCODE_API_FUNCTION_LIST){
        .version = NV_ENCODE_API_FUNCTION_LIST_VER,
        .nvEncOpenEncodeSession = open_old,
        .nvEncInitializeEncoder = initialize,
        .nvEncEncodePicture = encode,
        .nvEncLockBitstream = lock_output,
        .nvEncUnlockBitstream = unlock_output,
        .nvEncGetSequenceParams = sequence,
        .nvEncDestroyEncoder = destroy,
        .nvEncOpenEncodeSessionEx = open_session,
        .nvEncReconfigureEncoder = reconfigure,
        .nvEncGetLastErrorString = last_error,
        .nvEncSetIOCudaStreams = set_streams,
    };
    nvenc_install_queries(list);
    nvenc_install_buffers(list);
    return NV_ENC_SUCCESS;
}
