// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
package import HWDBoxes
internal import HWDHEVC
internal import HWDLibAV
internal import HWDMetadata

/// The NAL units at the start of an HEVC stream: its parameter sets, and the SEI messages before its first picture.
///
/// libavformat's extradata has none of these messages; the mode of a byte stream's alpha layer is in one, and so is the
/// order of fields.
package enum StreamHead {
    /// The most packets that are read in search of a picture.
    private static let maxPackets = 256
    /// The most NAL units that are collected.
    private static let maxUnits = 256

    /// Reads up to the second picture of the base layer, through a separate demuxer of a seekable file.
    ///
    /// - Parameter includesRPU: whether Dolby Vision's RPU of the first picture is among the units.
    package static func nalUnits(
        _ file: InputFile, streamIndex: Int, framing: SampleKind.Framing = .startCodes, includesRPU: Bool = false,
        cancelFlag: CancelFlag
    ) -> [[UInt8]] {
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
            for nal in split(bytes, framing) {
                guard let header = try? NALUnitHeader(nal: nal) else { continue }
                let type = header.nalUnitType
                // The first slice of a picture: first_slice_segment_in_pic_flag is set.
                if type.isSlice, header.nuhLayerId == 0, nal.dropFirst(2).first ?? 0 >= 0x80 { pictures += 1 }
                if pictures > 1 || units.count >= maxUnits { return units }
                let isRPU = includesRPU && type == .unspec62 && header.nuhLayerId == 0
                if type.isParameterSet || type == .prefixSEI || isRPU { units.append(Array(nal)) }
            }
        }
        return units
    }

    /// The NAL units of a packet, up to the first damaged length.
    package static func split(_ bytes: [UInt8], _ framing: SampleKind.Framing) -> [ArraySlice<UInt8>] {
        guard case .lengths(let size) = framing else { return Array(AnnexB.NALUnits(bytes)) }
        guard var units = try? LengthPrefixedNALUnits(bytes[...], lengthSize: size) else { return [] }
        var result: [ArraySlice<UInt8>] = []
        while let unit = try? units.next() { result.append(unit) }
        return result
    }
}
