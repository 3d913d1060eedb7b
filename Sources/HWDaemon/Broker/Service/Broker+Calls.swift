// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// Dispatches Varlink calls. Each call gets one reply, at once or later.
extension Broker {
    /// Handles a call so that it is replied to exactly once.
    func dispatch(_ call: VarlinkCall, from connection: ClientConnection) {
        logger.debug(
            "call",
            metadata: [
                "method": "\(call.method.printable(maxBytes: 128))", "uid": "\(connection.peer.uid)",
            ])
        do throws(VarlinkError) {
            switch call.method {
            case "\(ServiceInterface.name).GetInfo":
                connection.reply(ServiceInterface.infoReply)
            case "\(ServiceInterface.name).GetInterfaceDescription":
                let name = try call.checkedParameters(ServiceInterface.DescriptionCall.self).interface
                guard let reply = ServiceInterface.descriptionReplies[name] else {
                    throw .interfaceNotFound(name)
                }
                connection.reply(reply)
            case Probe.method: try probe(call, connection)
            case ListEncoders.method:
                prober.whenKnown { [weak self] snapshot in
                    self?.reply(on: connection) { (replies) throws(SessionError) in try replies.encoders(snapshot) }
                }
            case ListDecoders.method: listDecoders(connection)
            case IsHardwareEncodeSupported.method: try isEncodeSupported(call, connection)
            case IsHardwareDecodeSupported.method: try isDecodeSupported(call, connection)
            case IsStillEncodeSupported.method: try isStillEncodeSupported(call, connection)
            case GetSupportedProperties.method: try supportedProperties(call, connection)
            case GetSessionResult.method: try result(call, connection)
            case ListSessions.method: list(connection)
            case GetFeatures.method: connection.reply(ProtocolFeatures.encodedReply)
            case GetMetrics.method: connection.reply(with: GetMetrics.Reply(metrics: metrics.text(present)))
            default:
                guard let kind = SessionKind(createMethod: call.method) else { throw Self.unknown(call.method) }
                try create(kind, call, connection)
            }
        } catch {
            connection.reply(error)
        }
    }

    /// Sends a cached reply.
    func reply(
        on connection: ClientConnection, _ encode: (inout CachedReplies) throws(SessionError) -> [UInt8]
    ) {
        do throws(SessionError) {
            connection.reply(try encode(&replies))
        } catch {
            connection.reply(VarlinkError(error))
        }
    }

    private func supportedProperties(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let codecID = try call.checkedParameters(GetSupportedProperties.Parameters.self).codecID
        prober.whenKnown { snapshot in
            do throws(SessionError) {
                connection.reply(try SupportedProperties.encodedReply(codecID: codecID, snapshot))
            } catch {
                connection.reply(VarlinkError(error))
            }
        }
    }

    /// The error for a method that is not implemented, by the reason.
    private static func unknown(_ method: String) -> VarlinkError {
        guard let dot = method.lastIndex(of: ".") else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        if ServiceInterface.definition(of: interface) == nil { return .interfaceNotFound(interface) }
        return ServiceInterface.defines(method, in: interface)
            ? .methodNotImplemented(method) : .methodNotFound(method)
    }

    /// The metrics' values at this moment.
    private var present: Metrics.Present {
        Metrics.Present(
            now: .now, running: registry.running.count, waiting: queue.entries.count, connections: connectionCount,
            work: workers.values.map { $0.workSoFar() } + adopted.values.map(\.work), limits: registry.limits,
            memory: (
                granted: registry.running.values.reduce(0) { $0 &+ $1.memory },
                used: workers.values.reduce(0) { $0 &+ $1.memoryUsed }
                    &+ adopted.values.reduce(0) { $0 &+ $1.memoryUsed }
            ),
            refusedConnections: listener?.refusedCount ?? 0)
    }
}
