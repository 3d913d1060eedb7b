// SPDX-License-Identifier: GPL-2.0-or-later
internal import LibAV
internal import Model
internal import Sessions
internal import Wire
internal import X265

/// What can be coded without hardware.
enum SoftwareProbe {
    static func answer(_ request: ProbeRequest, _ catalogue: Catalogue) -> ProbeAnswer {
        let encoder = X265Library.description
        let x265 = encoder.map { "x265 \($0.version)" } ?? "x265"
        let libavcodec = "libavcodec \(HEVCDecoder.libraryVersion)"
        var verifier = Verifier(
            request,
            key: ProbeRecord.Key(
                device: "", driver: "", kernel: Verifier.kernel, libraries: "\(x265), \(libavcodec)",
                catalogue: catalogue.digest))
        // One encode serves the encoder's path and the decoder's of the same depth.
        var trials: [Int: SoftwareTrial.Outcome] = [:]
        func trial(_ depth: Int) -> SoftwareTrial.Outcome {
            if let outcome = trials[depth] { return outcome }
            let outcome = SoftwareTrial.run(bitDepth: depth)
            trials[depth] = outcome
            return outcome
        }

        let capabilities = catalogue.capabilities
        var forbidden: Set<Int> = []
        let paths = capabilities.paths.compactMap { entry -> CodecPath? in
            guard entry.enabled, let library = entry.software else { return nil }
            let isEncoder = entry.operation == .encode
            var path = CodecPath(entry, driver: isEncoder ? x265 : libavcodec)
            switch (library, entry.codec) {
            case ("x265", "hevc") where isEncoder:
                path.claimed = encoder?.bitDepths.contains(entry.bitDepth) ?? false
                path.reason = path.claimed ? nil : "this libx265 writes no \(entry.bitDepth)-bit HEVC"
            case ("libavcodec", "hevc") where !isEncoder:
                path.claimed = HEVCDecoder.isAvailable
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
            verifier.verify(&path) {
                isEncoder ? trial(entry.bitDepth).encoderFault : trial(entry.bitDepth).decoderFault
            }
            return path
        }
        return ProbeAnswer(
            encoders: encoder.flatMap { Self.without(forbidden, $0) }.map { [$0] } ?? [], paths: paths,
            record: verifier.record, warnings: catalogue.warnings)
    }

    /// An encoder without the depths that a quirk forbids; nil when none is left.
    private static func without(_ depths: Set<Int>, _ encoder: EncoderDescription) -> EncoderDescription? {
        guard !depths.isEmpty else { return encoder }
        var encoder = encoder
        encoder.bitDepths.removeAll { depths.contains($0) }
        return encoder.bitDepths.isEmpty ? nil : encoder
    }
}
