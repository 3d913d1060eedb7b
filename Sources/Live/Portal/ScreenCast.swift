// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDSystemd
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// The portal's interface org.freedesktop.portal.ScreenCast, and a session of it, which ends with this object's connection.
///
/// For one thread at a time.
final class ScreenCast: @unchecked Sendable {
    /// What is shared; the value is the portal's bit for it.
    enum Kind: UInt32, CaseIterable {
        case screen = 1
        case window = 2

        var name: String { "\(self)" }
    }

    /// What a person has chosen.
    struct Stream {
        /// PipeWire's id of its node.
        var node: UInt32
        /// A connection to PipeWire in which the node is, for the caller to close.
        var file: Int32
        /// What has the same chosen again without a dialog, once; nil where the portal gives nothing.
        var restoreToken: String?
    }

    /// What signals change.
    private final class State {
        /// Whether the portal's process has ended.
        var isGone = false
        /// Whether the portal has closed the session.
        var isClosed = false
        var response: Result<PortalResponse, BusError>?
    }

    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.portal.ScreenCast"
    /// How long the portal may take for what no person decides.
    private static let limit = Duration.seconds(10)

    private let bus: Bus
    /// The unique name of the portal's process, so that no other process can answer for it.
    private let portal: String
    /// This connection in the paths of its requests.
    private let sender: String
    private let offer: ScreenCastOffer
    private let state = State()
    private var slots: [BusSlot] = []
    private var requests = 0

    /// Connects to the portal.
    /// - Throws: `unavailable` where there is none, or none that shares anything.
    init() throws(CommandFailure) {
        do throws(BusError) { bus = try Bus() } catch {
            throw CommandFailure(
                .unavailable, "screens and windows are shared by the desktop's portal, and there is no session bus")
        }
        do throws(BusError) {
            let call = try bus.call(
                "GetAll", of: "org.freedesktop.DBus.Properties", at: Self.path, "org.freedesktop.portal.Desktop")
            try call.append(.text(Self.interface))
            let reply = try bus.send(call, until: .now + Self.limit)
            offer = try ScreenCastOffer(reply)
            guard let portal = reply.sender, let name = bus.uniqueName else { throw .malformed }
            (self.portal, sender) = (portal, String(name.dropFirst().replacing(".", with: "_")))
            slots.append(try bus.watchEnd(of: portal) { [state] in state.isGone = true })
        } catch { throw CommandFailure(portal: error) }
    }

    /// The kinds of cursors of what is shared, for `--list`.
    /// - Throws: `unavailable` for a kind that the portal does not share.
    func cursors(_ kind: Kind) throws(CommandFailure) -> [CaptureArguments.Cursor] {
        guard offer.kinds & kind.rawValue != 0 else {
            throw CommandFailure(.unavailable, "the desktop's portal shares no \(kind.name)s")
        }
        return offer.cursors
    }

    /// Has a person choose a screen or a window.
    ///
    /// - Parameters:
    ///   - cursor: nil for one that is in the picture where that is offered.
    ///   - token: of an earlier choice, for the same without a dialog.
    /// - Throws: `noPermission` where the person refuses; a failure with the exit code of another cause.
    func open(
        _ kind: Kind, cursor: CaptureArguments.Cursor?, token: String?
    ) throws(CommandFailure) -> Stream {
        _ = try cursors(kind)
        var options: [(key: String, value: BusValue)] = [
            ("types", .number(kind.rawValue)), ("multiple", .flag(false)),
        ]
        if let mode = try offer.mode(cursor) { options.append(("cursor_mode", .number(mode))) }
        if offer.canRestore {
            // Until the person revokes it.
            options.append(("persist_mode", .number(2)))
            if let token { options.append(("restore_token", .text(token))) }
        }
        let session: String
        let started: PortalResponse
        do throws(BusError) {
            session = try createSession()
            let selected = try request("SelectSources", [.path(session)], options)
            guard selected.code == 0 else { throw .refused(name: "", text: "there is no \(kind.name) to choose") }
            if token == nil { Console.note("choose a \(kind.name) in the desktop's dialog; Ctrl-C ends this") }
            // The second argument is a parent window.
            started = try request("Start", [.path(session), .text("")], [], isDialog: true)
        } catch { throw CommandFailure(portal: error) }
        switch started.code {
        case 0: break
        case 1: throw CommandFailure(.noPermission, "sharing a \(kind.name) was refused in the desktop's dialog")
        default: throw CommandFailure(.unavailable, "the desktop's portal could not share a \(kind.name)")
        }
        do throws(BusError) {
            guard let node = started.nodes?.first, node != .max else { throw .malformed }
            return Stream(node: node, file: try openRemote(session), restoreToken: started.restoreToken)
        } catch { throw CommandFailure(portal: error) }
    }

    /// - Returns: the path of the session's object.
    private func createSession() throws(BusError) -> String {
        let created = try request("CreateSession", [], [("session_handle_token", .text("hwctl"))])
        guard created.code == 0 else { throw .refused(name: "", text: "it creates no session") }
        guard let session = created.session, sd_bus_object_path_is_valid(session) > 0 else { throw .malformed }
        slots.append(
            try bus.watch("Closed", of: "org.freedesktop.portal.Session", at: session, portal) { [state] _ in
                state.isClosed = true
            })
        return session
    }

    /// - Returns: a connection to PipeWire, for the caller to close.
    private func openRemote(_ session: String) throws(BusError) -> Int32 {
        let call = try bus.call("OpenPipeWireRemote", of: Self.interface, at: Self.path, portal)
        try call.append(.path(session))
        try call.append(.options([]))
        let reply = try bus.send(call, until: .now + Self.limit)
        let number = try reply.readFile()
        // The message closes its own.
        do throws(SystemError) { return try OwnedFD.duplicate(number).take() } catch { throw .system(error.errno) }
    }

    /// Calls a method that makes a request, and waits for the request's response.
    /// - Parameter isDialog: whether a person answers, who may take as long as they like.
    private func request(
        _ member: String, _ arguments: [BusValue], _ options: [(key: String, value: BusValue)],
        isDialog: Bool = false
    ) throws(BusError) -> PortalResponse {
        requests += 1
        let token = "hwctl\(requests)"
        let path = "/org/freedesktop/portal/desktop/request/\(sender)/\(token)"
        state.response = nil
        // Before the call, because the response may come before its reply.
        let slot = try bus.watch("Response", of: "org.freedesktop.portal.Request", at: path, portal) { [state] in
            guard state.response == nil else { return }
            do throws(BusError) { state.response = .success(try PortalResponse($0)) } catch {
                state.response = .failure(error)
            }
        }
        defer { withExtendedLifetime(slot) {} }
        let call = try bus.call(member, of: Self.interface, at: Self.path, portal)
        for argument in arguments { try call.append(argument) }
        try call.append(.options([("handle_token", .text(token))] + options))
        let deadline = MonotonicTime.now + Self.limit
        let reply = try bus.send(call, until: deadline)
        guard try reply.readText("o") == path else { throw .malformed }
        try bus.run(until: isDialog ? nil : deadline) {
            state.response != nil || state.isGone || state.isClosed
        }
        guard let response = state.response else { throw .gone }
        return try response.get()
    }

    /// Waits until the portal closes the session.
    /// - Returns: false where `wake` ends the wait, or the connection ends, which ends no stream.
    func waitForClose(wake: EventFD) -> Bool {
        do throws(BusError) {
            var isWoken = false
            try bus.run(until: nil, wake: wake.fileDescriptor) {
                isWoken = isWoken || wake.clear()
                return state.isClosed || isWoken
            }
        } catch { return false }
        return state.isClosed
    }
}
