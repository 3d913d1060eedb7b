// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDMetadata
internal import HWDModel

extension ColorInfo {
    /// A color with libavutil's names of its code points.
    init(_ color: ColorDescription) {
        func point(_ code: UInt8, _ name: UnsafePointer<CChar>?) -> CodePoint {
            CodePoint(code: Int(code), name: name.map { String(cString: $0) } ?? "unknown")
        }
        self.init(
            primaries: point(
                color.primaries, av_color_primaries_name(AVColorPrimaries(rawValue: UInt32(color.primaries)))),
            transfer: point(
                color.transfer,
                av_color_transfer_name(AVColorTransferCharacteristic(rawValue: UInt32(color.transfer)))),
            matrix: point(color.matrix, av_color_space_name(AVColorSpace(rawValue: UInt32(color.matrix)))),
            range: color.isFullRange ? "full" : "video", chromaLocation: color.chromaLocation.map { Int($0) })
    }
}
