// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC

/// HDR static metadata: libavutil's structures as the bytes that SEI messages and boxes share.
enum StaticLight {
    /// The 24 bytes of an `mdcv` box; nil where a part is missing or does not fit.
    static func bytes(_ display: AVMasteringDisplayMetadata) -> [UInt8]? {
        guard display.has_primaries != 0, display.has_luminance != 0 else { return nil }
        func point(_ point: (AVRational, AVRational)) -> Chromaticity? {
            guard let x = units(point.0, 50_000), let y = units(point.1, 50_000) else { return nil }
            return Chromaticity(x: x, y: y)
        }
        let primaries = display.display_primaries
        // libavutil counts red, green, blue; H.265 D.3.28 green, blue, red.
        guard let red = point(primaries.0), let green = point(primaries.1), let blue = point(primaries.2),
            let white = point(display.white_point), let brightest = units(display.max_luminance, 10_000),
            let darkest = units(display.min_luminance, 10_000)
        else { return nil }
        var volume = MasteringDisplayColourVolume()
        volume.displayPrimaries = [green, blue, red]
        volume.whitePoint = white
        volume.maxDisplayMasteringLuminance = brightest
        volume.minDisplayMasteringLuminance = darkest
        return (try? SEIMessage(.masteringDisplayColourVolume(volume)))?.payload
    }

    /// The 4 bytes of a `clli` box; nil where a level does not fit.
    static func bytes(_ level: AVContentLightMetadata) -> [UInt8]? {
        let info = ContentLightLevelInfo(
            maxContentLightLevel: Int(level.MaxCLL), maxPicAverageLightLevel: Int(level.MaxFALL))
        return (try? SEIMessage(.contentLightLevelInfo(info)))?.payload
    }

    private static func units(_ value: AVRational, _ perUnit: Double) -> Int? {
        let number = Double(value.num) / Double(value.den) * perUnit
        return number.isFinite && number >= 0 && number <= Double(UInt32.max) ? Int(number.rounded()) : nil
    }
}

extension Demuxer {
    static func masteringDisplay(_ stream: AVStream) -> [UInt8]? {
        sideData(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AVMasteringDisplayMetadata.self)
            .flatMap(StaticLight.bytes)
    }

    static func contentLight(_ stream: AVStream) -> [UInt8]? {
        sideData(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, AVContentLightMetadata.self).flatMap(StaticLight.bytes)
    }

    private static func sideData<Value: BitwiseCopyable>(
        _ stream: AVStream, _ type: AVPacketSideDataType, _: Value.Type
    ) -> Value? {
        for index in 0..<Int(stream.nb_side_data) {
            guard let data = stream.side_data?[index], data.type == type, let bytes = data.data,
                data.size >= MemoryLayout<Value>.size
            else { continue }
            return UnsafeRawPointer(bytes).loadUnaligned(as: Value.self)
        }
        return nil
    }
}

/// What the first frame of a stream says of its light, for files whose container does not.
struct FirstFrameLight {
    var masteringDisplay: [UInt8]?
    var contentLight: [UInt8]?

    /// Packets after which a stream without a picture is given up.
    private static let maxPackets = 256

    /// Decodes the first frame of the stream with a demuxer and a decoder of its own: the reader's keep their place.
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
                masteringDisplay = Self.sideData(
                    frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AVMasteringDisplayMetadata.self
                ).flatMap(StaticLight.bytes)
                contentLight = Self.sideData(
                    frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AVContentLightMetadata.self
                ).flatMap(StaticLight.bytes)
                return
            }
            if !isOpen { return }
        }
    }

    private static func sideData<Value: BitwiseCopyable>(
        _ frame: UnsafePointer<AVFrame>, _ type: AVFrameSideDataType, _: Value.Type
    ) -> Value? {
        guard let data = av_frame_get_side_data(frame, type), data.pointee.size >= MemoryLayout<Value>.size,
            let bytes = data.pointee.data
        else { return nil }
        return UnsafeRawPointer(bytes).loadUnaligned(as: Value.self)
    }
}
