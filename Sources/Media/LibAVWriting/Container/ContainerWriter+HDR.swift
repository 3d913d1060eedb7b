// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDEdits
internal import HWDHEVC
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata

extension ContainerWriter {
    /// Attaches HDR static metadata and Dolby Vision's record, which libavformat's muxers write where their formats have them.
    func attachHDR(of track: VideoTrack, to stream: UnsafeMutablePointer<AVStream>) throws(MediaError) {
        if let bytes = track.masteringDisplay, let display = HDRStaticMetadata.masteringDisplay(bytes) {
            try attach(display, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, to: stream)
        }
        if let bytes = track.contentLight, let level = HDRStaticMetadata.contentLight(bytes) {
            try attach(level, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, to: stream)
        }
        if let bytes = track.dolbyVision, let record = DolbyVisionBox.record(bytes) {
            try attach(record, AV_PKT_DATA_DOVI_CONF, to: stream)
        }
    }

    /// Attaches the source's description of a sphere and of two views in a picture, if the track still has it.
    func attachProjection(of track: VideoTrack, to stream: UnsafeMutablePointer<AVStream>) throws(MediaError) {
        // Matroska's muxer takes the arrangement from the metadata.
        if format == .matroska { av_dict_set(&stream.pointee.metadata, "stereo_mode", track.stereoMode, 0) }
        guard !track.projection.isEmpty, let source = projectionSource?.libAV?.demuxer.video else { return }
        if let mapping = source.sideData(AV_PKT_DATA_SPHERICAL, as: AVSphericalMapping.self) {
            try attach(mapping, AV_PKT_DATA_SPHERICAL, to: stream)
        }
        guard let stereo = source.sideData(AV_PKT_DATA_STEREO3D, as: AVStereo3D.self) else { return }
        try attach(stereo, AV_PKT_DATA_STEREO3D, to: stream)
    }

    private func attach<Value: BitwiseCopyable>(
        _ value: Value, _ type: AVPacketSideDataType, to stream: UnsafeMutablePointer<AVStream>
    ) throws(MediaError) {
        let size = MemoryLayout<Value>.size
        guard let data = clibav_new_side_data(stream, type, size) else {
            throw MediaError(.io, "\(sink.name): out of memory")
        }
        withUnsafeBytes(of: value) { UnsafeMutableRawBufferPointer(start: data, count: size).copyMemory(from: $0) }
    }
}

extension HDRStaticMetadata {
    /// libavutil's structure of the 24 bytes of an `mdcv` box; nil for other bytes.
    static func masteringDisplay(_ bytes: [UInt8]) -> AVMasteringDisplayMetadata? {
        let parts = [0, 2, 4, 6, 8, 10, 12, 14].compactMap { bytes.bigEndian(at: $0, 2) }
        guard bytes.count == 24, parts.count == 8, let highest = bytes.bigEndian(at: 16, 4),
            let lowest = bytes.bigEndian(at: 20, 4), highest <= Int32.max, lowest <= Int32.max
        else { return nil }
        func ratio(_ value: UInt64, _ units: Int32) -> AVRational { AVRational(num: Int32(value), den: units) }
        func point(_ index: Int) -> (AVRational, AVRational) {
            (ratio(parts[index * 2], 50_000), ratio(parts[index * 2 + 1], 50_000))
        }
        var display = AVMasteringDisplayMetadata()
        // H.265 D.3.28 has green, blue, red; libavutil's order is red, green, blue.
        display.display_primaries = (point(2), point(0), point(1))
        display.white_point = point(3)
        display.max_luminance = ratio(highest, 10_000)
        display.min_luminance = ratio(lowest, 10_000)
        (display.has_primaries, display.has_luminance) = (1, 1)
        return display
    }

    /// libavutil's structure of the 4 bytes of a `clli` box; nil for other bytes.
    static func contentLight(_ bytes: [UInt8]) -> AVContentLightMetadata? {
        guard bytes.count == 4, let highest = bytes.bigEndian(at: 0, 2), let average = bytes.bigEndian(at: 2, 2)
        else { return nil }
        return AVContentLightMetadata(MaxCLL: UInt32(highest), MaxFALL: UInt32(average))
    }
}

extension DolbyVisionBox {
    /// libavutil's structure of a configuration record's bytes; nil where they cannot be parsed.
    static func record(_ bytes: [UInt8]) -> AVDOVIDecoderConfigurationRecord? {
        guard let configuration = try? DolbyVisionConfiguration(bytes: bytes) else { return nil }
        var record = AVDOVIDecoderConfigurationRecord()
        record.dv_version_major = UInt8(clamping: configuration.versionMajor)
        record.dv_version_minor = UInt8(clamping: configuration.versionMinor)
        record.dv_profile = UInt8(clamping: configuration.profile)
        record.dv_level = UInt8(clamping: configuration.level)
        record.rpu_present_flag = configuration.hasRPU ? 1 : 0
        record.el_present_flag = configuration.hasEnhancementLayer ? 1 : 0
        record.bl_present_flag = configuration.hasBaseLayer ? 1 : 0
        record.dv_bl_signal_compatibility_id = UInt8(clamping: configuration.compatibilityID)
        return record
    }
}
