// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

/// What only a stream's first frame says: its color and fields, and HDR static metadata where the container has none.
struct FirstFrame {
    /// nil where no frame can be decoded.
    private(set) var color: ColorDescription?
    private(set) var masteringDisplay: [UInt8]?
    private(set) var contentLight: [UInt8]?
    private(set) var isInterlaced = false
    private(set) var isTopFieldFirst = false

    /// The most packets that are read in search of a picture.
    private static let maxPackets = 256

    /// Decodes the first frame of the stream with its own demuxer and decoder; the reader's position is unchanged.
    init(_ file: InputFile, streamIndex: Int, cancelFlag: CancelFlag) {
        guard let demuxer = try? Demuxer(file, cancelFlag: cancelFlag), demuxer.videoIndex == streamIndex,
            let stream = demuxer.video,
            let decoder = try? VideoDecoder(
                demuxer.decoder, stream, threads: 1, hooks: DecoderHooks(demuxer.tally), path: file.path)
        else { return }
        var packet = av_packet_alloc()
        var frame = av_frame_alloc()
        defer {
            av_packet_free(&packet)
            av_frame_free(&frame)
        }
        guard let packet, let frame else { return }
        demuxer.keepOnly([streamIndex])
        for _ in 0..<Self.maxPackets {
            let isOpen = (try? demuxer.read(into: packet)) ?? false
            if isOpen, Int(packet.pointee.stream_index) != streamIndex {
                av_packet_unref(packet)
                continue
            }
            _ = decoder.send(isOpen ? packet : nil)
            av_packet_unref(packet)
            if case .frame = decoder.receive(frame) {
                color = ColorDescription(frame.pointee)
                isInterlaced = clibav_is_interlaced(frame) != 0
                isTopFieldFirst = clibav_is_top_field_first(frame) != 0
                masteringDisplay = Self.sideData(
                    frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AVMasteringDisplayMetadata.self
                ).flatMap(HDRStaticMetadata.bytes)
                contentLight = Self.sideData(
                    frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AVContentLightMetadata.self
                ).flatMap(HDRStaticMetadata.bytes)
                return
            }
            if !isOpen { return }
        }
    }

    /// Side data of a frame as a value of a C structure; nil without.
    static func sideData<Value: BitwiseCopyable>(
        _ frame: UnsafePointer<AVFrame>, _ type: AVFrameSideDataType, _: Value.Type
    ) -> Value? {
        guard let data = av_frame_get_side_data(frame, type), data.pointee.size >= MemoryLayout<Value>.size,
            let bytes = data.pointee.data
        else { return nil }
        return UnsafeRawPointer(bytes).loadUnaligned(as: Value.self)
    }
}
