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
            case Probe.method: try probes.probe(call, connection)
            case ListEncoders.method: probes.listEncoders(connection)
            case ListDecoders.method: probes.listDecoders(connection)
            case IsHardwareEncodeSupported.method: try probes.isEncodeSupported(call, connection)
            case IsHardwareDecodeSupported.method: try probes.isDecodeSupported(call, connection)
            case IsStillEncodeSupported.method: try probes.isStillEncodeSupported(call, connection)
            case GetSupportedProperties.method: try probes.supportedProperties(call, connection)
            case GetSessionResult.method: try sessions.result(call, connection)
            case ListSessions.method:
                connection.reply(with: ListSessions.Reply(sessions: sessions.list(for: connection.peer.uid)))
            case GetFeatures.method: connection.reply(ProtocolFeatures.encodedReply)
            case ListEffects.method: connection.reply(Self.effectsReply)
            case GetMetrics.method:
                connection.reply(with: GetMetrics.Reply(metrics: context.metrics.text(present)))
            default:
                guard let kind = SessionKind(createMethod: call.method) else { throw Self.unknown(call.method) }
                try supervisor.create(kind, call, connection)
            }
        } catch {
            connection.reply(error)
        }
    }

    private static let effectsReply = VarlinkReply.constant(
        ListEffects.Reply(effects: EffectTable.rows.map { EffectInfo($0, .call) }))

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
        var present = sessions.present
        present.waiting = admission.waitingCount
        (present.connections, present.refusedConnections) = connectionCounts
        return present
    }
}
