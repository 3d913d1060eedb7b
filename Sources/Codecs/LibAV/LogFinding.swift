// SPDX-License-Identifier: GPL-2.0-or-later

/// What a message of libav's log reports, where the log is the only place that reports it.
///
/// Only this file compares the wording, which is that of FFmpeg 5.1 and 7.1. A message whose wording changes becomes `other`,
/// which callers treat as damage of the stream.
package enum LogFinding: Hashable, Sendable {
    /// A call of VA-API or CUDA failed; the stream may be sound.
    case driverFailure
    /// The file is shorter than its header says.
    case truncatedInput
    /// A picture marks another as unused that was not decoded: damage, or the pictures behind a key frame at which
    /// decoding began.
    case unknownReference
    /// The decoder ignores layers above the base, such as alpha: no damage of the base layer, which it decodes.
    case ignoredLayers
    /// Anything else: damage that a decoder conceals, for the most part.
    case other

    /// Classifies a message of level `AV_LOG_ERROR`, prefixed with its context's name (`hevc: …`).
    package init(_ message: String) {
        if [Self.failedCall, Self.failedCUDA, Self.failedPicture].contains(where: message.contains) {
            self = .driverFailure
        } else if message.contains(Self.truncatedFile) {
            self = .truncatedInput
        } else if message.contains(Self.unknownMark) {
            self = .unknownReference
        } else if Self.layers.contains(where: message.contains) {
            self = .ignoredLayers
        } else {
            self = .other
        }
    }

    // libavcodec/vaapi_decode.c: ff_vaapi_decode_make_param_buffer, ff_vaapi_decode_make_slice_buffer and
    // ff_vaapi_decode_issue log each libva call that fails: "Failed to create …", "… upload …", "… end picture …: 1 (…)".
    private static let failedCall = ": Failed to "

    /// Whether a message with this format continues in the next one of its context, as those of failed calls of CUDA do.
    package static func isBegun(format: String) -> Bool { format == beginning }

    /// Whether a message with this format continues or ends one that `isBegun`.
    package static func continues(format: String) -> Bool { format.hasPrefix(continuation) || format == "\n" }

    /// Whether a message of level `AV_LOG_VERBOSE` or `AV_LOG_WARNING` says what hardware lacks, which no error says.
    package static func isLimit(_ message: String) -> Bool {
        limits.contains(where: message.contains)
            || message.contains("hevc_nvenc") && encoderLimits.contains(where: message.contains)
    }

    // libavutil/cuda_check.h, ff_cuda_check: the call and " failed", then " -> CUDA_ERROR_UNKNOWN: unknown error", unless CUDA
    // names none, then the line's end.
    private static let beginning = "%s failed"
    private static let continuation = " -> "
    private static let failedCUDA = " failed -> CUDA_ERROR"

    // libavcodec/nvdec.c, nvdec_test_capabilities.
    package static let lacksCodec = "Hardware is lacking required capabilities"
    private static let limits = [lacksCodec, " not within range from ", " exceeds maximum of "]

    // libavcodec/nvenc.c, nvenc_check_capabilities: "Width 4104 exceeds 4096", "Max B-frames 3 exceed 0", "B frames as
    // references are not supported", "10 bit encode not supported", "Codec not supported".
    private static let encoderLimits = [" exceed", " not supported"]

    // libavcodec/hevcdec.c, hevc_decode_frame: "hardware accelerator failed to decode picture" when the accelerator's
    // end_frame returns an error.
    private static let failedPicture = "hardware accelerator failed"

    // libavcodec/h264_refs.c, ff_h264_execute_ref_pic_marking: "mmco: unref short failure", also "... long ...".
    private static let unknownMark = "mmco: unref"

    // libavcodec/hevc/ps.c, decode_vps_ext, since FFmpeg 7.1: "Scalability type 1 not supported", "VPS has 3 layers, only 2 layers
    // are supported", "… layer sets, …"; the rest describes views. It then reports "Ignoring unsupported VPS extension".
    private static let layers = [
        "hevc: Scalability type ", " layers are supported", " layer sets are supported",
        "hevc: Unexpected ViewOrderIdx", "hevc: Unexpected num_add_olss", "hevc: Dependent layer not included",
    ]

    // libavformat/matroskadec.c, ebml_read_num: "File ended prematurely at pos. …".
    private static let truncatedFile = "ended prematurely"
}
