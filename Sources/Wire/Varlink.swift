// SPDX-License-Identifier: MIT
public import HWDModel

/// A method call as it came over the wire, its parameters still undecoded (varlink.org, "Method Call").
public struct VarlinkCall: Sendable {
    /// The method's full name.
    public let method: String
    /// Whether the caller wants no reply.
    public let oneway: Bool
    /// Whether the caller takes more than one reply.
    public let more: Bool
    /// Whether the connection changes its protocol with the reply.
    public let upgrade: Bool
    /// The call as it came, for the one who decodes the parameters.
    public let bytes: [UInt8]

    private struct Envelope: Decodable {
        var method: String
        var oneway: Bool?
        var more: Bool?
        var upgrade: Bool?
    }

    /// Reads a call's envelope; `bytes` is the JSON text without its NUL.
    public init(decoding bytes: [UInt8]) throws(SessionError) {
        let envelope = try JSON.decode(Envelope.self, from: bytes)
        method = envelope.method
        oneway = envelope.oneway ?? false
        more = envelope.more ?? false
        upgrade = envelope.upgrade ?? false
        self.bytes = bytes
    }

    private struct Body<P: Decodable>: Decodable { var parameters: P? }

    /// The parameters as `type`; a call without any counts as `{}`.
    ///
    /// - Throws: `Parameter`, naming the field.
    public func parameters<P: Decodable>(_ type: P.Type) throws(SessionError) -> P {
        if let parameters = try JSON.decode(Body<P>.self, from: bytes).parameters { return parameters }
        return try JSON.decode(type, from: Array("{}".utf8))
    }

    /// The parameters as `type`, for the one who answers the caller.
    ///
    /// - Throws: `org.varlink.service.InvalidParameter`, naming the field.
    public func checkedParameters<P: Decodable>(_ type: P.Type) throws(VarlinkError) -> P {
        do throws(JSON.Fault) {
            if let parameters = try JSON.value(Body<P>.self, from: bytes).parameters { return parameters }
            return try JSON.value(type, from: Array("{}".utf8))
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

    /// The JSON text of a call, without the NUL that ends it on the wire.
    public static func encode(
        method: String, parameters: some Encodable, upgrade: Bool = false
    ) throws(SessionError) -> [UInt8] {
        try JSON.encode(Outgoing(method: method, parameters: parameters, upgrade: upgrade ? true : nil))
    }
}

/// No parameters: `{}`.
public struct Empty: Codable, Sendable {
    /// Makes it.
    public init() {}
}

/// A reply that is an error: its full name and its parameters.
public struct VarlinkError: Error, Sendable {
    /// The error's full name, `org.hwdaemon.Parameter` for one.
    public let name: String
    /// The error's parameters, by name.
    public let parameters: [String: PropertyValue]

    /// An error by its full name.
    public init(_ name: String, _ parameters: [String: PropertyValue] = [:]) {
        self.name = name
        self.parameters = parameters
    }

    /// A session's error under its VideoToolbox name.
    public init(_ error: SessionError) {
        self.init(
            "\(Interface.name).\(error.status.name)",
            ["code": .int(Int64(error.status.rawValue)), "reason": .string(error.reason)])
    }

    /// `org.varlink.service.MethodNotFound`.
    public static func methodNotFound(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotFound", ["method": .string(method)])
    }

    /// `org.varlink.service.MethodNotImplemented`: the interface has the method, this daemon does not.
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

    /// The error as a session's, whichever interface it came from.
    public var sessionError: SessionError {
        if case .int(let code)? = parameters["code"], case .string(let reason)? = parameters["reason"] {
            return SessionError(Status(rawValue: Int32(truncatingIfNeeded: code)), reason)
        }
        let detail = parameters.isEmpty ? "" : ": " + PropertyValue.object(parameters).description
        return SessionError(.parameter, "the daemon answered \(name)\(detail)")
    }
}

/// Replies (varlink.org, "Method Reply").
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

    /// The JSON text of a successful reply, without its NUL.
    public static func encode(_ parameters: some Encodable) throws(SessionError) -> [UInt8] {
        try JSON.encode(Good(parameters: parameters))
    }

    /// The JSON text of an error, without its NUL.
    public static func encode(_ error: VarlinkError) -> [UInt8] {
        // Parameters of errors are texts and integers, which always have a JSON form.
        (try? JSON.encode(Bad(error: error.name, parameters: error.parameters))) ?? []
    }

    /// The parameters of a reply; `bytes` is the JSON text without its NUL.
    ///
    /// - Throws: the session's error that the reply stands for.
    public static func decode<P: Decodable>(_ type: P.Type, from bytes: [UInt8]) throws(SessionError) -> P {
        let envelope = try? JSON.decode(IncomingError.self, from: bytes)
        if let envelope, let error = envelope.error {
            throw VarlinkError(error, envelope.parameters ?? [:]).sessionError
        }
        if let parameters = try JSON.decode(Incoming<P>.self, from: bytes).parameters { return parameters }
        return try JSON.decode(type, from: Array("{}".utf8))
    }
}
