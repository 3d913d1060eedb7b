// SPDX-License-Identifier: GPL-2.0-or-later

/// The signal Response of a portal's request.
struct PortalResponse {
    /// 0 for success, 1 where the person cancelled, 2 for another failure.
    let code: UInt32
    private(set) var session: String?
    private(set) var restoreToken: String?
    /// PipeWire's ids of the nodes of all streams; nil where the response has no streams.
    private(set) var nodes: [UInt32]?

    /// The most streams that are read; one is asked for.
    private static let greatestCount = 64

    /// - Throws: `malformed` for what is not of the types that org.freedesktop.portal.Request and ScreenCast have.
    init(_ message: BusMessage) throws(BusError) {
        code = try message.readNumber()
        guard code == 0 else { return }
        var (session, token, nodes): (String?, String?, [UInt32]?)
        try message.readOptions { (key) throws(BusError) in
            switch key {
            case "session_handle": session = try message.readVariantText()
            case "restore_token": token = try message.readVariantText()
            case "streams": nodes = try Self.readNodes(message)
            default: try message.skip("v")
            }
        }
        (self.session, restoreToken, self.nodes) = (session, token, nodes)
    }

    private static func readNodes(_ message: BusMessage) throws(BusError) -> [UInt32] {
        var nodes: [UInt32] = []
        guard try message.enter("v", "a(ua{sv})"), try message.enter("a", "(ua{sv})") else { throw .malformed }
        while try message.enter("r", "ua{sv}") {
            nodes.append(try message.readNumber())
            try message.skip("a{sv}")
            try message.leave()
            guard nodes.count <= greatestCount else { throw .malformed }
        }
        try message.leave()
        try message.leave()
        return nodes
    }
}
