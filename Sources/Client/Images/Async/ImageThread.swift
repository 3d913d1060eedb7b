// SPDX-License-Identifier: MIT
internal import HWDTransport
internal import Synchronization

/// Runs a call that blocks on a thread of its own, because threads of Swift's cooperative pool must not block.
///
/// - Parameter body: gets whether the caller's task was canceled, which it may ask at any time.
func withThread<Value: Sendable>(
    _ body: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws(ImageError) -> Value
) async throws(ImageError) -> Value {
    let flag = CancellationFlag()
    let result: Result<Value, ImageError> = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                _ = try Thread.spawn(name: "hwimages-call") {
                    continuation.resume(returning: Result { () throws(ImageError) in try body { flag.isSet } })
                }
            } catch {
                continuation.resume(returning: .failure(ImageError(.fault, "no thread can be started: \(error)")))
            }
        }
    } onCancel: {
        flag.set()
    }
    return try result.get()
}

/// Whether a task was canceled.
private final class CancellationFlag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}
