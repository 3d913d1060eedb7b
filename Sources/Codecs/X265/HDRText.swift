// SPDX-License-Identifier: GPL-2.0-or-later

/// SEI payloads in the syntax of x265's options.
enum HDRText {
    /// SEI 137 (H.265 D.2.28): chromaticities of green, blue, red and white, then maximum and minimum luminance.
    static func masteringDisplay(_ payload: [UInt8]) -> String {
        let short = { (index: Int) in Int(payload[2 * index]) << 8 | Int(payload[2 * index + 1]) }
        let long = { (index: Int) in short(index) << 16 | short(index + 1) }
        return "G(\(short(0)),\(short(1)))B(\(short(2)),\(short(3)))R(\(short(4)),\(short(5)))"
            + "WP(\(short(6)),\(short(7)))L(\(long(8)),\(long(10)))"
    }

    /// SEI 144 (H.265 D.2.35): `max_content_light_level`, `max_pic_average_light_level`.
    static func contentLight(_ payload: [UInt8]) -> String {
        "\(Int(payload[0]) << 8 | Int(payload[1])),\(Int(payload[2]) << 8 | Int(payload[3]))"
    }
}
