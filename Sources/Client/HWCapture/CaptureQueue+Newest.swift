// SPDX-License-Identifier: MIT
internal import HWClient
internal import Synchronization

extension CaptureQueue {
    /// The newest frame that is recorded, whose slot is held once more, and its time of CLOCK_MONOTONIC in nanoseconds; nil
    /// before the first.
    package func holdNewest() -> (frame: Frame, taken: UInt64)? {
        newest.withLock { newest in
            if let newest { newest.frame.stage.pool.hold(newest.frame.slot) }
            return newest
        }
    }

    func keepNewest(_ frame: Frame, taken: UInt64) {
        guard keepsNewest else { return }
        newest.withLock { newest in
            frame.stage.pool.hold(frame.slot)
            if let earlier = newest?.frame { earlier.stage.pool.release(earlier.slot) }
            newest = (frame, taken)
        }
    }
}
