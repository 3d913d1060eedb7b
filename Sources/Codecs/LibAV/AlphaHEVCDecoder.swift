// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
internal import HWDHEVC
public import HWDModel

/// Decodes streams with an alpha layer to pictures with an alpha plane, with one decoder for each layer.
///
/// Pictures are paired by their packet. Missing or damaged alpha never costs a picture: it is then opaque, and the reason
/// is reported. Used by one thread at a time.
public final class AlphaHEVCDecoder: PictureDecoder, @unchecked Sendable {
    /// The state of the alpha of a packet whose picture was not emitted yet.
    private enum Expected {
        /// The packet has none, although the stream has alpha.
        case missing
        /// The alpha layer's decoder has it.
        case waiting(AlphaInterpretation, NALUnitType)
    }

    private let base: HEVCDecoder
    private var alpha: HEVCDecoder?
    private let options: HEVCDecoder.Options
    private let scratch: ScratchMemory
    private let merger: AlphaPlaneMerger
    private var expected: [Int64: Expected] = [:]
    /// Pictures of the base layer whose alpha is not decoded yet, in presentation order.
    private var held: [AlphaPlaneMerger.Part] = []
    private var alphas: [Int64: AlphaPlaneMerger.Part] = [:]
    private var damage = DamageTracker()
    private var alphaFailure: String?

    /// Pictures of the base layer that may be held: those that a decoder reorders, and one for each of its threads.
    private static let maxHeld = 48
    /// Packets remembered for which the base layer returned no picture.
    private static let maxExpected = 256

    /// Opens the base layer's decoder; the alpha layer's is opened at its first key frame.
    ///
    /// - Parameter options: `target` is a format with alpha.
    /// - Throws: the errors of `HEVCDecoder`.
    public init(
        _ format: StreamFormat, _ options: HEVCDecoder.Options, memory: any PictureMemory
    ) throws(SessionError) {
        var inner = options
        inner.target = .yu12
        // Both layers' decoders share the threads that are requested.
        if options.threads > 1 { inner.threads = options.threads / 2 }
        self.options = inner
        scratch = ScratchMemory(of: memory)
        merger = AlphaPlaneMerger(memory: memory)
        base = try HEVCDecoder(format, inner, memory: scratch)
    }

    /// Why one of the layers is not decoded in hardware although a device was named; the base layer's reason comes first.
    public var fallbackReason: String? { base.fallbackReason ?? alphaFailure ?? alpha?.fallbackReason }

    /// The driver's first failure since the last call; nil when there was none.
    public func takeHardwareFailure() -> String? {
        let (first, second) = (base.takeHardwareFailure(), alpha?.takeHardwareFailure())
        return first ?? second
    }

    /// Decodes a packet and emits the pictures that are ready.
    public func decode(
        _ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        if let unit = input.alpha { try decodeAlpha(unit, sequence, handler) }
        try base.decode(input.base, sequence: sequence) { (event) throws(SessionError) in
            guard case .picture(let picture, let owner) = event else { return try handler(event) }
            held.append(AlphaPlaneMerger.Part(picture: picture, owner: owner, memory: scratch))
        }
        try emitReady(isLast: false, handler)
        forgetOld(before: sequence)
    }

    /// Emits every picture still inside; the next packet must be a key frame.
    public func finish(_ handler: DecoderEventHandler) throws(SessionError) {
        try alpha?.finish { (event) throws(SessionError) in try take(event, handler) }
        try base.finish { (event) throws(SessionError) in
            guard case .picture(let picture, let owner) = event else { return try handler(event) }
            held.append(AlphaPlaneMerger.Part(picture: picture, owner: owner, memory: scratch))
            try emitReady(isLast: true, handler)
        }
        try emitReady(isLast: true, handler)
        expected = [:]
        alphas = [:]
        damage.flush()
    }

    private func decodeAlpha(
        _ unit: AlphaUnit, _ sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        expected[sequence] = .missing
        if let fault = unit.fault {
            try handler(.alphaDamage(sequence, fault))
            if unit.pictureType?.isIRAP != true { damage.damage(sequence) }
        }
        guard let type = unit.pictureType, !unit.bytes.isEmpty else { return }
        guard damage.admit(sequence, type) == .decode else {
            if unit.fault == nil {
                try handler(.alphaDamage(sequence, "the alpha layer's picture precedes its first key frame"))
            }
            return
        }
        if unit.fault != nil { damage.damage(sequence) }
        do throws(SessionError) {
            let decoder = try openAlpha()
            expected[sequence] = .waiting(unit.interpretation, type)
            try decoder.decode(unit.bytes, sequence: sequence) { (event) throws(SessionError) in
                try take(event, handler)
            }
        } catch {
            // A failed decoder costs alpha until the next key frame; errors of the client end the session.
            guard [.videoDecoderMalfunction, .videoDecoderBadData].contains(error.status) else { throw error }
            alpha = nil
            damage = DamageTracker()
            expected[sequence] = .missing
            try handler(.alphaDamage(sequence, "the alpha layer: \(error.reason)"))
        }
    }

    /// The alpha layer's decoder, with the base's options; in software where the device cannot decode a second stream.
    private func openAlpha() throws(SessionError) -> HEVCDecoder {
        if let alpha { return alpha }
        let format = try StreamFormat.inBand()
        var options = options
        if base.fallbackReason != nil { options.device = nil }
        let opened: HEVCDecoder
        do throws(SessionError) {
            opened = try HEVCDecoder(format, options, memory: scratch)
        } catch {
            guard options.device != nil else { throw error }
            alphaFailure = "the alpha layer: \(error.reason)"
            options.device = nil
            opened = try HEVCDecoder(format, options, memory: scratch)
        }
        alpha = opened
        return opened
    }

    /// Handles an event of the alpha layer's decoder.
    private func take(_ event: DecoderEvent, _ handler: DecoderEventHandler) throws(SessionError) {
        switch event {
        case .picture(let picture, let owner):
            guard case .waiting? = expected[picture.sequence] else { return }
            if picture.isDamaged { damage.damage(picture.sequence) }
            alphas[picture.sequence] = AlphaPlaneMerger.Part(picture: picture, owner: owner, memory: scratch)
        case .damage(let sequence, let reason), .alphaDamage(let sequence, let reason):
            damage.damage(sequence)
            try handler(.alphaDamage(sequence, "the alpha layer: \(reason)"))
        }
    }

    private func emitReady(isLast: Bool, _ handler: DecoderEventHandler) throws(SessionError) {
        while let first = held.first, isLast || isReady(first.picture.sequence) {
            held.removeFirst()
            try emit(first, handler)
        }
    }

    /// Whether a picture's alpha is decoded, or known to be missing.
    private func isReady(_ sequence: Int64) -> Bool {
        guard case .waiting? = expected[sequence], alphas[sequence] == nil else { return true }
        // Both layers have the same structure: alpha of a picture that is shown later means that this one's was lost.
        return held.count > Self.maxHeld || held.dropFirst().contains { alphas[$0.picture.sequence] != nil }
    }

    private func emit(_ base: AlphaPlaneMerger.Part, _ handler: DecoderEventHandler) throws(SessionError) {
        let sequence = base.picture.sequence
        let decoded = alphas.removeValue(forKey: sequence)
        var alpha: AlphaPlaneMerger.Part?
        var opacities: [UInt8]?
        var (state, isDamaged) = (PictureAlpha.none, false)
        switch expected.removeValue(forKey: sequence) {
        case nil: break
        case .missing?: state = .missing
        case .waiting(let interpretation, let type)?:
            if let reason = Self.mismatch(decoded?.picture, base.picture) {
                try handler(.alphaDamage(sequence, reason))
                state = .missing
            } else {
                alpha = decoded
                state = .present(interpretation.mode)
            }
            opacities = interpretation.opacities
            isDamaged = alpha != nil && damage.isDamaged(sequence, type)
        }
        var (picture, owner) = try merger.join(base, alpha: alpha, opacities: opacities)
        picture.alpha = state
        if isDamaged { picture.isDamaged = true }
        if alpha?.picture.isHardware == false { picture.isHardware = false }
        try handler(.picture(picture, owner))
    }

    /// Why an alpha picture cannot be joined with its base picture; nil where it can.
    private static func mismatch(_ alpha: OutputPicture?, _ base: OutputPicture) -> String? {
        guard let alpha else { return "the alpha layer has no picture" }
        guard (alpha.width, alpha.height) != (base.width, base.height) else { return nil }
        return "the alpha layer's picture is \(alpha.width)x\(alpha.height), "
            + "the base layer's \(base.width)x\(base.height)"
    }

    /// Forgets packets for which no picture was returned.
    private func forgetOld(before sequence: Int64) {
        if expected.count > Self.maxExpected {
            expected = expected.filter { $0.key > sequence - Int64(Self.maxExpected / 2) }
        }
        if alphas.count > Self.maxHeld {
            alphas = alphas.filter { $0.key > sequence - Int64(Self.maxHeld / 2) }
        }
    }
}
