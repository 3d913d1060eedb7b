// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDWire
internal import HWDX265

/// What can be coded without hardware.
enum SoftwareProbe {
    /// - Parameter judge: who decodes what an encoder wrote; without it nothing is verified, and no decoder listed.
    static func answer(_ request: ProbeRequest, _ catalogue: Catalogue, _ judge: (any StreamJudge)?) -> ProbeAnswer
    {
        let encoder = X265Library.description
        let x265 = encoder.map { "x265 \($0.version)" } ?? "x265"
        var verifier = Verifier(
            request,
            key: ProbeRecord.Key(
                device: "", driver: "", kernel: Verifier.kernel, libraries: x265, catalogue: catalogue.digest),
            judge: judge)
        let decoder = verifier.judgeName
        // One encode serves the encoder's path and the decoder's of the same depth.
        var trials: [Int: SoftwareTrial.Outcome] = [:]
        func trial(_ depth: Int, _ judge: any StreamJudge) -> SoftwareTrial.Outcome {
            if let outcome = trials[depth] { return outcome }
            let outcome = SoftwareTrial.run(bitDepth: depth, judge: judge)
            trials[depth] = outcome
            return outcome
        }

        let capabilities = catalogue.capabilities
        var forbidden: Set<Int> = []
        let paths = capabilities.paths.compactMap { entry -> CodecPath? in
            let isEncoder = entry.operation == .encode
            guard entry.enabled, let library = entry.software, isEncoder || decoder != nil else { return nil }
            var path = CodecPath(entry, driver: isEncoder ? x265 : decoder ?? library)
            switch (library, entry.codec) {
            case ("x265", "hevc") where isEncoder:
                path.claimed = encoder?.bitDepths.contains(entry.bitDepth) ?? false
                path.reason = path.claimed ? nil : "this libx265 writes no \(entry.bitDepth)-bit HEVC"
            case ("libavcodec", "hevc") where !isEncoder:
                path.claimed = judge?.isAvailable ?? verifier.knows(entry.id)
                path.reason = path.claimed ? nil : "this libavcodec has no HEVC decoder"
            default:
                path.driver = library
                path.reason = "this version of hwdaemon does not \(entry.operation) \(entry.codec) by \(library)"
            }
            guard path.claimed else { return path }
            guard capabilities.apply(to: &path) else {
                if isEncoder { forbidden.insert(entry.bitDepth) }
                return path
            }
            verifier.verify(&path) { _ in
                guard let judge else { return Verifier.Fault(reason: "there is no decoder to verify it with") }
                let outcome = trial(entry.bitDepth, judge)
                return (isEncoder ? outcome.encoderFault : outcome.decoderFault).map { Verifier.Fault(reason: $0) }
            }
            return path
        }
        return ProbeAnswer(
            encoders: encoder.flatMap { Self.without(forbidden, $0) }.map { [$0] } ?? [], paths: paths,
            record: verifier.record, warnings: catalogue.warnings,
            isWhole: judge != nil || (decoder != nil && verifier.untried.isEmpty),
            files: request.verification == .startup
                ? [] : LoadedFiles.stamps(Catalogue.paths + (verifier.judgeFile.map { [$0] } ?? [])))
    }

    /// An encoder without the depths that a quirk forbids; nil when none is left.
    private static func without(_ depths: Set<Int>, _ encoder: EncoderDescription) -> EncoderDescription? {
        guard !depths.isEmpty else { return encoder }
        var encoder = encoder
        encoder.bitDepths.removeAll { depths.contains($0) }
        return encoder.bitDepths.isEmpty ? nil : encoder
    }
}
