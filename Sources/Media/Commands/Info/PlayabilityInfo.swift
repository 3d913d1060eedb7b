// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// How a file's video can be played at the speed that was measured with it, for `hwctl info`.
struct PlayabilityInfo: Encodable {
    /// What a speed of play, or scrubbing, comes down to.
    struct Mode: Encodable {
        /// `every_frame`, `levels`, `key_frames` or `no`.
        private var answer: String
        /// The highest temporal level that is shown; nil for other answers.
        private var level: Int?
        /// Decoded pictures a second that showing every frame needs.
        private var needed: Double
        private var decodesPerFrame: Double

        enum CodingKeys: String, CodingKey {
            case answer, level
            case needed = "needed_frames_per_second"
            case decodesPerFrame = "decodes_per_frame"
        }

        init(_ mode: Playability.Mode) {
            switch mode.answer {
            case .everyFrame: answer = "every_frame"
            case .levels(let highest): (answer, level) = ("levels", highest)
            case .keyFrames: answer = "key_frames"
            case .no: answer = "no"
            }
            (needed, decodesPerFrame) = (mode.needed, mode.decodesPerFrame)
        }

        /// `by key frames (every frame needs 210.0 decoded a second, 3.5 for each)`.
        var text: String {
            let word =
                switch answer {
                case "every_frame": "every frame"
                case "levels": "by temporal levels 0 to \(level ?? 0)"
                case "key_frames": "by key frames"
                default: "no"
                }
            let each = decodesPerFrame > 1 ? ", \(Progress.decimal(decodesPerFrame, 1)) for each" : ""
            let subject = answer == "every_frame" ? "" : "every frame "
            return "\(word) (\(subject)needs \(Progress.decimal(needed, 1)) decoded a second\(each))"
        }
    }

    private var framesPerSecond: Double
    private var groupLength: Int
    /// Whether the whole file was read for it.
    private var isWholeFile: Bool
    private var reversePictures: Int
    private var forward: Mode
    private var fastForward: Mode
    private var reverse: Mode
    private var fastReverse: Mode
    private var scrubbing: Mode

    enum CodingKeys: String, CodingKey {
        case reverse, scrubbing, forward
        case framesPerSecond = "decoded_frames_per_second"
        case groupLength = "group_length"
        case isWholeFile = "whole_file_searched"
        case reversePictures = "reverse_pictures"
        case fastForward = "forward_2x"
        case fastReverse = "reverse_2x"
    }

    /// The most packets of the video that are searched for key frames, and their bytes.
    private static let most = (packets: 4096, bytes: 64 << 20)

    /// Nil where the file can be read only once, or its frame rate is not known.
    ///
    /// - Parameters:
    ///   - video: what was decoded.
    ///   - levels: its temporal levels.
    ///   - framesPerSecond: decoded pictures a second, measured with this file.
    /// - Throws: errors of the file; `interrupted`.
    init?(
        _ file: InputFile, _ video: VideoDescription, levels: [TemporalLevelInfo], framesPerSecond: Double,
        isInterrupted: () -> Bool
    ) throws(MediaError) {
        guard file.isSeekable, let rate = (video.averageFrameRate ?? video.baseFrameRate)?.value else { return nil }
        let groups = try Self.longestGroup(file, isInterrupted)
        let rates = levels.compactMap { $0.frameRate.flatMap { Self.rate($0) } }.map { min($0, rate) }
        let found = Playability(
            Playability.Video(
                width: video.width, height: video.height, bitDepth: video.sourceBitDepth, frameRate: rate,
                groupLength: groups.length, levelRates: rates.count == levels.count ? rates : []),
            Playability.Speed(framesPerSecond: framesPerSecond, width: video.width, height: video.height))
        guard let found else { return nil }
        self.framesPerSecond = found.framesPerSecond
        (groupLength, isWholeFile, reversePictures) = (groups.length, groups.isWhole, found.reversePictures)
        (forward, fastForward) = (Mode(found.forward), Mode(found.fastForward))
        (reverse, fastReverse) = (Mode(found.reverse), Mode(found.fastReverse))
        scrubbing = Mode(found.scrubbing)
    }

    /// The most pictures from a key frame to the next, and whether the whole file was read for that.
    private static func longestGroup(
        _ file: InputFile, _ isInterrupted: () -> Bool
    ) throws(MediaError) -> (length: Int, isWhole: Bool) {
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(file, options: options)
        var (longest, length, packets, bytes) = (0, 0, 0, 0)
        while packets < most.packets, bytes < most.bytes {
            if isInterrupted() { throw MediaError(.interrupted, "interrupted") }
            guard let item = try reader.next() else { return (max(1, longest, length), true) }
            guard case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex else { continue }
            if packet.isSync { (longest, length) = (max(longest, length), 0) }
            length += 1
            packets += 1
            bytes += packet.byteCount
        }
        return (max(1, longest, length), false)
    }

    /// `30000/1001` as a number.
    private static func rate(_ text: String) -> Double? {
        let parts = text.split(separator: "/").map { Double($0) }
        guard let first = parts.first, let numerator = first, parts.count <= 2 else { return nil }
        guard parts.count == 2 else { return numerator }
        return parts[1].flatMap { $0 > 0 ? numerator / $0 : nil }
    }

    /// The human-readable lines.
    var rows: [[String]] {
        [
            ["  plays at 1x", forward.text], ["  plays at 2x", fastForward.text],
            ["  in reverse at 1x", reverse.text], ["  in reverse at 2x", fastReverse.text],
            ["  scrubbing", scrubbing.text],
            [
                "  computed from",
                "\(Progress.decimal(framesPerSecond, 1)) decoded a second, groups of "
                    + "\(isWholeFile ? "" : "at least ")\(groupLength) pictures, "
                    + "\(reversePictures) in memory in reverse",
            ],
        ]
    }
}
