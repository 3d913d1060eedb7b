// SPDX-License-Identifier: GPL-2.0-or-later

/// A decoder that is independent of the encoder under test.
public protocol StreamJudge {
    /// The library and its version.
    var name: String { get }
    /// Whether it can decode HEVC.
    var isAvailable: Bool { get }
    /// The file from which the library was loaded; nil if that is unknown.
    var file: String? { get }

    /// Decodes a stream.
    ///
    /// - Parameters:
    ///   - units: access units of NAL units with 4-byte length prefixes.
    ///   - record: the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets.
    /// - Returns: the pictures in output order.
    func decode(_ units: [[UInt8]], record: [UInt8]) throws(JudgeError) -> [JudgedPicture]

    /// Decodes a stream on a node's hardware.
    ///
    /// - Throws: also if the library would fall back to software.
    func decode(_ units: [[UInt8]], record: [UInt8], node: String) throws(JudgeError) -> [JudgedPicture]
}

extension StreamJudge {
    /// By default unknown.
    public var file: String? { nil }

    /// By default unsupported.
    public func decode(_ units: [[UInt8]], record: [UInt8], node: String) throws(JudgeError) -> [JudgedPicture] {
        throw JudgeError("\(name) does not decode in hardware")
    }
}

/// Why a stream could not be decoded.
public struct JudgeError: Error, Hashable, Sendable {
    /// The reason.
    public let reason: String

    /// An error with its reason.
    public init(_ reason: String) { self.reason = reason }
}

/// A decoded picture: planar 4:2:0 samples in packed rows, each in 16 bits whatever the bit depth.
public struct JudgedPicture: Hashable, Sendable {
    /// Luma samples in a row.
    public let width: Int
    /// Rows of luma samples.
    public let height: Int
    /// Bits of a sample.
    public let bitDepth: Int
    /// Luma, Cb, Cr; chroma planes have half the width and height, rounded up.
    public let planes: [[UInt16]]

    /// A picture with its samples.
    public init(width: Int, height: Int, bitDepth: Int, planes: [[UInt16]]) {
        self.width = width
        self.height = height
        self.bitDepth = bitDepth
        self.planes = planes
    }
}
