// SPDX-License-Identifier: MIT
public import HWClient

extension ImageWriter {
    /// Writes a file of one picture or a burst, without blocking a thread of Swift's cooperative pool.
    ///
    /// - Throws: what `init`, `add` and `finish` throw; `cancelled` soon after the task is canceled. No file appears then.
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
