// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDLibAV

@Suite struct NVDECTests {
    @Test(
        "What libav's log says of CUDA is put into words, and is no damage of a stream",
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
        #expect(NVDEC.reason([message, "something else"])?.text.contains(words) == true)
        #expect(NVDEC.reason(["something else", message])?.text.contains(words) == true)
        if message.contains("failed ->") { #expect(LogFinding(message) == .driverFailure) }
    }

    @Test("A message of CUDA's in parts is one, and limits are distinguished from other messages")
    func parts() {
        #expect(LogFinding.isBegun(format: "%s failed") && !LogFinding.continues(format: "%s failed"))
        #expect(LogFinding.continues(format: " -> %s: %s") && LogFinding.continues(format: "\n"))
        for whole in ["hardware accelerator failed to decode picture\n", "get_buffer() failed"] {
            #expect(!LogFinding.isBegun(format: whole) && !LogFinding.continues(format: whole))
        }
        #expect(LogFinding.isLimit("[hevc @ 0x1] Video width 96 not within range from 144 to 8192\n"))
        #expect(!LogFinding.isLimit("[hevc @ 0x1] Format nv12 chosen by get_format().\n"))
        let limit = "hevc: Video width 96 not within range from 144 to 8192"
        #expect(NVDEC.reason([limit, "something else"])?.text == limit)
    }

    @Test("Messages about the stream are no reason why hardware is not used")
    func others() {
        #expect(NVDEC.reason([]) == nil)
        #expect(NVDEC.reason(["hevc: PPS id out of range: 0", "hevc: Could not find ref with POC 3"]) == nil)
    }

    @Test("A process uses one card: CUDA would silently take the first one for another")
    func cards() throws {
        var first: String?
        try NVDEC.select("/dev/nvidia1", after: &first)
        try NVDEC.select("/dev/nvidia1", after: &first)
        let error = #expect(throws: LibAVError.self) { try NVDEC.select("/dev/nvidia0", after: &first) }
        #expect(error?.isTransient == true && error?.description.contains("/dev/nvidia1") == true)
        #expect(first == "/dev/nvidia1")
    }
}
