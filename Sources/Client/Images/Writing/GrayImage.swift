// SPDX-License-Identifier: MIT
internal import HWDModel

/// Alpha, depth or a gain map to write: one plane of 8 bits at full range.
///
/// Its samples are copied when it is made, and not changed later.
public struct GrayImage: @unchecked Sendable {
    /// Width in samples.
    public var width: Int { canvas.width }
    /// Height in samples.
    public var height: Int { canvas.height }
    /// The samples as luma; nothing writes it any more.
    let canvas: StillCanvas

    /// Copies `height` rows of `width` bytes that are `stride` bytes apart.
    ///
    /// - Parameters:
    ///   - samples: from the first sample to the last; they are read during the call.
    ///   - width: 1 to 65,536 samples.
    ///   - height: 1 to 65,536 rows.
    ///   - stride: bytes, `width` at least.
    /// - Throws: `parameter` for sizes that are not possible, and samples that do not hold the rows; `unsupported` for more than
    ///   268 megasamples.
    public init(_ samples: UnsafeRawBufferPointer, width: Int, height: Int, stride: Int) throws(ImageError) {
        try SamplePlanes.check(width: width, height: height)
        let planes = SamplePlanes(bytes: [samples], strides: [stride])
        try planes.check(0, rowBytes: width, rows: height)
        canvas = try StillCanvas(.yu12, width: width, height: height)
        canvas.planes[0].copyRows(of: planes.view(0), rowBytes: width, rows: height)
        canvas.makeGray()
    }

    /// Copies `height` rows of `width` bytes that are `stride` bytes apart.
    ///
    /// - Throws: as for memory.
    public init(_ samples: [UInt8], width: Int, height: Int, stride: Int) throws(ImageError) {
        let result = samples.withUnsafeBytes { bytes -> Result<GrayImage, ImageError> in
            Result { () throws(ImageError) in
                try GrayImage(bytes, width: width, height: height, stride: stride)
            }
        }
        self = try result.get()
    }
}

/// Planes of an app, which are checked before they are read.
struct SamplePlanes {
    let bytes: [UnsafeRawBufferPointer]
    let strides: [Int]

    /// The most samples on a side.
    private static let maxSide = 1 << 16

    /// - Throws: `parameter`.
    static func check(width: Int, height: Int) throws(ImageError) {
        guard (1...maxSide).contains(width), (1...maxSide).contains(height) else {
            throw ImageError(.parameter, "a picture of \(width)x\(height) is not possible")
        }
    }

    /// Checks that a plane holds its rows; the last row needs only its samples.
    ///
    /// - Throws: `parameter`.
    func check(_ index: Int, rowBytes: Int, rows: Int) throws(ImageError) {
        guard strides[index] >= rowBytes, strides[index] <= Int(Int32.max) else {
            throw ImageError(
                .parameter, "plane \(index): a stride of \(strides[index]) bytes does not fit rows of \(rowBytes)")
        }
        let needed = (rows - 1) * strides[index] + rowBytes
        guard bytes[index].count >= needed else {
            throw ImageError(
                .parameter, "plane \(index) has \(bytes[index].count) bytes; its rows need \(needed)")
        }
    }

    /// A plane that was checked.
    func view(_ index: Int) -> PlaneView {
        guard let base = bytes[index].baseAddress else { preconditionFailure("a checked plane has samples") }
        return PlaneView(base: base, stride: strides[index])
    }
}
