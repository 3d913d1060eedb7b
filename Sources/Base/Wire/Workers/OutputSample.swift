// SPDX-License-Identifier: MIT

/// Coded pictures that an encoder's process gives to the process that checks them, with the luma of their frames, both in shared
/// memory; the broker passes the message on and reads nothing but `onlyReports`.
public struct OutputSample: Codable, Hashable, Sendable {
    /// A coded picture, in decoding order.
    public struct Unit: Codable, Hashable, Sendable {
        public var pts: Int64
        /// Its place among the packets' bytes: NAL units with 4-byte lengths.
        public var offset: Int
        public var size: Int

        public init(pts: Int64, offset: Int, size: Int) { (self.pts, self.offset, self.size) = (pts, offset, size) }
    }

    /// A frame's luma: rows of `width` bytes, without gaps, the eight high bits of each sample.
    public struct Luma: Codable, Hashable, Sendable {
        public var pts: Int64
        public var slot: Int

        public init(pts: Int64, slot: Int) { (self.pts, self.slot) = (pts, slot) }
    }

    /// Luma samples of a row.
    public var width: Int
    /// Rows of luma samples of a picture.
    public var height: Int
    /// Every so many rows there is one in a slot.
    public var rowStep: Int
    /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1), in hexadecimal.
    public var record: String
    /// The half of the packets' memory.
    public var half: Int
    public var units: [Unit]
    public var lumas: [Luma]
    /// Whether it continues the sample before; otherwise it begins with a key frame.
    public var continues: Bool
    /// Whether no more units follow in this group of pictures.
    public var isLast: Bool
    /// Whether a wrong picture is reported only, and ends no process.
    public var onlyReports: Bool

    public init(
        width: Int, height: Int, rowStep: Int, record: String, half: Int, units: [Unit], lumas: [Luma],
        continues: Bool, isLast: Bool, onlyReports: Bool
    ) {
        (self.width, self.height, self.rowStep) = (width, height, rowStep)
        (self.record, self.half, self.units, self.lumas) = (record, half, units, lumas)
        (self.continues, self.isLast, self.onlyReports) = (continues, isLast, onlyReports)
    }

    /// The most units and frames of one sample.
    public static let maxCount = 64
}

/// What the process that checks an encoder's output found in one sample.
public struct OutputFinding: Codable, Hashable, Sendable {
    /// Pictures that were compared with their frames.
    public var compared: Int
    /// The lowest PSNR of luma among them in dB; nil where none was compared.
    public var worst: Double?
    /// Why the output is wrong, as a clause; nil where it is not.
    public var fault: String?

    public init(compared: Int, worst: Double?, fault: String?) {
        (self.compared, self.worst, self.fault) = (compared, worst, fault)
    }
}
