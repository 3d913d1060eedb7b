// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDModel

/// The HDR metadata and captions that libavcodec returns with a decoded frame, in the stream's bytes.
struct PictureMetadata {
    private(set) var entries: [FrameSideData] = []
    /// Whether the frame has metadata that cannot be written.
    private(set) var isIncomplete = false

    /// - Parameter hdr10Plus: the payload that its packet has, where the decoder returns none.
    init(_ frame: UnsafePointer<AVFrame>, hdr10Plus: [UInt8]? = nil) {
        if let bytes = Self.bytes(frame, AV_FRAME_DATA_DOVI_RPU_BUFFER) {
            // The NAL unit without its header of two bytes.
            if bytes.count <= FrameSideData.maxBytes - 2 {
                entries.append(FrameSideData(.dolbyVisionRPU, [0x7C, 0x01] + bytes))
            } else {
                isIncomplete = true
            }
        }
        if let bytes = Self.bytes(frame, AV_FRAME_DATA_DYNAMIC_HDR_PLUS) {
            // libavcodec returns parsed values; their order in the payload is fixed.
            let size = MemoryLayout<AVDynamicHDRPlus>.size
            let parsed = bytes.count < size ? nil : bytes.loadUnaligned(as: AVDynamicHDRPlus.self)
            let payload = parsed.flatMap { try? HDR10PlusMetadata($0).payload() }
            if let payload { entries.append(FrameSideData(.hdr10Plus, payload)) } else { isIncomplete = true }
        }
        if let hdr10Plus, !entries.contains(where: { $0.kind == .hdr10Plus }) {
            let isValid = (try? HDR10PlusMetadata(payload: hdr10Plus)) != nil
            if isValid { entries.append(FrameSideData(.hdr10Plus, hdr10Plus)) } else { isIncomplete = true }
        }
        if let bytes = Self.bytes(frame, AV_FRAME_DATA_A53_CC) { add(captions: Array(bytes)) }
    }

    private static func bytes(
        _ frame: UnsafePointer<AVFrame>, _ type: AVFrameSideDataType
    ) -> UnsafeRawBufferPointer? {
        guard let data = av_frame_get_side_data(frame, type), let bytes = data.pointee.data,
            data.pointee.size > 0
        else { return nil }
        return UnsafeRawBufferPointer(start: bytes, count: data.pointee.size)
    }

    /// Adds constructs of `cc_data()`, three bytes each (ATSC A/53 part 4, 6.2.3.1).
    private mutating func add(captions bytes: [UInt8]) {
        var constructs: [ClosedCaptions.Construct] = []
        for place in stride(from: 0, to: bytes.count - 2, by: 3) {
            let pair = Array(bytes[(place + 1)..<(place + 3)])
            let isValid = bytes[place] & 4 != 0
            constructs.append(ClosedCaptions.Construct(isValid: isValid, type: Int(bytes[place] & 3), bytes: pair))
        }
        let captions = ClosedCaptions(constructs: Array(constructs.prefix(ClosedCaptions.maxConstructs)))
        isIncomplete = isIncomplete || constructs.count > ClosedCaptions.maxConstructs
        if let payload = try? captions.payload() { entries.append(FrameSideData(.closedCaptions, payload)) }
    }
}
