// SPDX-License-Identifier: GPL-2.0-or-later

/// A decoder that says what an encoder's stream holds.
public protocol StreamJudge {
    /// The library and its version.
    var name: String { get }
    /// Whether it decodes HEVC here at all.
    var isAvailable: Bool { get }
    /// The file the library was loaded from; nil where that is not known.
    var file: String? { get }

    /// Decodes a stream.
    ///
    /// - Parameters:
    ///   - units: access units, their NAL units with 4-byte lengths.
    ///   - record: the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets.
    /// - Returns: the pictures in output order.
    func decode(_ units: [[UInt8]], record: [UInt8]) throws(JudgeError) -> [JudgedPicture]

    /// Decodes a stream on a node's hardware.
    ///
    /// - Throws: also where the library would do it in software instead.
    func decode(_ units: [[UInt8]], record: [UInt8], node: String) throws(JudgeError) -> [JudgedPicture]
}

extension StreamJudge {
    /// Not known.
    public var file: String? { nil }

    /// Not possible.
    public func decode(_ units: [[UInt8]], record: [UInt8], node: String) throws(JudgeError) -> [JudgedPicture] {
        throw JudgeError("\(name) does not decode in hardware")
    }
}

/// A decoder's complaint, a sentence without its full stop.
public struct JudgeError: Error, Hashable, Sendable {
    /// The sentence.
    public let reason: String

    /// Complains.
    public init(_ reason: String) { self.reason = reason }
}

/// A picture that came back: planar 4:2:0 samples, rows packed, one to a 16-bit word whatever their depth.
public struct JudgedPicture: Hashable, Sendable {
    /// Luma samples a row.
    public let width: Int
    /// Rows of luma samples.
    public let height: Int
    /// Bits of a sample.
    public let bitDepth: Int
    /// Luma, Cb, Cr; chroma planes have half the width and height, rounded up.
    public let planes: [[UInt16]]

    /// A picture by its samples.
    public init(width: Int, height: Int, bitDepth: Int, planes: [[UInt16]]) {
        self.width = width
        self.height = height
        self.bitDepth = bitDepth
        self.planes = planes
    }
}
