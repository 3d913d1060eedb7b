// SPDX-License-Identifier: MIT
internal import HWDTransport

/// Runs a call that may block on a thread of its own, because threads of Swift's cooperative pool must not block.
///
/// The call runs to its end even if the task is canceled; its own timeout bounds it.
func withoutBlocking<Value>(
    _ call: @escaping @Sendable () throws(ClientError) -> sending Value
) async throws(ClientError) -> sending Value {
    let result: Result<Value, ClientError> = await withCheckedContinuation { continuation in
        do throws(SystemError) {
            _ = try Thread.spawn(name: "hwclient-call") {
                do throws(ClientError) {
                    continuation.resume(returning: .success(try call()))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        } catch {
            continuation.resume(returning: .failure(ClientError(error, whileDoing: "no thread can be started")))
        }
    }
    return try result.get()
}
