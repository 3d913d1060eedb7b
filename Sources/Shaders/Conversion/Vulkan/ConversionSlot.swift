// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// The buffers and state of one picture in flight.
final class ConversionSlot {
    let upload: DeviceBuffer
    let download: DeviceBuffer
    var slices: [PictureSlice] = []
    /// Slices for sources in images.
    var imageSlices: [PictureSlice] = []
    /// The source images, until the picture is finished; nil for a source in buffers.
    var images: ImagePicture?
    /// The ticket of the picture in flight; 0 for none.
    var ticket = 0
    /// The picture rows of each slice, in order.
    var rows: [Range<Int>] = []
    /// The target's planes, and which of them are written in place.
    var target: [MutablePlaneView] = []
    var isDirect: [Bool] = []

    init(_ device: VulkanDevice, source: Int, target: Int) throws(SessionError) {
        upload = try DeviceBuffer(device, size: source, .upload)
        download = try DeviceBuffer(device, size: target, .download)
    }
}

/// A plane in a buffer that shaders access.
struct BoundPlane {
    var geometry: PlaneGeometry
    var buffer: VkBuffer
    /// The buffer's size.
    var size: Int
    var offset: Int
    var stride: Int
    /// Whether it is in imported memory and not in staging.
    var isDirect: Bool

    /// The binding of some rows, whose start must be aligned, and the bytes from there to the first row.
    func binding(_ rows: Range<Int>) -> (binding: PictureSlice.Binding, base: Int) {
        let first = offset + rows.lowerBound * stride
        let start = first / PlaneGeometry.bindingAlignment * PlaneGeometry.bindingAlignment
        let end = first + (rows.count - 1) * stride + geometry.rowBytes
        let range = min(end.roundedUp(to: PlaneGeometry.rowAlignment), size) - start
        return (.buffer(buffer, offset: start, range: range), first - start)
    }
}
