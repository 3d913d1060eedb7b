// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDLibAV

@Suite struct NVDECTests {
    @Test(
        "What libav's log says of CUDA is told in words, and is no damage of a stream",
        arguments: [
            (
                "hevc: decoder->cvdl->cuvidDecodePicture(decoder->decoder, &ctx->pic_params) failed -> "
                    + "CUDA_ERROR_OUT_OF_MEMORY: out of memory", "the GPU has no memory left"
            ),
            (
                "AVHWDeviceContext: cu->cuInit(0) failed -> CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
                "CUDA finds no device"
            ),
            ("Cannot load libcuda.so.1", "libcuda.so.1 cannot be loaded"),
            ("Cannot load libnvcuvid.so.1", "libnvcuvid.so.1 cannot be loaded"),
            ("Cannot load cuDeviceGetUuid_v2", "is too old for libavcodec"),
            ("hevc: Hardware is lacking required capabilities", "this GPU has no such decoder"),
            ("hevc: cu->cuCtxCreate() failed -> CUDA_ERROR_UNKNOWN: unknown error", "CUDA_ERROR_UNKNOWN"),
        ])
    func reasons(_ message: String, _ words: String) {
        #expect(
            NVDEC.reason([message, "something else"])?.text.contains(words) == true || words == "CUDA_ERROR_UNKNOWN"
        )
        #expect(NVDEC.reason(["something else", message])?.text.contains(words) == true)
        if message.contains("failed ->") { #expect(LogFinding(message) == .driverFailure) }
    }

    @Test("A message of CUDA's in parts is one, and limits are told from other messages")
    func parts() {
        #expect(LogFinding.isBegun("hevc: cu->cuInit(0) failed"))
        #expect(!LogFinding.isBegun("hevc: hardware accelerator failed to decode picture\n"))
        #expect(LogFinding.isLimit("[hevc @ 0x1] Video width 96 not within range from 144 to 8192\n"))
        #expect(!LogFinding.isLimit("[hevc @ 0x1] Format nv12 chosen by get_format().\n"))
        #expect(NVDEC.reason([]) == nil)
    }
}
