// SPDX-License-Identifier: MIT
internal import HWDHEIF

/// An image sequence that is written in one piece.
package struct SequenceContents: Sendable {
    /// The pictures, which one session coded.
    package var pictures: CodedStill
    /// Straight alpha of the same size; nil if there is none.
    package var alpha: CodedStill?
    /// Ticks per second.
    package var timeScale: UInt32
    /// How long each picture is shown, in ticks.
    package var durations: [UInt32]
    /// The picture that readers of still pictures show, by its index.
    package var cover = 0

    package init(_ pictures: CodedStill, timeScale: UInt32, durations: [UInt32]) {
        (self.pictures, self.timeScale, self.durations) = (pictures, timeScale, durations)
    }

    /// Writes the file.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unsupported` for what an image sequence cannot hold; `cannotCreate`, `io`.
    package func write(to path: String, inputs: [String]) throws(ImageError) -> Int {
        var file = SequenceFile(pictures.picture, timeScale: timeScale, durations: durations)
        (file.alpha, file.cover) = (alpha?.picture, cover)
        let bytes: [UInt8]
        do throws(HEIFError) {
            bytes = try SequenceLayout(file).file(pictures.tiles, alpha: alpha?.tiles ?? [])
        } catch { throw ImageError(error, path) }
        try ImageFile(path, inputs: inputs).finish(bytes)
        return bytes.count
    }
}
