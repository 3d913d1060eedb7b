// SPDX-License-Identifier: GPL-2.0-or-later
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Checks of encoders' output")
struct OutputChecksTests {
    @Test func noSampleIsExpectedOfASessionWithoutAProcess() throws {
        let parts = try BrokerParts()
        let checks = OutputChecks(parts.context, parts.table)
        let sample = OutputSample(
            width: 64, height: 64, rowStep: 1, record: "", half: 0, units: [], lumas: [], continues: false,
            isLast: true, onlyReports: false)
        #expect(!checks.check(sample, of: "unknown"))
        var session = HandedSession(SessionRegistry.Running.small("a", uid: 1))
        session.running.usingHardware = true
        _ = parts.table.adopt(session)
        checks.start(for: "a")
        #expect(!checks.check(sample, of: "a"))
        checks.forget("a")
    }
}
