// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
public import HWDModel

/// Why NVENC did not open.
public struct NVENCFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status and the sentence.
    public var error: SessionError
    /// Whether another attempt may succeed later: the GPU is busy, or at a limit.
    public var isTransient: Bool
    /// Whether the GPU has no such encoder.
    public var isUnsupported: Bool
    /// The limit of B pictures that the request exceeds; nil for other failures.
    var limit: BPictureLimit?

    /// The error's sentence.
    public var description: String { error.description }

    /// A limitation that does not pass.
    init(cannot reason: String) {
        self.init(SessionError(.couldNotFindVideoEncoder, reason))
    }

    init(_ error: SessionError, isTransient: Bool = false, isUnsupported: Bool = false) {
        (self.error, self.isTransient, self.isUnsupported) = (error, isTransient, isUnsupported)
    }

    /// The failure of a call to libavcodec.
    ///
    /// - Parameter messages: libav's log since the call began.
    init(_ failed: LibAVError, _ messages: [String]) {
        let finding = NVENCFinding(messages)
        let isTransient = finding?.isTransient ?? failed.isTransient
        let isUnsupported = finding?.isUnsupported ?? false
        let status: Status =
            isTransient
            ? .videoEncoderNotAvailableNow : isUnsupported ? .couldNotFindVideoEncoder : .videoEncoderMalfunction
        self.init(
            SessionError(status, finding.map { "NVENC does not open: \($0.text)" } ?? failed.description),
            isTransient: isTransient, isUnsupported: isUnsupported)
        limit = finding?.limit
    }
}

/// What libav's messages report of NVENC, in words.
struct NVENCFinding {
    let text: String
    var isTransient = false
    var isUnsupported = false
    /// What the chip has instead of the B pictures that it was opened with.
    var limit: BPictureLimit?

    private enum Kind { case transient, unsupported, other }

    /// - Parameter messages: libav's log, oldest first.
    /// - Returns: nil where no message is about the hardware.
    init?(_ messages: [String]) {
        for (words, text, kind) in Self.known {
            guard let message = messages.first(where: { $0.contains(words) }) else { continue }
            self.init(text ?? NVDEC.oldDriver(lacking: message), kind)
            return
        }
        let limits = messages.lazy.compactMap { text in BPictureLimit(text).map { (text, $0) } }
        if let (message, limit) = limits.first {
            self.init(message, .unsupported)
            self.limit = limit
        } else if let message = messages.first(where: LogFinding.isLimit) {
            self.init(message, .unsupported)
        } else if let reason = NVDEC.reason(messages) {
            self.init(reason.text, reason.words == NVDEC.outOfMemory ? .transient : .other)
        } else if let message = messages.last(where: { $0.contains("hevc_nvenc") }) {
            self.init(message, .other)
        } else {
            return nil
        }
    }

    private init(_ text: String, _ kind: Kind) {
        self.text = text
        isTransient = kind == .transient
        isUnsupported = kind == .unsupported
    }

    private static let sessions =
        "the GPU allows no further encoding session: other programs encode on it, or its driver has a limit"

    /// Words of libavcodec/nvenc.c (nvenc_errors, nvenc_load_nvenc) and of FFmpeg's loader; nil is an old driver.
    private static let known: [(words: String, text: String?, kind: Kind)] = [
        ("Cannot load libnvidia-encode", "NVIDIA's libnvidia-encode.so.1 cannot be loaded", .other),
        ("Cannot load Nv", nil, .other),
        ("does not support the required nvenc API version", nil, .other),
        ("OpenEncodeSessionEx failed: unsupported device", "this GPU has no encoder (NVENC)", .unsupported),
        ("OpenEncodeSessionEx failed: no encode device", "this GPU has no encoder (NVENC)", .unsupported),
        ("OpenEncodeSessionEx failed: out of memory", sessions, .transient),
        ("incompatible client key", sessions, .transient),
        ("encoder busy", "the GPU's encoder is busy", .transient),
        ("failed: out of memory", "the GPU has no memory left", .transient),
    ]
}

/// What a chip lacks of B pictures, as libavcodec reports it.
enum BPictureLimit: Hashable, Sendable {
    /// So many B pictures in a row, at most.
    case count(Int)
    case noReferences

    /// Reads a message of libavcodec/nvenc.c (nvenc_check_capabilities): "Max B-frames 3 exceed 0", "B frames as references are not
    /// supported"; nil for others.
    init?(_ message: String) {
        if message.contains("Max B-frames") {
            let words = message.split(whereSeparator: \.isWhitespace)
            self = .count(max(words.last.flatMap { Int($0) } ?? 0, 0))
        } else if message.contains("B frames as references") {
            self = .noReferences
        } else {
            return nil
        }
    }

    func allows(_ pictures: NVENCSettings.Pictures) -> Bool {
        switch self {
        case .count(let most): pictures.bPictures <= most
        case .noReferences: pictures != .pyramid
        }
    }

    var notice: String {
        switch self {
        case .count(0): "AllowFrameReordering: this GPU's encoder has no B pictures"
        case .count(let most): "AllowFrameReordering: this GPU's encoder has at most \(most) B pictures in a row"
        case .noReferences: "AllowFrameReordering: this GPU's encoder does not refer to B pictures"
        }
    }
}
