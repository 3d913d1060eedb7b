// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

extension MediaInfo {
    /// The most packets of a file that are searched, and the most bytes.
    private static let maxPackets = 1 << 16
    private static let maxBytes = 256 << 20

    /// Searches the start of the HEVC and H.264 tracks, or all of short ones, for the metadata of single pictures.
    mutating func addScans(_ input: InputFile) {
        let indices = video.filter { !$0.picture && ["hevc", "h264"].contains($0.codec) }.map(\.stream)
        guard input.isSeekable, !indices.isEmpty,
            let demuxer = try? Demuxer(input, cancelFlag: CancelFlag())
        else { return }
        demuxer.keepOnly(Set(indices))
        var scans: [Int: StreamScan] = [:]
        for index in indices {
            guard let parameters = demuxer.stream(index)?.pointee.codecpar?.pointee else { continue }
            scans[index] = StreamScan(
                isHEVC: parameters.codec_id == AV_CODEC_ID_HEVC, configuration: parameters.configuration,
                color: ColorDescription(parameters))
        }
        let isWhole = Self.scan(demuxer, &scans)
        for index in video.indices {
            guard let scan = scans[video[index].stream] else { continue }
            video[index].add(scan, isWhole: isWhole)
        }
    }

    /// Returns whether all packets were read.
    private static func scan(_ demuxer: Demuxer, _ scans: inout [Int: StreamScan]) -> Bool {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet else { return false }
        var left = maxBytes
        for _ in 0..<maxPackets {
            guard (try? demuxer.read(into: packet)) ?? false else { return true }
            defer { av_packet_unref(packet) }
            let index = Int(packet.pointee.stream_index)
            guard let data = packet.pointee.data, scans[index] != nil else { continue }
            let bytes = Array(UnsafeBufferPointer(start: data, count: Int(max(0, packet.pointee.size))))
            left -= bytes.count
            guard left >= 0 else { return false }
            if let configuration = newConfiguration(packet) { scans[index]?.configure(configuration) }
            scans[index]?.add(bytes, start: start(packet, demuxer.stream(index)))
        }
        return false
    }

    private static func newConfiguration(_ packet: UnsafePointer<AVPacket>) -> [UInt8]? {
        var size = 0
        guard let data = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size) else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: size))
    }

    private static func start(
        _ packet: UnsafePointer<AVPacket>, _ stream: UnsafeMutablePointer<AVStream>?
    ) -> Double? {
        guard let base = stream?.pointee.time_base, base.den > 0, packet.pointee.pts != clibav_no_pts() else {
            return nil
        }
        return Double(packet.pointee.pts) * av_q2d(base)
    }
}

extension VideoTrackInfo {
    /// Fills in what the container's records say.
    mutating func addHDRRecords(_ stream: AVStream, _ boxes: SourceBoxes?) {
        dolbyVision = DolbyVisionInfo(DolbyVisionBox.make(stream).flatMap(DolbyVisionBox.configuration))
        ambientViewing = boxes?.entryBoxes(track: stream.id, ["amve"]).first
            .flatMap { AmbientViewingInfo($0.fields) }
    }

    /// Fills in what the pictures say.
    fileprivate mutating func add(_ scan: StreamScan, isWhole: Bool) {
        if codec == "hevc" {
            if dolbyVision == nil, scan.rpus + scan.damagedRPUs > 0 {
                dolbyVision = DolbyVisionInfo(profile: scan.rpuProfile, transfer: color.transfer.code)
            }
            dolbyVision?.add(scan)
            hdr10Plus = HDR10PlusInfo(scan)
            ambientViewing = ambientViewing ?? scan.ambientViewing.flatMap { AmbientViewingInfo($0) }
            masteringDisplay = masteringDisplay ?? scan.masteringDisplay.flatMap { MasteringDisplayInfo($0) }
            contentLight = contentLight ?? scan.contentLight.flatMap { ContentLightInfo($0) }
        }
        let found = (scan.hasCEA608 ? ["CEA-608"] : []) + (scan.hasCEA708 ? ["CEA-708"] : [])
        captions = found.isEmpty ? nil : found
        if scan.segments.count > 1 {
            colorSegments = scan.segments.map {
                ColorSegmentInfo(
                    firstFrame: $0.firstFrame, frames: $0.frames, start: $0.start, color: ColorInfo($0.color),
                    hdr: $0.color.isHDR)
            }
        }
        searchedFrames = isWhole ? nil : scan.frames
    }
}
