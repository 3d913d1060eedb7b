// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// Every method but those of sessions. Each call gets one reply, now or later.
extension Broker {
    /// Sees to a call's answer.
    func dispatch(_ call: VarlinkCall, from connection: ClientConnection) {
        logger.debug(
            "call", metadata: ["method": "\(call.method.prefix(128))", "uid": "\(connection.peer.uid)"])
        do throws(VarlinkError) {
            switch call.method {
            case "\(ServiceInterface.name).GetInfo":
                connection.reply(with: ServiceInterface.info)
            case "\(ServiceInterface.name).GetInterfaceDescription":
                let name = try call.checkedParameters(ServiceInterface.DescriptionCall.self).interface
                guard let text = ServiceInterface.definition(of: name) else {
                    throw .interfaceNotFound(name)
                }
                connection.reply(with: ServiceInterface.Description(description: text))
            case Probe.method: try probe(call, connection)
            case ListEncoders.method:
                prober.whenKnown { snapshot in
                    connection.reply(with: ListEncoders.Reply(encoders: snapshot.encoders))
                }
            case GetSupportedProperties.method: try supportedProperties(call, connection)
            case CreateCompressionSession.method, CreateDecompressionSession.method, CreateTransferSession.method:
                try create(call, connection)
            case GetSessionResult.method: try result(call, connection)
            case ListSessions.method: list(connection)
            case GetMetrics.method: connection.reply(with: GetMetrics.Reply(metrics: metrics.text(present)))
            default: throw Self.unknown(call.method)
            }
        } catch {
            connection.reply(error)
        }
    }

    private func probe(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try call.checkedParameters(Probe.Parameters.self)
        guard parameters.device.map({ Devices.mayProbe($0, nodes: prober.nodes) }) ?? true else {
            throw .invalidParameter("device")
        }
        guard !isStopping else { throw VarlinkError(Refusal.shuttingDown.error) }
        let verification: ProbeRequest.Verification =
            switch parameters.verify {
            case nil: .unlessKnown
            case true?: .always
            case false?: .never
            }
        look(device: parameters.device, verification) { connection.reply(with: $0) }
    }

    private func supportedProperties(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let codecID = try call.checkedParameters(GetSupportedProperties.Parameters.self).codecID
        prober.whenKnown { snapshot in
            do throws(SessionError) {
                connection.reply(with: try SupportedProperties.answer(codecID, snapshot))
            } catch {
                connection.reply(VarlinkError(error))
            }
        }
    }

    /// Why there is no such method.
    private static func unknown(_ method: String) -> VarlinkError {
        guard let dot = method.lastIndex(of: ".") else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        if ServiceInterface.definition(of: interface) == nil { return .interfaceNotFound(interface) }
        return ServiceInterface.defines(method, in: interface)
            ? .methodNotImplemented(method) : .methodNotFound(method)
    }

    /// What the metrics tell of this moment.
    private var present: Metrics.Present {
        Metrics.Present(
            now: .now, running: workers.count, connections: connectionCount,
            work: workers.values.map { $0.workSoFar() }, limits: registry.limits,
            refusedConnections: listener?.refusedCount ?? 0)
    }
}
