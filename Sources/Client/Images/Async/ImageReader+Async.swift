// SPDX-License-Identifier: MIT
public import HWDHEIF
public import HWDModel

extension ImageReader {
    /// Decodes as the blocking `decode`, without blocking a thread of Swift's cooperative pool.
    ///
    /// Each call has a thread and a session of its own, so a program limits how many it makes at once.
    /// - Throws: as that; `cancelled` after the task is canceled, which is noticed between tiles and about ten times a second
    ///   while pictures are decoded; a call to the daemon that is under way ends first.
    public func decode(
        item: UInt32? = nil, region: PixelRect? = nil, thumbnailWithin most: Int? = nil,
        auxiliary: AuxiliaryKind? = nil, as format: PixelFormat? = nil
    ) async throws(ImageError) -> DecodedImage {
        try await withThread { (isCancelled) throws(ImageError) in
            try self.decode(
                item: item, region: region, thumbnailWithin: most, auxiliary: auxiliary, as: format,
                isCancelled: isCancelled)
        }
    }
}
