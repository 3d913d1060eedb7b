// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
public import HWDModel

/// The reference decoder: a library that decodes independently of the encoder under test, and that opens NVENC.
public protocol ReferenceCodec {
    /// The library and its version.
    var name: String { get }
    /// Whether it can decode HEVC.
    var isAvailable: Bool { get }
    /// The file from which the library was loaded; nil if that is unknown.
    var file: String? { get }

    /// Decodes a stream.
    ///
    /// - Parameter node: the render node whose hardware decodes; nil for software.
    /// - Returns: the pictures in output order.
    /// - Throws: also if the library would fall back to software.
    func decode(_ stream: CodedStream, node: String?) throws(ReferenceCodecError) -> [DecodedTrialPicture]

    /// Opens an NVIDIA card's encoder through the library that decodes; what it codes is decoded in software.
    ///
    /// - Parameter node: the card's node.
    func encoder(node: String, _ configuration: EncoderConfiguration) throws(EncoderFault) -> any Encoder
}

extension ReferenceCodec {
    /// By default unknown.
    public var file: String? { nil }

    /// By default there is none.
    public func encoder(
        node: String, _ configuration: EncoderConfiguration
    ) throws(EncoderFault) -> any Encoder {
        throw EncoderFault(SessionError(.couldNotFindVideoEncoder, "\(name) has no encoder"))
    }
}

/// Why an encoder that is tried does not open.
public struct EncoderFault: Error, Hashable, Sendable {
    /// The status and the sentence.
    public let error: SessionError
    /// Whether the device was merely in use, or at its limit.
    public let isBusy: Bool
    /// Whether the device has no such encoder.
    public let isUnsupported: Bool

    /// A fault with its reason.
    public init(_ error: SessionError, isBusy: Bool = false, isUnsupported: Bool = false) {
        (self.error, self.isBusy, self.isUnsupported) = (error, isBusy, isUnsupported)
    }
}

/// A stream to decode.
public struct CodedStream: Hashable, Sendable {
    /// `hevc`, `h264`, `vp9` or `av1`.
    public var codec = "hevc"
    /// For HEVC the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets; else empty.
    public var record: [UInt8] = []
    /// Access units.
    ///
    /// HEVC: NAL units with 4-byte length prefixes. H.264: a byte stream (annex B) with parameter sets. VP9: frames. AV1:
    /// temporal units in the low-overhead format (5.2) with sequence headers.
    public var units: [[UInt8]] = []
}

/// Why a stream could not be decoded.
public struct ReferenceCodecError: Error, Hashable, Sendable {
    /// The reason.
    public let reason: String
    /// Whether the device was merely in use, or at its limit.
    public let isBusy: Bool
    /// Whether the device has no such decoder.
    public let isUnsupported: Bool

    /// An error with its reason.
    public init(_ reason: String, isBusy: Bool = false, isUnsupported: Bool = false) {
        (self.reason, self.isBusy, self.isUnsupported) = (reason, isBusy, isUnsupported)
    }
}

/// A decoded picture: planar 4:2:0 samples in packed rows, each in 16 bits whatever the bit depth.
public struct DecodedTrialPicture: Hashable, Sendable {
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
