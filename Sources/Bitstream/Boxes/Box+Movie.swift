// SPDX-License-Identifier: MIT

extension Box {
    /// The matrix of a movie's or a track's header that changes nothing (ISO/IEC 14496-12 8.2.2).
    public static let identityMatrix: [UInt32] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000]

    /// The `dinf` box of a track whose samples are in the same file (ISO/IEC 14496-12 8.7).
    public static let sameFileData = Box(
        "dinf", children: [Box("dref", fields: [UInt8](bigEndian: [0, 1]), children: [Box("url ", [0, 0, 0, 1])])])
}
