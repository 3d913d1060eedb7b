// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Writes files in a single call; each gets its name when it is complete.
public enum WholeFile {
    /// Writes bytes.
    ///
    /// - Parameter inputs: files that must not be replaced.
    /// - Throws: `cannotCreate`, `io`; `usage` for a path that is one of `inputs`.
    public static func write(_ bytes: [UInt8], to path: String, inputs: [String] = []) throws(MediaError) {
        let sink = ByteSink.file(try AtomicFile(path: path, inputs: inputs))
        try sink.write(bytes)
        try sink.finish(sync: false)
    }

    /// Writes coded pictures as a byte stream (H.265 Annex B).
    ///
    /// - Parameters:
    ///   - pictures: access units whose NAL units have 4-byte lengths, and whether decoding can start there.
    ///   - record: the hvcC record (ISO/IEC 14496-15 8.3.3.1) with their parameter sets.
    /// - Throws: `usage` for a damaged record or access unit; `cannotCreate`, `io`.
    public static func write(
        _ pictures: [(bytes: [UInt8], isSync: Bool)], record: [UInt8], toAnnexB path: String, inputs: [String] = []
    ) throws(MediaError) {
        let parsed: DecoderConfigurationRecord
        do throws(BitstreamError) { parsed = try DecoderConfigurationRecord(bytes: record) } catch {
            throw MediaError(.usage, "the hvcC record is damaged: \(error.reason)")
        }
        var writer = AnnexBWriter(sink: .file(try AtomicFile(path: path, inputs: inputs)), record: parsed)
        for picture in pictures {
            let unit = picture.bytes.withUnsafeBytes { bytes -> Result<Void, MediaError> in
                do throws(MediaError) { return .success(try writer.write(bytes, isSync: picture.isSync)) } catch {
                    return .failure(error)
                }
            }
            try unit.get()
        }
        try writer.finish(sync: false)
    }
}
