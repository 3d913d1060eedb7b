// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire
internal import HWDX265

/// Which paths of the catalogue can be coded in software, and whether frames come back intact.
struct SoftwareProbe {
    private let request: ProbeRequest
    private let catalogue: Catalogue
    /// Decodes what was encoded; without one, nothing is verified and no decoder is listed.
    private let reference: (any ReferenceCodec)?
    private let encoder = X265Library.description
    private let x265: String
    private var verifier: Verifier
    /// One encode serves both the encoder's and the decoder's path of a bit depth.
    private var trials: [Int: SoftwareTrial.Outcome] = [:]
    /// Bit depths at which a quirk forbids encoding.
    private var forbidden: Set<Int> = []

    /// Answers a request.
    static func answer(_ request: ProbeRequest, _ catalogue: Catalogue, _ reference: (any ReferenceCodec)?)
        -> ProbeAnswer
    {
        var probe = SoftwareProbe(request, catalogue, reference)
        return probe.answer()
    }

    private init(_ request: ProbeRequest, _ catalogue: Catalogue, _ reference: (any ReferenceCodec)?) {
        self.request = request
        self.catalogue = catalogue
        self.reference = reference
        x265 = encoder.map { "x265 \($0.version)" } ?? "x265"
        verifier = Verifier(
            request,
            key: ProbeRecord.Key(
                device: "", driver: "", kernel: Verifier.kernel, libraries: x265, catalogue: catalogue.digest),
            reference: reference)
    }

    private mutating func answer() -> ProbeAnswer {
        var paths: [CodecPath] = []
        for entry in catalogue.capabilities.paths {
            if let path = path(entry) { paths.append(path) }
        }
        return ProbeAnswer(
            encoders: allowedEncoder.map { [$0] } ?? [], paths: paths, record: verifier.record,
            warnings: catalogue.warnings,
            isWhole: reference != nil || (verifier.referenceName != nil && verifier.untried.isEmpty),
            files: request.verification == .startup
                ? [] : LoadedFiles.stamps(catalogue.files + (verifier.referenceFile.map { [$0] } ?? [])),
            sandboxQuirks: catalogue.sandboxQuirks, quirks: catalogue.capabilities.descriptions(of: paths))
    }

    /// A path of the catalogue in software; nil if it has none, or if the decoder is not known.
    private mutating func path(_ entry: Capabilities.Path) -> CodecPath? {
        let isEncoder = entry.operation == .encode
        let decoder = verifier.referenceName
        guard entry.enabled, let library = entry.software, isEncoder || decoder != nil else { return nil }
        var path = CodecPath(entry, driver: isEncoder ? x265 : decoder ?? library)
        claim(&path, entry, by: library)
        guard path.claimed else { return path }
        guard catalogue.capabilities.apply(to: &path) else {
            if isEncoder { forbidden.insert(entry.bitDepth) }
            return path
        }
        let (reference, known) = (reference, trials[entry.bitDepth])
        var outcome: SoftwareTrial.Outcome?
        verifier.verify(&path) { _ in
            guard let reference else { return Verifier.Fault(reason: Verifier.noDecoder) }
            let trial = known ?? SoftwareTrial.run(bitDepth: entry.bitDepth, reference: reference)
            outcome = trial
            return (isEncoder ? trial.encoderFault : trial.decoderFault).map { Verifier.Fault(reason: $0) }
        }
        if let outcome { trials[entry.bitDepth] = outcome }
        return path
    }

    /// Fills in whether the library supports a path, and why not.
    private func claim(_ path: inout CodecPath, _ entry: Capabilities.Path, by library: String) {
        switch (library, entry.codec, entry.operation) {
        case ("x265", "hevc", .encode):
            path.claimed = encoder?.bitDepths.contains(entry.bitDepth) ?? false
            path.reason = path.claimed ? nil : "this libx265 writes no \(entry.bitDepth)-bit HEVC"
        case ("libavcodec", "hevc", .decode):
            path.claimed = reference?.isAvailable ?? verifier.knows(entry.id)
            path.reason = path.claimed ? nil : "this libavcodec has no HEVC decoder"
        default:
            path.driver = library
            path.reason = "this version of hwdaemon does not \(entry.operation) \(entry.codec) with \(library)"
        }
    }

    /// The encoder without the bit depths that a quirk forbids; nil if none is left.
    private var allowedEncoder: EncoderDescription? {
        guard var encoder, !forbidden.isEmpty else { return self.encoder }
        encoder.bitDepths.removeAll { forbidden.contains($0) }
        return encoder.bitDepths.isEmpty ? nil : encoder
    }
}
