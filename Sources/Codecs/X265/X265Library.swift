// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
public import HWDModel

/// The libx265 this process is linked with.
public enum X265Library {
    /// The value of `EncoderID`.
    public static let encoderID = "org.hwdaemon.encoder.x265"

    /// Its X265_BUILD, which its file name has, too.
    static var build: Int { Int(hwd_x265_build()) }

    /// Whether the look-ahead decides the kinds of the pictures to come without those that are required.
    ///
    /// In 3.5 a required kind ends the frames that the look-ahead decides about. 4.1 (X265_BUILD 215; `sliceTypeReq` in
    /// Lookahead::slicetypeDecide) applies it when it forms the picture's group: the pictures after one that ends a group early
    /// keep the kinds of the group that was planned, unless kinds are required of them too. Builds between are not known.
    static func plansBeforeRequests(build: Int) -> Bool { build > 199 }

    /// The encoder for the probe's catalogue; nil when libx265 supports neither 8 nor 10 bits.
    public static var description: EncoderDescription? {
        let depths = [8, 10].filter { hwd_x265_api(Int32($0)) != nil }
        guard let depth = depths.first, let api = hwd_x265_api(Int32(depth)) else { return nil }
        let version = api.pointee.version_str.map { String(cString: $0) } ?? "unknown"
        return EncoderDescription(
            id: encoderID, name: "x265 \(version) (software)", codec: "hevc", hardware: false, version: version,
            bitDepths: depths,
            pixelFormats: (PixelFormat.yCbCr.filter { depths.contains(max($0.bitDepth, 8)) } + PixelFormat.rgb).map(
                \.rawValue))
    }
}
