// SPDX-License-Identifier: MIT
internal import HWDTransport
public import HWDWire

extension Daemon {
    /// As the function of the same name, for use in a task: no thread of Swift's cooperative pool is blocked.
    public static func find() async throws(ClientError) -> Daemon {
        try await withoutBlocking { () throws(ClientError) in
            // The overload for synchronous code.
            let find: () throws(ClientError) -> Daemon = Daemon.find
            return try find()
        }
    }

    /// As the function of the same name, for use in a task: no thread of Swift's cooperative pool is blocked.
    public func call<M: ControlMethod & SendableMetatype>(
        _ method: M.Type, _ parameters: M.Parameters, timeout: Duration = .seconds(30)
    ) async throws(ClientError) -> M.Reply {
        try await withoutBlocking { () throws(ClientError) in
            let connection = try self.connect()
            return try Self.exchange(
                method, parameters, upgrade: false, on: connection.rawValue, deadline: MonotonicTime.now + timeout)
        }
    }
}
