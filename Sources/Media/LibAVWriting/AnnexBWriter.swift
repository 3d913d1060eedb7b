// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDMetadata

/// Writes length-prefixed access units as a byte stream (H.265 Annex B).
struct AnnexBWriter: Sendable {
    private let sink: ByteSink
    private var formatter: AccessUnitFormatter

    init(sink: ByteSink, record: DecoderConfigurationRecord) {
        self.sink = sink
        formatter = AccessUnitFormatter(hasStartCodes: true, record)
    }

    /// Changes the parameter sets from the next access unit on.
    mutating func change(to record: DecoderConfigurationRecord) { formatter.change(to: record) }

    /// Writes one access unit, with parameter sets before a sync one that has none.
    /// - Throws: `usage` for lengths that do not match the access unit; `io`.
    mutating func write(_ accessUnit: UnsafeRawBufferPointer, isSync: Bool) throws(MediaError) {
        try formatter.format(accessUnit, isSync: isSync)
        try sink.write(formatter.bytes)
    }

    func finish(sync: Bool) throws(MediaError) { try sink.finish(sync: sync) }

    func discard() { sink.discard() }
}
