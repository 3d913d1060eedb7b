// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPipeWire
internal import Glibc
package import HWDControlCommands
internal import HWDModel

/// A node of PipeWire that sends video.
package struct PipeWireNode: Hashable, Sendable {
    package let id: UInt32
    /// Unique as long as the PipeWire runs, unlike `id`.
    package let serial: UInt64
    /// As other processes write them; they may hold anything.
    package let name: String
    package let description: String

    /// The nodes that there are.
    /// - Throws: `unavailable` without a PipeWire.
    package static func all() throws(CommandFailure) -> [PipeWireNode] {
        final class List { var nodes: [PipeWireNode] = [] }
        let list = List()
        let result = withExtendedLifetime(list) {
            hwd_pw_video_list(
                { context, node in
                    guard let context, let node else { return }
                    let list = Unmanaged<List>.fromOpaque(context).takeUnretainedValue()
                    let name = node.pointee.name.map { String(cString: $0) } ?? ""
                    list.nodes.append(
                        PipeWireNode(
                            id: node.pointee.id, serial: node.pointee.serial, name: name,
                            description: node.pointee.description.map { String(cString: $0) } ?? name))
                }, Unmanaged.passUnretained(list).toOpaque())
        }
        guard result >= 0 else { throw Self.failure(result) }
        return list.nodes
    }

    /// The node that a person names: by its name, serial or id.
    /// - Parameter isByName: whether neither a serial nor an id is meant.
    /// - Throws: `noInput` where there is none.
    package static func named(_ text: String, isByName: Bool = false) throws(CommandFailure) -> PipeWireNode {
        let nodes = try all()
        if let node = nodes.first(where: { $0.name == text }) { return node }
        if !isByName,
            let node = nodes.first(where: { String($0.serial) == text })
                ?? nodes.first(where: { String($0.id) == text })
        {
            return node
        }
        throw CommandFailure(
            .noInput,
            nodes.isEmpty
                ? "there is no PipeWire node \(text): none sends video"
                : "there is no PipeWire node \(text); there are \(nodes.map(\.name).joined(separator: ", "))")
    }

    static func failure(_ result: Int32) -> CommandFailure {
        -result == EHOSTDOWN
            ? CommandFailure(.unavailable, "there is no PipeWire: it does not run for this user")
            : CommandFailure(.unavailable, "PipeWire: \(String(cString: strerror(-result)))")
    }
}
