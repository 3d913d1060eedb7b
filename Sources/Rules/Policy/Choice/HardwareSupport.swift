// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether hardware encodes or decodes a stream, by the rules that choose for sessions.
public struct HardwareSupport: Hashable, Sendable {
    /// The encoder or decoder that a session that requires hardware would use; nil where there is none.
    ///
    /// Of a codec that sessions do not decode, the decoder for apps that use the driver themselves.
    public private(set) var codecID: String?
    /// Why there is none, or why no session uses it.
    public private(set) var reason: String?

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
        guard codec == CompressionRequest.codec else {
            self.init(nil, "sessions encode \(CompressionRequest.codec), not \(codec)")
            return
        }
        self.init { () throws(SessionError) in
            let choice = try EncoderPolicy.choose(request, snapshot: snapshot, failures: failures)
            return (choice.encoder.id, choice.fallbackReason)
        }
    }

    /// The answer for a decompression session, or about a codec that sessions do not decode.
    ///
    /// - Parameters:
    ///   - codec: a codec of the catalogue's paths.
    ///   - size: nil for any size.
    public init(
        decoding codec: String, bitDepth: Int, size: PictureSize?, snapshot: ProbeSnapshot, failures: [CodecFailure]
    ) {
        let isForSessions = codec == CompressionRequest.codec
        self.init { () throws(SessionError) in
            var request = try DecoderPolicy.Request(specification: [:], bitDepth: bitDepth, size: size)
            request.codec = codec
            // Sessions that failed decoded another codec.
            let choice = try DecoderPolicy.choose(
                request, snapshot: snapshot, failures: isForSessions ? failures : [])
            return (choice.decoder.id, choice.fallbackReason)
        }
        if codecID != nil, !isForSessions {
            reason =
                "sessions decode \(CompressionRequest.codec), not \(codec); apps can use the VA-API driver themselves"
        }
    }

    private init(_ codecID: String?, _ reason: String?) {
        self.codecID = codecID
        self.reason = reason
    }

    /// A choice without a reason for a fallback is hardware.
    private init(_ choose: () throws(SessionError) -> (id: String, fallbackReason: String?)) {
        do throws(SessionError) {
            let choice = try choose()
            (codecID, reason) = (choice.fallbackReason == nil ? choice.id : nil, choice.fallbackReason)
        } catch {
            (codecID, reason) = (nil, error.reason)
        }
    }
}
