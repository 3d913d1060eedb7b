// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEIF

/// An image sequence that is written in one piece.
public struct SequenceContents: Sendable {
    /// The pictures, which one session coded.
    public var pictures: CodedStill
    /// Straight alpha of the same size; nil if there is none.
    public var alpha: CodedStill?
    /// Ticks per second.
    public var timeScale: UInt32
    /// How long each picture is shown, in ticks.
    public var durations: [UInt32]
    /// The picture that readers of still pictures show, by its index.
    public var cover = 0

    public init(_ pictures: CodedStill, timeScale: UInt32, durations: [UInt32]) {
        (self.pictures, self.timeScale, self.durations) = (pictures, timeScale, durations)
    }

    /// Writes the file.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unsupported` for what an image sequence cannot hold; `cannotCreate`, `io`.
    public func write(to path: String, inputs: [String]) throws(MediaError) -> Int {
        var file = SequenceFile(pictures.picture, timeScale: timeScale, durations: durations)
        (file.alpha, file.cover) = (alpha?.picture, cover)
        let bytes: [UInt8]
        do throws(HEIFError) {
            bytes = try SequenceLayout(file).file(pictures.tiles, alpha: alpha?.tiles ?? [])
        } catch { throw MediaError(error, path) }
        try WholeFile.write(bytes, to: path, inputs: inputs)
        return bytes.count
    }
}
