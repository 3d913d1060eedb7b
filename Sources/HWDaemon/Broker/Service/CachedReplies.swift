// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire

/// Encoded replies that are the same until a probe finds something new.
///
/// Encoding is what costs most in a call that reads what is known already.
struct CachedReplies {
    private var probe = Cached<ProbeSnapshot>()
    private var encoders = Cached<[EncoderDescription]>()

    /// The reply to `Probe`.
    mutating func probe(_ snapshot: ProbeSnapshot) throws(SessionError) -> [UInt8] {
        try probe.bytes(of: snapshot) { (snapshot) throws(SessionError) in try VarlinkReply.encode(snapshot) }
    }

    /// The reply to `ListEncoders`.
    mutating func encoders(_ snapshot: ProbeSnapshot) throws(SessionError) -> [UInt8] {
        try encoders.bytes(of: snapshot.encoders) { (encoders) throws(SessionError) in
            try VarlinkReply.encode(ListEncoders.Reply(encoders: encoders))
        }
    }

    /// The latest value and its encoding.
    private struct Cached<Value: Equatable> {
        private var value: Value?
        private var bytes: [UInt8] = []

        mutating func bytes(
            of new: Value, _ encode: (Value) throws(SessionError) -> [UInt8]
        ) throws(SessionError) -> [UInt8] {
            guard new != value else { return bytes }
            bytes = try encode(new)
            value = new
            return bytes
        }
    }
}

extension VarlinkReply {
    /// Encodes a reply whose values all have a JSON form.
    static func constant(_ parameters: some Encodable) -> [UInt8] {
        do throws(SessionError) { return try encode(parameters) } catch {
            preconditionFailure("a constant reply has no JSON form: \(error.reason)")
        }
    }
}
