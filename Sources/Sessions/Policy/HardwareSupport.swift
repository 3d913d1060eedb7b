// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether a session that requires hardware would get it, by the rules that choose for sessions.
public struct HardwareSupport: Hashable, Sendable {
    /// The encoder or decoder that the session would use; nil where there is none.
    public let codecID: String?
    /// Why there is none.
    public let reason: String?

    /// The answer for a compression session.
    ///
    /// - Parameters:
    ///   - codec: a name that `CreateCompressionSession` takes.
    ///   - size: nil for any size.
    public init(
        encoding codec: String, bitDepth: Int, size: PictureSize?, snapshot: ProbeSnapshot, failures: [CodecFailure]
    ) {
        var request = EncoderPolicy.Request(bitDepth: bitDepth)
        request.size = size
        self.init("encode", codec) { () throws(SessionError) in
            let choice = try EncoderPolicy.choose(request, snapshot: snapshot, failures: failures)
            return (choice.encoder.id, choice.fallbackReason)
        }
    }

    /// The answer for a decompression session.
    ///
    /// - Parameters:
    ///   - codec: a name that `CreateDecompressionSession` takes.
    ///   - size: nil for any size.
    public init(
        decoding codec: String, bitDepth: Int, size: PictureSize?, snapshot: ProbeSnapshot, failures: [CodecFailure]
    ) {
        self.init("decode", codec) { () throws(SessionError) in
            let request = try DecoderPolicy.Request(specification: [:], bitDepth: bitDepth, size: size)
            let choice = try DecoderPolicy.choose(request, snapshot: snapshot, failures: failures)
            return (choice.decoder.id, choice.fallbackReason)
        }
    }

    /// A choice without a reason for a fallback is hardware.
    private init(
        _ operation: String, _ codec: String,
        _ choose: () throws(SessionError) -> (id: String, fallbackReason: String?)
    ) {
        guard codec == "hevc" else {
            (codecID, reason) = (nil, "sessions \(operation) hevc, not \(codec)")
            return
        }
        do throws(SessionError) {
            let choice = try choose()
            (codecID, reason) = (choice.fallbackReason == nil ? choice.id : nil, choice.fallbackReason)
        } catch {
            (codecID, reason) = (nil, error.reason)
        }
    }
}
