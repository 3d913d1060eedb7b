// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel
public import HWDSessions

/// Decodes streams with an alpha layer to pictures with an alpha plane: two decoders, one a layer, side by side.
///
/// Pictures are paired by the packet they came in. Alpha that is missing or damaged never costs a picture: it is given
/// opaque then, and the reason told. Used by one thread at a time.
public final class AlphaHEVCDecoder: PictureDecoder, @unchecked Sendable {
    /// What is known of the alpha of a packet whose picture has not been given yet.
    private enum Expected {
        /// There will be none, although the stream has alpha.
        case missing
        /// Its decoder has it.
        case waiting(AlphaInterpretation, NALUnitType)
    }

    private let base: HEVCDecoder
    private var alpha: HEVCDecoder?
    private let options: HEVCDecoder.Options
    private let scratch = ScratchMemory()
    private let merger: AlphaPlaneMerger
    private var expected: [Int64: Expected] = [:]
    /// Pictures of the base layer that wait for their alpha, in presentation order.
    private var held: [AlphaPlaneMerger.Part] = []
    private var alphas: [Int64: AlphaPlaneMerger.Part] = [:]
    private var damage = DamageTracker()
    private var alphaFailure: String?

    /// Pictures that may wait: what a decoder reorders, and what its threads hold.
    private static let maxHeld = 48
    /// Packets remembered that gave no picture of the base layer.
    private static let maxExpected = 256

    /// Opens the base layer's decoder; that of the alpha layer opens with its first key frame.
    ///
    /// - Parameter options: their `target` is a format with alpha.
    /// - Throws: as `HEVCDecoder`.
    public init(
        _ format: StreamFormat, _ options: HEVCDecoder.Options, memory: any PictureMemory
    ) throws(SessionError) {
        var inner = options
        inner.target = .yu12
        self.options = inner
        merger = AlphaPlaneMerger(memory: memory)
        base = try HEVCDecoder(format, inner, memory: scratch)
    }

    /// Why the base layer's pictures, or else the alpha layer's, are not decoded in hardware although a device was named.
    public var fallbackReason: String? { base.fallbackReason ?? alphaFailure ?? alpha?.fallbackReason }

    /// What the driver failed at since the last look; nil when it did not.
    public func takeHardwareFailure() -> String? {
        let (first, second) = (base.takeHardwareFailure(), alpha?.takeHardwareFailure())
        return first ?? second
    }

    /// Takes a packet and gives the pictures that are ready.
    public func decode(
        _ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        if let unit = input.alpha { try feed(unit, sequence, handler) }
        try base.decode(input.base, sequence: sequence) { (event) throws(SessionError) in
            guard case .picture(let picture, let owner) = event else { return try handler(event) }
            held.append(AlphaPlaneMerger.Part(picture: picture, owner: owner, memory: scratch))
        }
        try give(isLast: false, handler)
        forgetOld(before: sequence)
    }

    /// Gives every picture still inside; the next packet must be a key frame.
    public func finish(_ handler: DecoderEventHandler) throws(SessionError) {
        try alpha?.finish { (event) throws(SessionError) in try take(event, handler) }
        try base.finish { (event) throws(SessionError) in
            guard case .picture(let picture, let owner) = event else { return try handler(event) }
            held.append(AlphaPlaneMerger.Part(picture: picture, owner: owner, memory: scratch))
            try give(isLast: true, handler)
        }
        try give(isLast: true, handler)
        expected = [:]
        alphas = [:]
        damage.flush()
    }

    private func feed(
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
                try handler(.alphaDamage(sequence, "the alpha layer's picture came before its first key frame"))
            }
            return
        }
        if unit.fault != nil { damage.damage(sequence) }
        do throws(SessionError) {
            let decoder = try open()
            expected[sequence] = .waiting(unit.interpretation, type)
            try decoder.decode(unit.bytes, sequence: sequence) { (event) throws(SessionError) in
                try take(event, handler)
            }
        } catch {
            // A decoder that cannot go on costs alpha until the next key frame; what the client does wrong ends all.
            guard [.videoDecoderMalfunction, .videoDecoderBadData].contains(error.status) else { throw error }
            alpha = nil
            damage = DamageTracker()
            expected[sequence] = .missing
            try handler(.alphaDamage(sequence, "the alpha layer: \(error.reason)"))
        }
    }

    /// The alpha layer's decoder: like the base's, but in software where the device has nothing to give for it.
    private func open() throws(SessionError) -> HEVCDecoder {
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

    /// What the alpha layer's decoder tells.
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

    private func give(isLast: Bool, _ handler: DecoderEventHandler) throws(SessionError) {
        while let first = held.first, isLast || isReady(first.picture.sequence) {
            held.removeFirst()
            try give(first, handler)
        }
    }

    /// Whether nothing more can come for a picture: its alpha is here, or never will be.
    private func isReady(_ sequence: Int64) -> Bool {
        guard case .waiting? = expected[sequence], alphas[sequence] == nil else { return true }
        // Both layers have one structure: alpha of a picture that is shown later says that this one's was lost.
        return held.count > Self.maxHeld || held.dropFirst().contains { alphas[$0.picture.sequence] != nil }
    }

    private func give(_ part: AlphaPlaneMerger.Part, _ handler: DecoderEventHandler) throws(SessionError) {
        let sequence = part.picture.sequence
        var (mine, state) = (alphas.removeValue(forKey: sequence), PictureAlpha.none)
        var opacities: [UInt8]?
        var isDamaged = false
        switch expected.removeValue(forKey: sequence) {
        case nil: mine = nil
        case .missing?: (mine, state) = (nil, .missing)
        case .waiting(let meaning, let type)?:
            let (width, height) = (part.picture.width, part.picture.height)
            if let alpha = mine?.picture, (alpha.width, alpha.height) != (width, height) {
                mine = nil
                try handler(
                    .alphaDamage(
                        sequence,
                        "the alpha layer's picture is \(alpha.width)x\(alpha.height), the base layer's \(width)x\(height)"
                    ))
            } else if mine == nil {
                try handler(.alphaDamage(sequence, "the alpha layer gave no picture"))
            }
            state = mine == nil ? .missing : .present(meaning.mode)
            opacities = meaning.opacities
            isDamaged = mine != nil && damage.isDamaged(sequence, type)
        }
        var (picture, owner) = try merger.join(part, alpha: mine, opacities: opacities)
        picture.alpha = state
        if isDamaged { picture.isDamaged = true }
        if let mine, !mine.picture.isHardware { picture.isHardware = false }
        try handler(.picture(picture, owner))
    }

    /// Forgets packets that gave no picture.
    private func forgetOld(before sequence: Int64) {
        if expected.count > Self.maxExpected {
            expected = expected.filter { $0.key > sequence - Int64(Self.maxExpected / 2) }
        }
        if alphas.count > Self.maxHeld {
            alphas = alphas.filter { $0.key > sequence - Int64(Self.maxHeld / 2) }
        }
    }
}
