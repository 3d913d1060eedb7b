// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The boxes of spherical and stereoscopic video: `st3d` and `sv3d` of a sample entry, and the text of the format's first
/// version in a `uuid` of the track (Google's "Spherical Video RFC" V2 and V1).
package enum Projection {
    private static let textID: [UInt8] = [
        0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
    ]
    private static let types: Set<FourCC> = ["st3d", "sv3d"]

    /// Whether a box has the text of the first version.
    package static func isText(_ box: Box) -> Bool { box.type == "uuid" && box.fields.starts(with: textID) }

    /// Matroska's names of the arrangements that `st3d` has numbers for (RFC 9559 5.1.4.1.28.3).
    private static let stereoModes: [UInt8: String] = [1: "top_bottom", 2: "left_right", 4: "right_left"]

    /// The arrangement of two views by Matroska's name; nil where `st3d` has no number for it.
    package static func arrangement(_ name: String) -> Box? {
        stereoModes.first { $0.value == name }.map { Box("st3d", [0, 0, 0, 0, $0.key]) }
    }

    /// The number of an arrangement: 0 one view, 1 the left one above the right one, 2 the left one at the left, 3 as a mesh
    /// says, 4 the right one at the left; nil for other boxes.
    package static func number(_ box: Box) -> UInt8? {
        box.type == "st3d" && box.fields.count >= 5 ? box.fields.dropFirst(4).first : nil
    }

    /// Matroska's name of the arrangement of an `st3d`; nil for other boxes, and where it has none.
    package static func stereoMode(_ box: Box) -> String? { number(box).flatMap { stereoModes[$0] } }

    /// A mapping to a sphere.
    ///
    /// - Parameters:
    ///   - pose: yaw, pitch and roll in 1/65536 degree.
    ///   - shape: the type and the fields of the projection: `cbmp` with layout and padding, `equi` with four bounds.
    package static func mapping(pose: [Int32], shape: FourCC, fields: [UInt32]) -> Box {
        var angles: [UInt8] = [0, 0, 0, 0]
        for angle in pose { angles.appendBigEndian(UInt32(bitPattern: angle)) }
        var numbers: [UInt8] = [0, 0, 0, 0]
        for field in fields { numbers.appendBigEndian(field) }
        let header = Box("svhd", [0, 0, 0, 0, 0])
        let projection = Box("proj", Box("prhd", angles).bytes + Box(shape, numbers).bytes)
        return Box("sv3d", header.bytes + projection.bytes)
    }

    /// The boxes without the name of the program that wrote them, for comparisons.
    package static func contents(_ boxes: [Box]) -> [Box] {
        boxes.filter { types.contains($0.type) }.sorted { $0.type.rawValue < $1.type.rawValue }.map { box in
            guard box.type == "sv3d", let parts = try? Box.parse(box.fields[...]) else { return box }
            return Box("sv3d", parts.filter { $0.type != "svhd" }.flatMap(\.bytes))
        }
    }
}
