// SPDX-License-Identifier: MIT
import HEVC
import Transport

/// Writes what a compression session returns as an Annex B stream.
public final class Recording {
    private let file: OutputFile
    /// Pictures written.
    public private(set) var pictureCount = 0

    /// Writes to a file.
    public init(_ file: OutputFile) { self.file = file }

    /// Writes the parameter sets of an hvcC record.
    public func begin(_ record: [UInt8]) { file.write(AnnexB.parameterSets(of: record)) }

    /// Writes a coded picture.
    public func append(_ sample: UnsafeRawBufferPointer) {
        file.write(AnnexB.accessUnit(sample))
        pictureCount += 1
    }
}
