// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata

extension LibAVSource {
    /// Counts what libav logged since the last call.
    func countLoggedErrors() {
        let (count, first) = demuxer.tally.take()
        guard count > 0 else { return }
        countError(first ?? "damaged", at: clock.last)
        report.errors += count - 1
    }

    /// Counts a call that failed, unless libav logged it and it is counted already.
    func countFailure(_ code: Int32, at pts: Int64?) {
        let before = report.errors
        countLoggedErrors()
        if report.errors == before { countError(MediaError.text(ofLibAV: code), at: pts) }
    }

    func countError(_ reason: String, at pts: Int64?) {
        report.errors += 1
        guard report.firstError == nil else { return }
        let position = clock.seconds(pts).map { " near \($0) s" } ?? ""
        report.firstError = "frame \(report.frames)\(position): \(reason)"
    }
}
