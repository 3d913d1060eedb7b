// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDModel
internal import HWDSessions

/// How many bits pictures get, in libva's terms.
struct RateSettings: Hashable, Sendable {
    /// One of `VA_RC_…`.
    var mode: Int32
    /// Bits a second at most; 0 where nothing bounds them.
    var bitsPerSecond: UInt32 = 0
    /// The average aimed at, in percent of that.
    var targetPercentage: UInt32 = 100
    /// The decoder's buffer in bits (HRD); 0 for none.
    var bufferBits: UInt32 = 0
    /// The quality aimed at, 1 the best, 51 the worst; 0 where the mode has none.
    var qualityFactor: UInt32 = 0
    /// The QP of P pictures where it is constant.
    var baseQP = 26
    /// Lowest QP; nil sets no bound.
    var minQP: Int?
    /// Highest QP; nil sets no bound.
    var maxQP: Int?

    /// Whether every picture's QP is ours to say.
    var isConstantQP: Bool { mode == VA_RC_CQP }

    /// What slice QPs count from: with a rate control of the driver's the middle, from where cu_qp_delta reaches every
    /// QP (H.265 7.4.9.14: -26…25).
    var initialQP: Int { isConstantQP ? baseQP : 26 }

    /// SliceQpY: with a constant QP, I below P and B above it, as x265 does (ratios 1.4 and 1.3).
    ///
    /// - Parameter base: the QP that the frame came with.
    func qp(of picture: PlannedPicture, base: Int?) -> Int {
        if let base { return base }
        guard isConstantQP else { return initialQP }
        let offset = picture.isIntra ? -3 : picture.level
        return min(max(baseQP + offset, minQP ?? 0), maxQP ?? 51)
    }

    /// The least of `Quality`'s scale, as for x265: CRF = 40 - 38 * Quality.
    private static func factor(_ quality: Double) -> Int { min(max(Int((40 - 38 * quality).rounded()), 1), 51) }

    /// Maps a session's wishes to what a driver has.
    ///
    /// - Parameters:
    ///   - mask: the `VA_RC_…` bits that may be used.
    ///   - notes: gets a sentence for everything that is not exactly as asked for.
    /// - Throws: what the driver cannot do; never transient.
    init(
        _ configuration: EncoderConfiguration, mask: UInt32, notes: inout [String]
    ) throws(VAAPIFailure) {
        func has(_ mode: Int32) -> Bool { mask & UInt32(mode) != 0 }
        let limit = configuration.dataRateLimit.map {
            (rate: UInt32(clamping: Int64(Double($0.bytes) * 8 / $0.seconds)), buffer: $0.bytes.bits)
        }
        mode = VA_RC_CQP
        switch configuration.rateControl {
        case .constantQP(let qp):
            guard has(VA_RC_CQP) else { throw Self.cannot("keep a constant QP", mask) }
            baseQP = qp
        case .constantBitRate(let rate):
            guard has(VA_RC_CBR) || has(VA_RC_VBR) else { throw Self.cannot("keep a bit rate", mask) }
            mode = has(VA_RC_CBR) ? VA_RC_CBR : VA_RC_VBR
            if mode == VA_RC_VBR {
                notes.append("ConstantBitRate: the driver has no CBR, VBR with that peak is used")
            }
            setRate(UInt32(clamping: rate), percentage: 100, buffer: UInt32(clamping: rate))
        case .averageBitRate(let rate):
            guard has(VA_RC_VBR) || has(VA_RC_CBR) else { throw Self.cannot("keep a bit rate", mask) }
            let average = UInt32(clamping: rate)
            if has(VA_RC_VBR) {
                mode = VA_RC_VBR
                // Twice the average at most where nobody sets a limit: enough for key frames, and no more than players
                // buffer.
                let peak = limit?.rate ?? UInt32(clamping: 2 * rate)
                let percentage = UInt32(max(1, min(100, UInt64(average) * 100 / UInt64(max(1, peak)))))
                setRate(peak, percentage: percentage, buffer: limit?.buffer ?? peak)
            } else {
                mode = VA_RC_CBR
                notes.append("AverageBitRate: the driver has no VBR, CBR is used")
                setRate(average, percentage: 100, buffer: limit?.buffer ?? average)
            }
        case .quality(let quality):
            try setQuality(Self.factor(quality), limit: limit, mask)
        }
        setBounds(configuration, &notes)
    }

    private mutating func setRate(_ rate: UInt32, percentage: UInt32, buffer: UInt32) {
        (bitsPerSecond, targetPercentage, bufferBits) = (rate, percentage, buffer)
    }

    private mutating func setQuality(
        _ factor: Int, limit: (rate: UInt32, buffer: UInt32)?, _ mask: UInt32
    ) throws(VAAPIFailure) {
        func has(_ mode: Int32) -> Bool { mask & UInt32(mode) != 0 }
        baseQP = factor
        guard let limit else {
            if has(VA_RC_ICQ) {
                mode = VA_RC_ICQ
                qualityFactor = UInt32(factor)
            } else if !has(VA_RC_CQP) {
                throw Self.cannot("keep a quality", mask)
            }
            return
        }
        if has(VA_RC_QVBR) {
            mode = VA_RC_QVBR
            qualityFactor = UInt32(factor)
        } else if has(VA_RC_VBR) {
            // The limit's rate, but never a QP below the quality's: what is not needed is not spent.
            mode = VA_RC_VBR
            minQP = factor
        } else {
            throw Self.cannot("keep DataRateLimits", mask)
        }
        setRate(limit.rate, percentage: 100, buffer: limit.buffer)
    }

    private mutating func setBounds(_ configuration: EncoderConfiguration, _ notes: inout [String]) {
        if let bound = configuration.minQP { minQP = max(bound, minQP ?? 0) }
        if let bound = configuration.maxQP {
            if let minQP, minQP > bound {
                notes.append("MaxAllowedFrameQP \(bound) is below what Quality stands for: it wins")
                self.minQP = bound
            }
            maxQP = bound
        }
        baseQP = min(max(baseQP, minQP ?? 0), maxQP ?? 51)
    }

    private static func cannot(_ what: String, _ mask: UInt32) -> VAAPIFailure {
        let names = ConfigAttributes.rateControlNames(mask)
        let hint =
            names == ["CQP"] ? "; Intel's low-power encoders have more only with HuC firmware" : ""
        return VAAPIFailure(
            SessionError(
                .couldNotFindVideoEncoder,
                "the driver cannot \(what): of rate control it has \(names.joined(separator: ", "))\(hint)"))
    }
}

extension Int64 {
    /// So many bytes in bits, as far as 32 bits go.
    fileprivate var bits: UInt32 { UInt32(clamping: Double(self) * 8 < 4e9 ? self * 8 : 4_000_000_000) }
}
