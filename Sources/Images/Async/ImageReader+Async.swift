// SPDX-License-Identifier: MIT
public import HWDHEIF
public import HWDModel

extension ImageReader {
    /// Decodes as the blocking `decode`, without blocking a thread of Swift's cooperative pool.
    ///
    /// - Throws: as that; `cancelled` soon after the task is canceled.
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
