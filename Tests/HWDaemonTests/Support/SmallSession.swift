// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport

@testable import HWDaemon

extension SessionRegistry.Running {
    /// A compression session with small pictures.
    static func small(
        _ id: String, uid: UInt32, created: MonotonicTime = MonotonicTime(nanoseconds: 1)
    ) -> SessionRegistry.Running {
        var facts = SessionFacts(.compression)
        (facts.codec, facts.pixelFormat) = ("hevc", "NV12")
        (facts.width, facts.height) = (64, 64)
        return SessionRegistry.Running(id: id, uid: uid, pid: 4711, facts: facts, created: created)
    }
}
