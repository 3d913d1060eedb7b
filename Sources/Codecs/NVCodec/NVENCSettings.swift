// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// Everything that NVENC is opened with: a session's configuration in the terms of libavcodec's `hevc_nvenc`.
struct NVENCSettings: Hashable {
    /// How NVENC chooses quantization.
    enum Mode: String {
        case constantQP = "constqp"
        case variable = "vbr"
        case constant = "cbr"
        /// A target quality, with variable rates.
        case quality
    }

    /// Rate control; rates in bits a second.
    struct Rate: Hashable {
        var mode: Mode
        /// The QP of P pictures in mode `constantQP`, or the target quality, 1 (best) to 51.
        var level = 26
        /// The average; 0 for none.
        var target: Int64 = 0
        /// The peak; 0 for none.
        var peak: Int64 = 0
        /// The decoder's buffer in bits; 0 for none.
        var buffer: Int32 = 0
        /// Bounds of the QP; nil sets none.
        var minQP: Int?
        var maxQP: Int?
    }

    /// How far pictures are reordered.
    enum Pictures: Int, CaseIterable {
        /// Three B pictures between two others, of which the middle one is a reference.
        case pyramid
        /// Three B pictures, none of which is a reference.
        case flat
        /// One B picture.
        case single
        /// No B pictures.
        case inOrder

        var bPictures: Int { [3, 3, 1, 0][rawValue] }
        /// sps_max_num_reorder_pics.
        var reorderDepth: Int { [2, 1, 1, 0][rawValue] }
    }

    /// Without `maxReorder`, which only an encoder that is opened must keep.
    let request: CompressionRequest
    let bitDepth: Int
    let size: CodedSize
    let frameRate: Rational
    private(set) var rate: Rate
    /// Maximum frames from a key frame to the next.
    private(set) var keyFrameInterval: Int
    /// The structures that may be tried, the best one first.
    let pictures: [Pictures]
    /// Frames that libavcodec may hold beyond those that wait for their group.
    let delay: Int
    /// `p1`, the fastest, to `p7`.
    let preset: String
    /// Whether NVENC is tuned for low latency.
    let isLowLatency: Bool
    /// general_level_idc; 0 leaves it to NVENC.
    let level: Int
    let isHighTier: Bool
    /// The container's and the VUI's description, which need another stream where they change.
    let vui: VUIParameters
    /// A sentence for each deviation from the request.
    private(set) var notes: [String]

    /// The QP that rate control begins with.
    static let middleQP = 26
    private static let highestQP = 51
    /// The smallest pictures of NVENC's HEVC encoders are 129x33 (NVIDIA's application note); smaller ones are padded.
    private static let minimum = (width: 144, height: 64)

    /// - Throws: a limitation of NVENC; never transient.
    init(_ configuration: EncoderConfiguration) throws(NVENCFailure) {
        guard configuration.alpha == nil else {
            throw NVENCFailure(cannot: "NVENC writes slice headers of its own, which an alpha layer cannot follow")
        }
        guard configuration.temporalLevels.count == 1 else {
            throw NVENCFailure(cannot: "no temporal levels: libavcodec's hevc_nvenc does not set NVENC's")
        }
        var notes: [String] = []
        var request = configuration.request
        request.maxReorder = nil
        self.request = request
        bitDepth = configuration.profile.bitDepth
        size = CodedSize(configuration.request, alignment: (2, 2), minimum: Self.minimum)
        frameRate = configuration.frameRate
        rate = Self.rate(configuration, &notes)
        keyFrameInterval = configuration.keyFrameInterval
        let maxDelay = configuration.realTime ? 0 : configuration.maxFrameDelay ?? .max
        pictures = Self.pictures(configuration, maxDelay: maxDelay)
        delay = min(maxDelay, Self.pipelined)
        preset = configuration.prioritizesSpeed ? "p1" : configuration.prioritizesCompression ? "p7" : "p4"
        isLowLatency = configuration.realTime
        level = configuration.level.map { 3 * $0.number } ?? 0
        isHighTier = configuration.level?.needsHighTier(configuration.bitRate) ?? false
        vui = VUIParameters(configuration)
        if let count = configuration.referenceCount {
            notes.append("ReferenceBufferCount \(count): NVENC chooses the references")
        }
        if configuration.measuresError { notes.append("CalculateMeanSquaredError: NVENC does not measure it") }
        self.notes = notes
    }

    /// Frames in NVENC at the same time, so that it codes one while another is copied.
    private static let pipelined = 4

    private static func pictures(_ configuration: EncoderConfiguration, maxDelay: Int) -> [Pictures] {
        let references = configuration.referenceCount ?? .max
        return Pictures.allCases.filter { pictures in
            guard pictures != .inOrder else { return true }
            return configuration.allowFrameReordering && configuration.keyFrameInterval > 1
                && pictures.bPictures <= maxDelay
                && references >= (pictures == .pyramid ? 3 : 2)
        }
    }

    private static func rate(_ configuration: EncoderConfiguration, _ notes: inout [String]) -> Rate {
        func bits(_ bytes: Double) -> Int64 { Int64(min(bytes * 8, Double(UInt32.max))) }
        let limit = configuration.dataRateLimit.map {
            (rate: bits(Double($0.bytes) / $0.seconds), buffer: Int32(clamping: bits(Double($0.bytes))))
        }
        var rate: Rate
        switch configuration.rateControl {
        case .constantQP(let qp):
            rate = Rate(mode: .constantQP)
            rate.level = qp
        case .constantBitRate(let bitRate):
            rate = Rate(mode: .constant)
            (rate.target, rate.peak, rate.buffer) = (bitRate, bitRate, Int32(clamping: bitRate))
        case .averageBitRate(let bitRate):
            rate = Rate(mode: .variable)
            rate.target = bitRate
            rate.peak = limit?.rate ?? RateControl.peakFactor * bitRate
            rate.buffer = limit?.buffer ?? Int32(clamping: bitRate)
        case .quality(let quality):
            rate = Rate(mode: .quality)
            rate.level = RateControl.hardwareLevel(quality)
            if let limit {
                rate.peak = limit.rate
                notes.append("DataRateLimits: with Quality NVENC uses a decoder's buffer of its own")
            }
        }
        (rate.minQP, rate.maxQP) = (configuration.minQP, configuration.maxQP)
        if rate.mode == .constant, rate.minQP != nil || rate.maxQP != nil {
            (rate.minQP, rate.maxQP) = (nil, nil)
            notes.append(
                "MinAllowedFrameQP, MaxAllowedFrameQP: hevc_nvenc has no bounds of the QP with a constant rate")
        }
        return rate
    }

    /// QPs of I, P and B pictures in mode `constantQP`, as with x265 (ip ratio 1.4, pb ratio 1.3).
    var constantQPs: (i: Int, p: Int, b: Int) {
        (max(rate.level - 3, 0), rate.level, min(rate.level + 1, Self.highestQP))
    }

    /// Lowest and highest QP; libavcodec passes the highest one only with a lowest one.
    var bounds: (low: Int, high: Int)? {
        guard rate.minQP != nil || rate.maxQP != nil else { return nil }
        return (rate.minQP ?? 0, rate.maxQP ?? Self.highestQP)
    }

    /// These settings with the rates and the key frame interval of others, which an open encoder can change between two
    /// pictures; nil if the others differ in anything else.
    ///
    /// - Parameter opened: the key frame interval that NVENC knows, which makes key frames of its own.
    func changed(to other: NVENCSettings, opened: Int) -> NVENCSettings? {
        var next = self
        if other.keyFrameInterval != keyFrameInterval {
            guard keyFrameInterval > 1, other.keyFrameInterval > 1, other.keyFrameInterval <= opened else {
                return nil
            }
            next.keyFrameInterval = other.keyFrameInterval
        }
        if other.rate != rate {
            guard [.variable, .constant].contains(rate.mode) else { return nil }
            (next.rate.target, next.rate.peak, next.rate.buffer) =
                (other.rate.target, other.rate.peak, other.rate.buffer)
        }
        next.notes = other.notes
        return next == other ? next : nil
    }
}
