// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

extension LibAVSource {
    /// The state of an input after its streams are probed: its description, and which process decodes the video.
    struct Opening {
        let demuxer: Demuxer
        let stream: AVStream
        let otherStreams: [OtherStream]
        /// The streams whose packets are read.
        let streamsRead: Set<Int>
        /// The conversion of pictures to frames.
        let conversion: SampleConversion
        let video: VideoDescription
        /// The boxes of a movie; nil for other files and those that cannot be read twice.
        let boxes: SourceBoxes?
        /// The sample entries of a movie that the video's samples use.
        let sampleEntries: [Box]
        /// Whether this process decodes the video.
        let isDecoded: Bool
        /// Whether the video is left to the daemon.
        let isForDaemon: Bool

        private let series: ImageSeries?

        init(_ file: InputFile, _ options: MediaReader.Options, _ cancelFlag: CancelFlag) throws(MediaError) {
            let demuxer = try Demuxer(
                file, cancelFlag: cancelFlag, frameRate: options.frameRate, wantsAlpha: options.alpha != nil)
            // A pipe's first bytes were recorded while its streams were probed.
            let rereadable = file.rereadable
            defer { file.head?.endRecording() }
            boxes = demuxer.isMovie ? rereadable.flatMap(SourceBoxes.init) : nil
            try Self.useFirstEntry(demuxer, boxes)
            var (stream, parameters) = try Self.picture(of: demuxer)
            Self.useFirstColor(&parameters, rereadable, demuxer)
            self.demuxer = demuxer
            self.stream = stream
            series = file.series
            otherStreams = Self.otherStreams(demuxer, boxes, video: stream)
            guard !stream.isEncrypted, boxes?.isEncrypted(track: stream.id) != true else {
                throw MediaError(.unsupported, "\(demuxer.path): its video is encrypted, and no key is known")
            }
            streamsRead = Self.streamsRead(demuxer, otherStreams, options)
            demuxer.keepOnly(streamsRead)
            sampleEntries = boxes?.sampleEntries(track: stream.id) ?? []
            try Self.check(sampleEntries, demuxer.path)

            let isForDaemon = options.decoding == .daemonIfPossible && Self.isForDaemon(parameters, sampleEntries)
            let leadingUnits = Self.leadingUnits(demuxer, parameters, rereadable)
            let hasAlphaLayer =
                AlphaLayerInfo(nalUnits: HEVCConfiguration(parameters.configuration).nalUnits + leadingUnits)
                != nil
            conversion = try Self.conversion(
                demuxer, parameters, options, leavesAlpha: isForDaemon && hasAlphaLayer)
            self.isForDaemon = isForDaemon
            isDecoded = options.decoding != .disabled && !isForDaemon

            var video = demuxer.describeVideo(stream, parameters, conversion)
            video.alphaMode = conversion.alpha?.frameMode(of: SampleFormats.traits(conversion.source))
            video.frameCount = video.frameCount ?? series?.count
            if let rate = options.frameRate, demuxer.isUntimed, let ticks = rate.inverse {
                // The requested rate takes precedence over the one in the stream's VUI.
                (video.averageFrameRate, video.baseFrameRate, video.timeBase) = (rate, rate, ticks)
            }
            video.leadingUnits = leadingUnits
            video.cleanAperture =
                boxes?.cleanAperture(track: stream.id, width: video.width, height: video.height)
                ?? demuxer.matroska?.aperture(demuxer.videoIndex, width: video.width, height: video.height)
            if let matroska = demuxer.matroska {
                video.sampleAspectRatio = matroska.aspect(
                    demuxer.videoIndex, video.sampleAspectRatio, width: video.width, height: video.height)
            }
            if let rereadable { Self.addFirstPicture(&video, rereadable, demuxer, parameters) }
            self.video = video
        }

        /// Adds what only the first picture says: its fields, and HDR metadata where the container has none.
        private static func addFirstPicture(
            _ video: inout VideoDescription, _ file: InputFile, _ demuxer: Demuxer, _ parameters: AVCodecParameters
        ) {
            lazy var first = FirstFrame(file, streamIndex: demuxer.videoIndex, cancelFlag: demuxer.cancelFlag)
            if video.color.isHDR, video.masteringDisplay == nil, video.contentLight == nil {
                (video.masteringDisplay, video.contentLight) = (first.masteringDisplay, first.contentLight)
            }
            lazy var head = StreamHead.nalUnits(
                file, streamIndex: demuxer.videoIndex,
                framing: HEVCConfiguration(parameters.configuration).framing, includesRPU: true,
                cancelFlag: demuxer.cancelFlag)
            if video.color.isHDR, parameters.codec_id == AV_CODEC_ID_HEVC {
                let configured = HDRMessages.ambientViewing(HEVCConfiguration(parameters.configuration).nalUnits)
                video.ambientViewing = configured ?? HDRMessages.ambientViewing(head)
                // A file of another kind than movies may have no record of its Dolby Vision.
                if !demuxer.isMovie { video.deriveDolbyVision(from: head) }
            }
            let fields = VideoFields(parameters) {
                head
            } firstFrame: {
                first
            }
            (video.isInterlaced, video.fieldDetail) = (fields.isInterlaced, fields.detail)
            if parameters.codec_id == AV_CODEC_ID_HEVC {
                video.hasFieldPictures = HEVCConfiguration.baseLayerSets(
                    HEVCConfiguration(parameters.configuration).nalUnits
                ).contains { $0.vuiParameters?.fieldSeqFlag ?? false }
            }
        }

        /// The other streams, with what only boxes say about them.
        private static func otherStreams(
            _ demuxer: Demuxer, _ boxes: SourceBoxes?, video: AVStream
        ) -> [OtherStream] {
            demuxer.otherStreams.map { other in
                guard let boxes, let track = demuxer.stream(other.index)?.pointee.id else { return other }
                var other = other
                other.title = other.title ?? boxes.title(track: track)
                other.isEncrypted = other.isEncrypted || boxes.isEncrypted(track: track)
                other.isTimedMetadata =
                    other.content == .data && !other.isTimecode && !other.isChapterTitles
                    && boxes.timedMetadata(track: track, video: video.id) != nil
                return other
            }
        }

        /// The boxes of tracks of timed metadata by stream number.
        var timedMetadata: [Int: TimedMetadataBoxes] {
            var found: [Int: TimedMetadataBoxes] = [:]
            for other in otherStreams where other.isTimedMetadata {
                guard let track = demuxer.stream(other.index)?.pointee.id else { continue }
                found[other.index] = boxes?.timedMetadata(track: track, video: stream.id)
            }
            return found
        }

        /// Notices about the input to show before it is used, one line each.
        func warnings(_ options: MediaReader.Options) -> [String] {
            var warnings = [series?.warning, demuxer.file.cutRecordingWarning].compactMap { $0 }
            if isDecoded, conversion.alpha == nil, Demuxer.alphaDecoder(stream) != nil {
                warnings.append("warning: the input's alpha, which is stored beside its pictures, is left out")
            }
            if options.decoding != .disabled, let layers = otherLayers {
                warnings.append("warning: the input's \(layers) is left out: its base layer alone is decoded")
            }
            return warnings + [video.interlacedWarning].compactMap { $0 }
        }

        /// The layers of HEVC that are not decoded; nil where there are none.
        private var otherLayers: String? {
            guard let parameters = stream.codecpar?.pointee, parameters.codec_id == AV_CODEC_ID_HEVC else {
                return nil
            }
            return OtherLayers.name(
                HEVCConfiguration(parameters.configuration).nalUnits,
                hasLayeredRecord: boxes?.entryBoxes(track: stream.id, ["lhvC"]).isEmpty == false)
        }

        /// The video stream.
        /// - Throws: `badInput` without one, and where its pictures have no size or format.
        private static func picture(
            of demuxer: Demuxer
        ) throws(MediaError) -> (AVStream, AVCodecParameters) {
            let path = demuxer.path
            guard let stream = demuxer.video, let parameters = stream.codecpar?.pointee else {
                throw MediaError(.badInput, "\(path) has no video stream")
            }
            guard parameters.width > 0, parameters.height > 0, parameters.format >= 0 else {
                if let error = Demuxer.indexBehind(demuxer.file) { throw error }
                let reason = "\(path): its video stream has no picture that can be decoded"
                throw MediaError(.badInput, LibAVLog.explain(reason))
            }
            try VideoDecoder.checkSize(width: Int(parameters.width), height: Int(parameters.height), path)
            return (stream, parameters)
        }

        /// Describes the stream by the entry of its first sample: libavformat does by the track's first entry.
        private static func useFirstEntry(_ demuxer: Demuxer, _ boxes: SourceBoxes?) throws(MediaError) {
            guard let stream = demuxer.stream(demuxer.videoIndex)?.pointee, let parameters = stream.codecpar,
                parameters.pointee.codec_id == AV_CODEC_ID_HEVC,
                let bytes = boxes?.firstConfiguration(track: stream.id)
            else { return }
            guard parameters.pointee.describe(HEVCConfiguration(bytes), bytes) else {
                throw MediaError(.badInput, "\(demuxer.path): the sample entry of its first picture is damaged")
            }
        }

        /// Describes a stream without a container by the color of its first frame.
        ///
        /// libavformat decodes many frames of H.264 while it probes, and its description is the last one's.
        private static func useFirstColor(
            _ parameters: inout AVCodecParameters, _ file: InputFile?, _ demuxer: Demuxer
        ) {
            if parameters.codec_id == AV_CODEC_ID_PNG { return usePNGColor(&parameters, demuxer) }
            guard parameters.codec_id == AV_CODEC_ID_H264, demuxer.isUntimed, let file else { return }
            let first = FirstFrame(file, streamIndex: demuxer.videoIndex, cancelFlag: demuxer.cancelFlag)
            first.color?.write(to: &parameters)
        }

        /// Takes the color of the first picture of PNG.
        private static func usePNGColor(_ parameters: inout AVCodecParameters, _ demuxer: Demuxer) {
            let first = FirstFrame(
                demuxer.file.rereadable ?? demuxer.file, streamIndex: demuxer.videoIndex,
                cancelFlag: demuxer.cancelFlag)
            guard let color = first.color, color.isSpecified else { return }
            parameters.color_primaries = AVColorPrimaries(rawValue: UInt32(color.primaries))
            parameters.color_trc = AVColorTransferCharacteristic(rawValue: UInt32(color.transfer))
        }

        private static func streamsRead(
            _ demuxer: Demuxer, _ others: [OtherStream], _ options: MediaReader.Options
        ) -> Set<Int> {
            var streamsRead: Set<Int> = [demuxer.videoIndex]
            if options.includesOtherStreams {
                streamsRead.formUnion(
                    others.filter { $0.content == .audio || $0.isText }.map(\.index))
            }
            return streamsRead
        }

        /// Whether the daemon may decode such a stream: HEVC with its parameter sets, in a format it returns.
        private static func isForDaemon(_ parameters: AVCodecParameters, _ entries: [Box]) -> Bool {
            parameters.codec_id == AV_CODEC_ID_HEVC && parameters.extradata_size > 0
                && SampleFormats.native(AVPixelFormat(rawValue: parameters.format)) != nil
                && entries.allSatisfy {
                    $0.first("hvcC").map { HEVCConfiguration($0.fields).isForSessions } ?? true
                }
        }

        /// Refuses sample entries of several codecs: libavformat reads the samples of the first one's alone.
        private static func check(_ entries: [Box], _ path: String) throws(MediaError) {
            // The codes that mov.c takes for names of one codec.
            let synonyms: [FourCC] = ["apcn", "apch", "dvpp", "dvcp", "AV1x", "AVup"]
            guard let first = entries.first?.type, !synonyms.contains(first),
                let other = entries.first(where: { $0.type != first })?.type
            else { return }
            throw MediaError(
                .unsupported, "\(path): the video changes from \(first) to \(other), which is not supported")
        }

        /// The NAL units before the first picture of a byte stream, where only they signal the alpha layer's mode.
        private static func leadingUnits(
            _ demuxer: Demuxer, _ parameters: AVCodecParameters, _ file: InputFile?
        ) -> [[UInt8]] {
            guard parameters.codec_id == AV_CODEC_ID_HEVC, let file,
                AlphaLayerInfo.isUnsignaled(in: parameters.configuration)
            else { return [] }
            return StreamHead.nalUnits(file, streamIndex: demuxer.videoIndex, cancelFlag: demuxer.cancelFlag)
        }

        /// - Parameter leavesAlpha: whether alpha is in a layer that the daemon decodes.
        private static func conversion(
            _ demuxer: Demuxer, _ parameters: AVCodecParameters, _ options: MediaReader.Options, leavesAlpha: Bool
        ) throws(MediaError) -> SampleConversion {
            let source = demuxer.alphaDecoderFormat ?? AVPixelFormat(rawValue: parameters.format)
            let isDropped = leavesAlpha || options.isAlphaOptional && !SampleFormats.traits(source).hasAlpha
            return try SampleConversion(
                source: source, color: ColorDescription(parameters), height: Int(parameters.height),
                path: demuxer.path, alpha: isDropped ? nil : options.alpha)
        }
    }
}

extension AVCodecParameters {
    /// Replaces the configuration record, and what its SPS describes; false where it has none that can be parsed.
    mutating func describe(_ configuration: HEVCConfiguration, _ bytes: [UInt8]) -> Bool {
        guard let sps = HEVCConfiguration.baseLayerSets(configuration.nalUnits).first, sps.width > 0,
            sps.height > 0,
            let memory = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
        else { return false }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: memory, count: $0.count).copyMemory(from: $0)
        }
        av_free(extradata)
        extradata = memory.assumingMemoryBound(to: UInt8.self)
        extradata_size = Int32(bytes.count)
        (width, height) = (Int32(clamping: sps.width), Int32(clamping: sps.height))
        let depth = sps.bitDepthLuma > 8 ? "\(sps.bitDepthLuma)le" : ""
        let layouts = ["gray", "yuv420p", "yuv422p", "yuv444p"]
        let layout = layouts.indices.contains(sps.chromaFormatIdc) ? layouts[sps.chromaFormatIdc] : ""
        format = av_get_pix_fmt(layout + depth).rawValue
        if let color = sps.colourDescription {
            color_primaries = AVColorPrimaries(rawValue: UInt32(clamping: color.colourPrimaries))
            color_trc = AVColorTransferCharacteristic(rawValue: UInt32(clamping: color.transferCharacteristics))
            color_space = AVColorSpace(rawValue: UInt32(clamping: color.matrixCoeffs))
        }
        color_range = sps.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        return true
    }

    /// The codec's configuration record, or the start of an elementary stream; empty where there is none.
    var configuration: [UInt8] {
        guard let extradata, extradata_size > 0 else { return [] }
        return Array(UnsafeBufferPointer(start: extradata, count: Int(extradata_size)))
    }
}

extension Demuxer {
    /// A decoder for the video stream; `threads` 0 is one per core.
    func makeDecoder(threads: Int) throws(MediaError) -> VideoDecoder {
        guard let video else { throw MediaError(.badInput, "\(path) has no video stream") }
        return try VideoDecoder(decoder, video, threads: threads, hooks: DecoderHooks(tally), path: path)
    }
}
