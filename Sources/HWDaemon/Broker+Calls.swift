// SPDX-License-Identifier: GPL-2.0-or-later
internal import Logging
internal import Model
internal import Transport
internal import Wire

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
            case CreateCompressionSession.method: try create(call, connection)
            case GetSessionResult.method: try result(call, connection)
            case ListSessions.method: list(connection)
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
        guard !isStopping else { throw VarlinkError(Self.stopping) }
        let verification: ProbeRequest.Verification =
            switch parameters.verify {
            case nil: .unlessKnown
            case true?: .always
            case false?: .never
            }
        prober.run(device: parameters.device, verification) { connection.reply(with: $0) }
    }

    /// Why there is no such method.
    private static func unknown(_ method: String) -> VarlinkError {
        guard let dot = method.lastIndex(of: ".") else { return .interfaceNotFound(method) }
        let interface = String(method[..<dot])
        if ServiceInterface.definition(of: interface) == nil { return .interfaceNotFound(interface) }
        return ServiceInterface.defines(method, in: interface)
            ? .methodNotImplemented(method) : .methodNotFound(method)
    }

    static let stopping = SessionError(.videoEncoderNotAvailableNow, "the daemon is shutting down")
}
