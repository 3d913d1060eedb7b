// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV

/// The NAL units that say what a byte stream is: its parameter sets, and the messages before its first picture.
///
/// libavformat's description of such a stream has no messages; an alpha layer's mode is in one.
enum StreamHead {
    /// Packets after which a stream without a picture is given up.
    private static let maxPackets = 256
    /// Units after which a stream that goes on without a picture is given up.
    private static let maxUnits = 256

    /// Reads up to the second picture of the base layer, of a seekable file.
    static func nalUnits(_ file: InputFile, streamIndex: Int, cancelFlag: CancelFlag) -> [[UInt8]] {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet, let demuxer = try? Demuxer(file, cancelFlag: cancelFlag) else {
            return []
        }
        var units: [[UInt8]] = []
        var pictures = 0
        for _ in 0..<maxPackets where av_read_frame(demuxer.context, packet) >= 0 {
            defer { av_packet_unref(packet) }
            guard Int(packet.pointee.stream_index) == streamIndex, let data = packet.pointee.data else { continue }
            let bytes = Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
            for nal in AnnexB.NALUnits(bytes) {
                guard let header = try? NALUnitHeader(nal: nal) else { continue }
                let type = header.nalUnitType
                // One of a picture's first slices: first_slice_segment_in_pic_flag.
                if type.isSlice, header.nuhLayerId == 0, nal.dropFirst(2).first ?? 0 >= 0x80 { pictures += 1 }
                if pictures > 1 || units.count >= maxUnits { return units }
                if type.isParameterSet || type == .prefixSEI { units.append(Array(nal)) }
            }
        }
        return units
    }
}
