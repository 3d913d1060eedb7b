// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The interpretation of a picture's samples.
public struct SignalDescription: Hashable, Sendable {
    /// The color primaries.
    public var primaries: Primaries
    /// The transfer function.
    public var transfer: TransferFunction
    /// Y'CbCr's matrix; unused for RGB.
    public var matrix: YCbCrMatrix
    /// Full range (as in JPEG) instead of video range; unused for RGB.
    public var isFullRange: Bool
    /// Chroma siting; unused for RGB.
    public var siting: ChromaSiting

    /// Creates a description.
    public init(
        primaries: Primaries = .bt709, transfer: TransferFunction = .bt1886, matrix: YCbCrMatrix = .bt709,
        isFullRange: Bool = false, siting: ChromaSiting = .left
    ) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
        self.siting = siting
    }

    /// Translates H.273 code points.
    ///
    /// Unspecified values default to BT.709, but BT.601 where the picture is below 1280 wide and has at most 576 rows
    /// (480 or fewer: 525 lines' primaries); BT.2020 primaries imply its matrix; siting is left.
    /// - Parameter sdrTransfer: How BT.709's and BT.2020's SDR curves (1, 6, 14, 15) and unspecified ones are read.
    /// - Parameter width: Samples in a row, for what is unspecified.
    /// - Parameter height: Rows, for what is unspecified.
    /// - Throws: `PixelTransferNotSupported`, naming what is not supported: constant luminance, ICtCp, DCI-P3, ….
    public init(
        _ color: ColorDescription, sdrTransfer: TransferFunction = .bt1886, width: Int = 1920, height: Int = 1080
    ) throws(SessionError) {
        func refuse(_ what: String, _ code: UInt8, _ name: String?) -> SessionError {
            SessionError(
                .pixelTransferNotSupported,
                "\(what) \(code)\(name.map { " (\($0))" } ?? "") of H.273 cannot be converted here")
        }
        let isSmall = width < 1280 && height <= 576
        switch color.primaries {
        case 1: primaries = .bt709
        case 2: primaries = !isSmall ? .bt709 : height > 480 ? .bt601_625 : .bt601_525
        case 5: primaries = .bt601_625
        case 6, 7: primaries = .bt601_525
        case 9: primaries = .bt2020
        case 12: primaries = .displayP3
        case let code:
            throw refuse("color primaries", code, [4: "BT.470 M", 8: "film", 10: "XYZ", 11: "DCI-P3"][code])
        }
        switch color.transfer {
        case 1, 2, 6, 14, 15: transfer = sdrTransfer
        case 4: transfer = .gamma22
        case 5: transfer = .gamma28
        case 8: transfer = .linear
        case 13: transfer = .sRGB
        case 16: transfer = .pq
        case 18: transfer = .hlg
        case let code:
            let names: [UInt8: String] = [7: "SMPTE 240M", 11: "xvYCC", 12: "BT.1361", 17: "SMPTE ST 428"]
            throw refuse("transfer characteristics", code, names[code])
        }
        switch color.matrix {
        case 1: matrix = .bt709
        case 5, 6: matrix = .bt601
        case 9: matrix = .bt2020
        case 2: matrix = primaries == .bt2020 ? .bt2020 : isSmall ? .bt601 : .bt709
        case let code:
            let names: [UInt8: String] = [
                0: "R'G'B'", 4: "FCC", 7: "SMPTE 240M", 8: "YCgCo", 10: "BT.2020 constant luminance",
                12: "chroma-derived", 13: "chroma-derived constant luminance", 14: "ICtCp",
            ]
            throw refuse("matrix coefficients", code, names[code])
        }
        isFullRange = color.isFullRange
        guard let siting = ChromaSiting(locationType: color.chromaLocation ?? 0) else {
            throw SessionError(
                .parameter, "there is no chroma location \(color.chromaLocation ?? 0) (H.265 E.3.1: 0 to 5)")
        }
        self.siting = siting
    }
}
