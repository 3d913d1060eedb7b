// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// Rate control in libva's terms.
struct RateSettings: Hashable, Sendable {
    /// One of `VA_RC_…`.
    var mode: Int32
    /// The peak in bits a second; 0 for none.
    var bitsPerSecond: UInt32 = 0
    /// The average, in percent of the peak.
    var targetPercentage: UInt32 = 100
    /// The decoder's buffer in bits (HRD); 0 for none.
    var bufferBits: UInt32 = 0
    /// The target quality, from 1, the best, to 51; 0 in modes without one.
    var qualityFactor: UInt32 = 0
    /// The QP of P pictures in mode CQP.
    var baseQP = Self.middleQP
    /// Lowest QP; nil sets no bound.
    var minQP: Int?
    /// Highest QP; nil sets no bound.
    var maxQP: Int?

    /// Whether the driver codes all pictures of mode CQP with one QP.
    var sharesQP = false

    /// Whether this module sets every picture's QP.
    var isConstantQP: Bool { mode == VA_RC_CQP }

    /// The average in bits a second; 0 for none.
    var targetBitsPerSecond: UInt32 { UInt32(UInt64(bitsPerSecond) * UInt64(targetPercentage) / 100) }

    /// The QP that slice QPs are relative to.
    var initialQP: Int { isConstantQP ? baseQP : Self.middleQP }

    /// CuQpDeltaVal is -26…25 for 8 bits (H.265 7.4.9.14), so every QP can be reached from here.
    private static let middleQP = 26
    /// The highest QP (H.265 7.4.7.1).
    static let highestQP = 51

    /// SliceQpY; in mode CQP lower for I and higher for B pictures, like x265 (ip ratio 1.4, pb ratio 1.3).
    ///
    /// - Parameter base: the frame's BaseFrameQP, which is absolute.
    func qp(of picture: PlannedPicture, base: Int?) -> Int {
        if let base { return base }
        guard isConstantQP, !sharesQP else { return initialQP }
        let offset = picture.isIntra ? -3 : picture.level
        return min(max(baseQP + offset, minQP ?? 0), maxQP ?? Self.highestQP)
    }

    /// Maps a session's rate control to a mode that the driver has.
    ///
    /// - Parameters:
    ///   - mask: the `VA_RC_…` bits that may be used.
    ///   - notes: receives a sentence for each deviation from the request.
    /// - Throws: a limitation of the driver; never transient.
    init(
        _ configuration: EncoderConfiguration, mask: UInt32, notes: inout [String]
    ) throws(VAAPIFailure) {
        let limit = configuration.dataRateLimit.map {
            Limit(rate: UInt32(clamping: Int64(Double($0.bytes) * 8 / $0.seconds)), buffer: $0.bytes.bits)
        }
        mode = VA_RC_CQP
        switch configuration.rateControl {
        case .constantQP(let qp):
            guard Self.has(VA_RC_CQP, mask) else { throw Self.cannot("keep a constant QP", mask) }
            baseQP = qp
        case .constantBitRate(let rate): try setConstant(rate, mask, &notes)
        case .averageBitRate(let rate): try setAverage(rate, limit, mask, &notes)
        case .quality(let quality): try setQuality(RateControl.hardwareLevel(quality), limit, mask)
        }
        setBounds(configuration, &notes)
    }

    /// `DataRateLimits`: bits a second, and bits of the buffer.
    private struct Limit {
        var rate: UInt32
        var buffer: UInt32
    }

    private static func has(_ mode: Int32, _ mask: UInt32) -> Bool { mask & UInt32(mode) != 0 }

    private mutating func setConstant(
        _ rate: Int64, _ mask: UInt32, _ notes: inout [String]
    ) throws(VAAPIFailure) {
        if Self.has(VA_RC_CBR, mask) {
            mode = VA_RC_CBR
        } else if Self.has(VA_RC_VBR, mask) {
            mode = VA_RC_VBR
            notes.append("ConstantBitRate: the driver has no CBR, VBR with that peak is used")
        } else {
            throw Self.cannot("keep a bit rate", mask)
        }
        setRate(UInt32(clamping: rate), percentage: 100, buffer: UInt32(clamping: rate))
    }

    private mutating func setAverage(
        _ rate: Int64, _ limit: Limit?, _ mask: UInt32, _ notes: inout [String]
    ) throws(VAAPIFailure) {
        let average = UInt32(clamping: rate)
        if Self.has(VA_RC_VBR, mask) {
            mode = VA_RC_VBR
            // Without a limit the buffer holds one second of the average.
            let peak = limit?.rate ?? UInt32(clamping: RateControl.peakFactor * rate)
            let percentage = UInt32(
                max(1, min(100, (UInt64(average) * 100 + UInt64(peak) / 2) / UInt64(max(1, peak)))))
            setRate(peak, percentage: percentage, buffer: limit?.buffer ?? average)
        } else if Self.has(VA_RC_CBR, mask) {
            mode = VA_RC_CBR
            notes.append("AverageBitRate: the driver has no VBR, CBR is used")
            setRate(average, percentage: 100, buffer: limit?.buffer ?? average)
        } else {
            throw Self.cannot("keep a bit rate", mask)
        }
    }

    private mutating func setRate(_ rate: UInt32, percentage: UInt32, buffer: UInt32) {
        (bitsPerSecond, targetPercentage, bufferBits) = (rate, percentage, buffer)
    }

    private mutating func setQuality(
        _ factor: Int, _ limit: Limit?, _ mask: UInt32
    ) throws(VAAPIFailure) {
        baseQP = factor
        guard let limit else {
            if Self.has(VA_RC_ICQ, mask) {
                mode = VA_RC_ICQ
                qualityFactor = UInt32(factor)
            } else if !Self.has(VA_RC_CQP, mask) {
                throw Self.cannot("keep a quality", mask)
            }
            return
        }
        if Self.has(VA_RC_QVBR, mask) {
            mode = VA_RC_QVBR
            qualityFactor = UInt32(factor)
        } else if Self.has(VA_RC_VBR, mask) {
            // The limit is the peak; the quality's QP as the lower bound keeps simple pictures from using all of it.
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
                notes.append("MaxAllowedFrameQP \(bound) overrides Quality, whose QP is higher")
                self.minQP = bound
            }
            maxQP = bound
        }
        baseQP = min(max(baseQP, minQP ?? 0), maxQP ?? Self.highestQP)
    }

    private static func cannot(_ what: String, _ mask: UInt32) -> VAAPIFailure {
        let names = ConfigAttributes.rateControlNames(mask)
        let hint =
            names == ["CQP"] ? "; Intel's low-power encoders need HuC firmware for more" : ""
        return VAAPIFailure(
            SessionError(
                .couldNotFindVideoEncoder,
                "the driver cannot \(what): its rate control has \(names.joined(separator: ", "))\(hint)"))
    }
}

extension Int64 {
    /// This many bytes in bits, at most 4·10⁹.
    fileprivate var bits: UInt32 { UInt32(clamping: Double(self) * 8 < 4e9 ? self * 8 : 4_000_000_000) }
}
