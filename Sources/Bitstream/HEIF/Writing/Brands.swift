// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The brands of a HEIC file (ISO/IEC 23008-12 annex B.4, ISO/IEC 23000-22 clause 10).
struct Brands: Sendable {
    private var major: FourCC
    private var compatible: [FourCC]

    /// The brands of an image sequence with a primary picture, whose pictures are HEVC of one profile.
    ///
    /// Readers of still pictures alone find `heic` or `heix` among the compatible ones.
    static func sequence(of file: StillFile) throws(HEIFError) -> Brands {
        var brands = try Brands(file)
        let isMain = brands.major == "heic"
        brands.compatible = [isMain ? "hevc" : "hevx"] + brands.compatible + ["msf1", "iso8"]
        brands.major = isMain ? "hevc" : "hevx"
        return brands
    }

    /// The most pixels of a picture to those of the next smaller one, and of the largest that needs no smaller one
    /// (ISO/IEC 23000-22 7.3.8).
    private static let maxStep = 200
    private static let maxPixels = 128_000_000

    init(_ file: StillFile) throws(HEIFError) {
        let record = file.pictures[file.primary].configuration
        // Main or Main Still Picture.
        let isMain = record.profile.profileCompatibilityFlags >> 28 & 0b101 != 0
        major = isMain ? "heic" : "heix"
        compatible = ["mif1", major]
        guard Self.isMIAF(file) else { return }
        compatible.append("miaf")
        if isMain {
            compatible.append("MiHB")
        } else if record.chromaFormatIdc == 1, record.bitDepthLumaMinus8 <= 2 {
            compatible.append("MiHA")
        }
        if file.auxiliaries.contains(where: { $0.picture.configuration.chromaFormatIdc == 0 }) {
            compatible.append("MiHE")
        }
    }

    private static func isMIAF(_ file: StillFile) -> Bool {
        file.pictures.enumerated().allSatisfy { index, picture in
            guard let tiling = try? Tiling(picture), tiling.tileWidth * tiling.tileHeight <= HEIFLimits.codedPixels
            else {
                return false
            }
            let pixels = picture.width * picture.height
            guard tiling.isGrid, index == file.primary, let thumbnail = file.thumbnail else {
                return pixels <= maxPixels
            }
            let smaller = thumbnail.width * thumbnail.height
            return smaller <= maxPixels && pixels <= maxStep * smaller
        }
    }

    /// The `ftyp` box.
    var box: Box {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(major.rawValue)
        bytes.appendBigEndian(UInt32(0))
        for brand in compatible { bytes.appendBigEndian(brand.rawValue) }
        return Box("ftyp", bytes)
    }
}
