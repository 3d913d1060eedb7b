// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A VA image: a surface's own memory, or separate memory that is copied to surfaces.
struct Image: ~Copyable {
    let image: VAImage
    private let display: Display

    /// An image of a surface's own memory.
    init(_ display: Display, deriving surface: VASurfaceID) throws(VAError) {
        var image = VAImage()
        try display.check(vaDeriveImage(display.handle, surface, &image), "vaDeriveImage")
        self.image = image
        self.display = display
    }

    /// An image with separate memory.
    init(_ display: Display, fourcc: UInt32, width: Int, height: Int) throws(VAError) {
        guard var format = try display.imageFormat(fourcc) else {
            throw VAError(
                VA_STATUS_ERROR_INVALID_IMAGE_FORMAT, "vaQueryImageFormats",
                message: "the driver has no images of the surfaces' format")
        }
        var image = VAImage()
        try display.check(
            vaCreateImage(display.handle, &format, Int32(width), Int32(height), &image), "vaCreateImage")
        self.image = image
        self.display = display
    }

    deinit { vaDestroyImage(display.handle, image.image_id) }

    /// Maps the image's memory.
    func map() throws(VAError) -> MappedBuffer { try MappedBuffer(display, image.buf) }

    /// Copies the image to a surface.
    func put(to surface: VASurfaceID) throws(VAError) {
        let (width, height) = (UInt32(image.width), UInt32(image.height))
        try display.check(
            vaPutImage(display.handle, surface, image.image_id, 0, 0, width, height, 0, 0, width, height),
            "vaPutImage")
    }
}

extension Display {
    /// The driver's image format with a fourcc; nil where it has none.
    func imageFormat(_ fourcc: UInt32) throws(VAError) -> VAImageFormat? {
        let capacity = vaMaxNumImageFormats(handle)
        guard 1...Self.maxCount ~= capacity else { return nil }
        var formats = [VAImageFormat](repeating: VAImageFormat(), count: Int(capacity))
        var count = capacity
        try check(vaQueryImageFormats(handle, &formats, &count), "vaQueryImageFormats")
        return formats.prefix(Int(min(max(count, 0), capacity))).first { $0.fourcc == fourcc }
    }

    /// The surface sizes that a config accepts; nil where the driver does not report them.
    func surfaceSizes(_ config: borrowing Config) throws(VAError) -> SurfaceSizes? {
        var count: UInt32 = 0
        try check(vaQuerySurfaceAttributes(handle, config.id, nil, &count), "vaQuerySurfaceAttributes")
        guard 1...UInt32(Self.maxCount) ~= count else { return nil }
        let capacity = Int(count)
        var list = [VASurfaceAttrib](repeating: VASurfaceAttrib(), count: capacity)
        try check(vaQuerySurfaceAttributes(handle, config.id, &list, &count), "vaQuerySurfaceAttributes")
        let reported = list.prefix(min(Int(count), capacity))
        func value(_ type: VASurfaceAttribType) -> Int? {
            reported.first { $0.type == type && $0.value.type == VAGenericValueTypeInteger && $0.value.value.i > 0 }
                .map { Int($0.value.value.i) }
        }
        return SurfaceSizes(
            minimum: (value(VASurfaceAttribMinWidth) ?? 1, value(VASurfaceAttribMinHeight) ?? 1),
            maximum: (value(VASurfaceAttribMaxWidth) ?? .max, value(VASurfaceAttribMaxHeight) ?? .max))
    }
}

/// The least and the greatest size of surfaces, in luma samples.
struct SurfaceSizes: Sendable {
    var minimum: (width: Int, height: Int)
    var maximum: (width: Int, height: Int)
}
