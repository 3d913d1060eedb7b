// SPDX-License-Identifier: MIT
package import HWDBoxes
internal import HWDHEIF
package import HWDModel

/// A picture to encode: samples of 4:2:0, and what its file says of them.
package struct StillPixels {
    /// `yu12` or `i010`.
    package var canvas: StillCanvas
    /// Alpha as luma of 8 bits at full range; nil without.
    package var alpha: StillCanvas?
    /// The color of the samples.
    package var color: ColorDescription
    /// The file's ICC profile; nil without one.
    package var profile: [UInt8]?
    /// `mdcv`, `clli` and the like of an HDR picture.
    package var light: [Box] = []
    /// Whether the file has alpha, which may have been left out.
    package var hasAlpha = false
    /// Whether that alpha has more than 8 bits, which become 8.
    package var hasDeepAlpha = false
    /// Whether the samples are multiplied by alpha.
    package var isPremultiplied = false

    package init(canvas: StillCanvas, color: ColorDescription) { (self.canvas, self.color) = (canvas, color) }

    /// Describes a coded form of the picture.
    ///
    /// - Parameter replacement: an ICC profile instead of the file's.
    package func describe(_ still: inout CodedStill, _ replacement: [UInt8]?) {
        let points = ColorInformation.CodePoints(
            primaries: Int(color.primaries), transfer: Int(color.transfer), matrix: Int(color.matrix),
            isFullRange: color.isFullRange)
        if color.isHDR { still.picture.light = light }
        still.picture.colors =
            ((replacement ?? profile).map { [.profile($0, isRestricted: false)] } ?? []) + [.codePoints(points)]
    }
}
