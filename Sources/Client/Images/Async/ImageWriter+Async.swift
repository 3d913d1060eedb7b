// SPDX-License-Identifier: MIT
public import HWClient

extension ImageWriter {
    /// Writes a file of one picture or a burst, without blocking a thread of Swift's cooperative pool.
    ///
    /// Each call has a thread and sessions of its own, so a program limits how many it makes at once.
    /// - Throws: what `init`, `add` and `finish` throw; `cancelled` after the task is canceled, which is noticed between tiles
    ///   and about ten times a second while pictures are coded; a call to the daemon that is under way ends first. No file
    ///   appears then.
    public static func write(
        _ images: [SourceImage], to path: String, daemon: Daemon? = nil, options: Options = Options()
    ) async throws(ImageError) -> Summary {
        try await withThread { (isCancelled) throws(ImageError) in
            let writer = try ImageWriter(to: path, daemon: daemon, options: options, isCancelled: isCancelled)
            for image in images { try writer.add(image) }
            return try writer.finish()
        }
    }
}
