// SPDX-License-Identifier: MIT
public import HWDModel

/// A received method call, which is parsed once: its parameters are decoded when the method is known (varlink.org, "Method Call").
public struct VarlinkCall {
    public let method: String
    /// Whether the caller expects no reply.
    public let oneway: Bool
    /// Whether the caller accepts more than one reply.
    public let more: Bool
    /// Whether the connection changes its protocol after the reply.
    public let upgrade: Bool
    /// The whole JSON text.
    public let bytes: [UInt8]
    private let parameters: JSON.Part?

    private struct Envelope: Decodable {
        var method: String
        var oneway: Bool?
        var more: Bool?
        var upgrade: Bool?
        var parameters: JSON.Part?

        enum CodingKeys: String, CodingKey { case method, oneway, more, upgrade, parameters }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            method = try container.decode(String.self, forKey: .method)
            oneway = try container.decodeIfPresent(Bool.self, forKey: .oneway)
            more = try container.decodeIfPresent(Bool.self, forKey: .more)
            upgrade = try container.decodeIfPresent(Bool.self, forKey: .upgrade)
            parameters = try JSON.Part(.parameters, of: container)
        }
    }

    /// Parses a call; `bytes` is the JSON text without its NUL.
    public init(decoding bytes: [UInt8]) throws(SessionError) {
        let envelope = try JSON.decode(Envelope.self, from: bytes)
        method = envelope.method
        oneway = envelope.oneway ?? false
        more = envelope.more ?? false
        upgrade = envelope.upgrade ?? false
        parameters = envelope.parameters
        self.bytes = bytes
    }

    private struct Checked<P: Decodable>: Decodable {
        var value: P

        init(from decoder: any Decoder) throws {
            if let type = P.self as? any ClosedParameters.Type { try type.memberNames.check(decoder) }
            value = try P(from: decoder)
        }
    }

    /// Decodes the parameters; a call without any counts as `{}`.
    ///
    /// - Throws: `org.varlink.service.InvalidParameter`, naming the field.
    public func checkedParameters<P: Decodable>(_ type: P.Type) throws(VarlinkError) -> P {
        do throws(JSON.Fault) {
            guard let parameters else { return try JSON.value(type, from: Array("{}".utf8)) }
            return try parameters.value(Checked<P>.self).value
        } catch {
            let prefix = "parameters."
            throw .invalidParameter(
                error.field.hasPrefix(prefix) ? String(error.field.dropFirst(prefix.count)) : error.field)
        }
    }

    private struct Outgoing<P: Encodable>: Encodable {
        var method: String
        var parameters: P
        var upgrade: Bool?
    }

    /// Encodes a call as JSON text, without the NUL that ends it on the wire.
    public static func encode(
        method: String, parameters: some Encodable, upgrade: Bool = false
    ) throws(SessionError) -> [UInt8] {
        try JSON.encode(Outgoing(method: method, parameters: parameters, upgrade: upgrade ? true : nil))
    }
}

/// No parameters: `{}`.
public struct Empty: Codable, Sendable {
    public init() {}
}

/// An error reply (varlink.org, "Errors").
public struct VarlinkError: Error, Sendable {
    /// The full name, such as `org.hwdaemon.Parameter`.
    public let name: String
    public let parameters: [String: PropertyValue]

    public init(_ name: String, _ parameters: [String: PropertyValue] = [:]) {
        self.name = name
        self.parameters = parameters
    }

    /// A session's error, named as in VideoToolbox.
    public init(_ error: SessionError) {
        self.init(
            "\(Interface.name).\(error.status.name)",
            ["code": .int(Int64(error.status.rawValue)), "reason": .string(error.reason)])
    }

    /// `org.varlink.service.MethodNotFound`.
    public static func methodNotFound(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotFound", ["method": .string(method)])
    }

    /// `org.varlink.service.MethodNotImplemented`: the interface defines the method, this daemon lacks it.
    public static func methodNotImplemented(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotImplemented", ["method": .string(method)])
    }

    /// `org.varlink.service.InterfaceNotFound`.
    public static func interfaceNotFound(_ interface: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InterfaceNotFound", ["interface": .string(interface)])
    }

    /// `org.varlink.service.InvalidParameter`.
    public static func invalidParameter(_ parameter: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InvalidParameter", ["parameter": .string(parameter)])
    }

    /// The session error that it stands for; errors of other interfaces become `Parameter`.
    public var sessionError: SessionError {
        if case .int(let code)? = parameters["code"], case .string(let reason)? = parameters["reason"] {
            return SessionError(Status(rawValue: Int32(truncatingIfNeeded: code)), reason)
        }
        let detail = parameters.isEmpty ? "" : ": " + PropertyValue.object(parameters).description
        return SessionError(.parameter, "the daemon replied \(name)\(detail)")
    }
}

/// Encoding and decoding of replies (varlink.org, "Method Reply").
public enum VarlinkReply {
    private struct Good<P: Encodable>: Encodable { var parameters: P }
    private struct Bad: Encodable {
        var error: String
        var parameters: [String: PropertyValue]
    }
    private struct Incoming<P: Decodable>: Decodable { var parameters: P? }
    private struct IncomingError: Decodable {
        var error: String?
        var parameters: [String: PropertyValue]?
    }

    /// Encodes a successful reply as JSON text, without its NUL.
    public static func encode(_ parameters: some Encodable) throws(SessionError) -> [UInt8] {
        try JSON.encode(Good(parameters: parameters))
    }

    /// Encodes an error reply as JSON text, without its NUL.
    public static func encode(_ error: VarlinkError) -> [UInt8] {
        // Parameters of errors are strings and integers, which always have a JSON form.
        (try? JSON.encode(Bad(error: error.name, parameters: error.parameters))) ?? []
    }

    /// Whether the JSON text is an error reply.
    public static func isError(_ bytes: [UInt8]) -> Bool {
        (try? JSON.decode(IncomingError.self, from: bytes))?.error != nil
    }

    /// Decodes a reply's parameters; `bytes` is the JSON text without its NUL.
    ///
    /// - Throws: the session error that an error reply stands for; `Parameter` for text that is no reply;
    ///   `isError` distinguishes the two.
    public static func decode<P: Decodable>(_ type: P.Type, from bytes: [UInt8]) throws(SessionError) -> P {
        let envelope = try? JSON.decode(IncomingError.self, from: bytes)
        if let envelope, let error = envelope.error {
            throw VarlinkError(error, envelope.parameters ?? [:]).sessionError
        }
        if let parameters = try JSON.decode(Incoming<P>.self, from: bytes).parameters { return parameters }
        return try JSON.decode(type, from: Array("{}".utf8))
    }
}
