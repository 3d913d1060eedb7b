// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDEdits
public import HWDLibAVReading
public import HWDMetadata

/// What an output of a format would get of a source; nothing is written.
public struct OutputPlan: Sendable {
    /// The contents of the source that the output would lack, with reasons, one line each.
    public let notes: [String]
    /// The sound and text that would be converted, one line each.
    public let conversions: [String]

    /// Plans an output.
    /// - Throws: `unsupported` where sound would be lost.
    public init(_ format: OutputFormat, source: MediaReader, edits: FileEdits = FileEdits()) throws(MediaError) {
        guard !format.isByteStream else {
            (notes, conversions) = (MediaWriter.notesOfByteStream(source, edits), [])
            return
        }
        // A writer writes nothing before its track is known.
        let writer = try ContainerWriter(.standardOutput, format, source: source, edits: edits)
        (notes, conversions) = (writer.notes, writer.conversions)
    }
}
