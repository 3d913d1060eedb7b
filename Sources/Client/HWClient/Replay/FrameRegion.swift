// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// The bytes of a file that a plane of a frame takes: pools and pictures may be of the same file.
struct FrameRegion {
    let file: FileIdentity
    let bytes: Range<UInt64>

    func overlaps(_ other: FrameRegion) -> Bool { file == other.file && bytes.overlaps(other.bytes) }

    /// Those of a frame's planes; nil where they cannot be determined.
    ///
    /// - Parameters:
    ///   - planes: in the format's order.
    ///   - files: those that the planes name as their objects.
    ///   - height: of the frame, in luma rows.
    static func regions(
        _ planes: [AddPicture.Plane], in files: [FileIdentity?], _ format: PixelFormat, height: Int
    ) -> [FrameRegion]? {
        guard planes.count == format.planeCount else { return nil }
        var found: [FrameRegion] = []
        for (index, plane) in planes.enumerated() {
            let rows = UInt64(format.rows(plane: index, height: height))
            // The last row as a whole stride: a few bytes too many at most.
            let end = plane.offset.addingReportingOverflow(rows &* UInt64(plane.stride))
            guard files.indices.contains(Int(plane.object)), let file = files[Int(plane.object)], !end.overflow,
                plane.offset < end.partialValue
            else { return nil }
            found.append(FrameRegion(file: file, bytes: plane.offset..<end.partialValue))
        }
        return found
    }
}
