// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether a HEIC file of a size can be written, and by which encoder: the rules of files, then those of sessions.
public struct StillSupport: Hashable, Sendable {
    /// The encoder that a session without requirements would use; nil where the file cannot be written.
    public private(set) var codecID: String?
    /// Whether that encoder is hardware.
    public private(set) var isHardware = false
    /// The tiles; nil where no size is given.
    public private(set) var tiling: StillTiling?
    /// Why hardware is not used, or why the file cannot be written.
    public private(set) var reason: String?

    /// The answer.
    ///
    /// - Parameters:
    ///   - size: nil for pictures of any size, in tiles.
    ///   - tile: as of `StillTiling`.
    public init(
        bitDepth: Int, size: PictureSize?, tile: Int?, snapshot: ProbeSnapshot, failures: [CodecFailure]
    ) {
        tiling = size.map { StillTiling(width: $0.width, height: $0.height, tile: tile) }
        let side = tile.flatMap { $0 == 0 ? nil : $0 } ?? StillTiling.defaultTileSize
        let assumedSize = size ?? PictureSize(width: side, height: side)
        let assumedTiling = StillTiling(width: assumedSize.width, height: assumedSize.height, tile: tile)
        let coded = PictureSize(width: assumedTiling.width, height: assumedTiling.height)
        if let obstacle = assumedTiling.obstacle(width: assumedSize.width, height: assumedSize.height) {
            reason = obstacle
            return
        }
        var request = EncoderPolicy.Request(bitDepth: bitDepth)
        request.size = coded
        do throws(SessionError) {
            guard [8, 10].contains(bitDepth) else {
                throw SessionError(.parameter, "sessions encode 8 and 10 bits, not \(bitDepth)")
            }
            let choice = try EncoderPolicy.choose(request, snapshot: snapshot, failures: failures)
            (codecID, isHardware) = (choice.encoder.id, choice.encoder.hardware)
            reason = choice.fallbackReason
        } catch { reason = error.reason }
    }
}
