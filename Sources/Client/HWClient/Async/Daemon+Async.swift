// SPDX-License-Identifier: MIT
internal import HWDTransport
public import HWDWire

extension Daemon {
    /// Finds the daemon as the synchronous `find()` does, without blocking a thread of Swift's cooperative pool.
    public static func find() async throws(ClientError) -> Daemon {
        try await withoutBlocking { () throws(ClientError) in
            // The overload for synchronous code.
            let find: () throws(ClientError) -> Daemon = Daemon.find
            return try find()
        }
    }

    /// Calls a method as the synchronous `call` does, without blocking a thread of Swift's cooperative pool.
    public func call<M: ControlMethod & SendableMetatype>(
        _ method: M.Type, _ parameters: M.Parameters, timeout: Duration = .seconds(30)
    ) async throws(ClientError) -> M.Reply {
        try await withoutBlocking { () throws(ClientError) in
            try self.call(method, parameters, timeout: timeout)
        }
    }
}
