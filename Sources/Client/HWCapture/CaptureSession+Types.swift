// SPDX-License-Identifier: MIT
public import HWDModel

extension CaptureSession {
    /// What a recording can be asked for.
    public struct Options: Sendable {
        /// Whether a file that exists is replaced, when the first frame is there.
        public var replaces = false
        /// How long the recording is; nil until `stop`, or until the source ends.
        public var duration: Duration?
        /// Bytes of the file at most, at which the recording ends; nil without an end.
        public var maxSize: UInt64?
        /// The sound of the recording; nil for none.
        public var sound: CaptureSoundFeed?
        /// Properties of the compression session; they replace those of recordings: `RealTime`, no reordered pictures, a key frame
        /// every 2 s, and the bit rate that the size and rate of the frames recommend.
        public var properties: [PropertyKey: PropertyValue] = [:]
        /// `RequireHardwareAcceleratedVideoEncoder` and others.
        public var encoderSpecification: [PropertyKey: PropertyValue] = [:]
        /// Whether a trial of about a second finds the slowest preset of x265 that keeps up, where software codes and `properties`
        /// states neither a preset nor `PrioritizeEncodingSpeedOverQuality`.
        public var triesPresets = true

        /// A recording until `stop`.
        public init() {}
    }

    /// Why a recording has ended.
    public enum End: Sendable {
        /// `stop` was called, or nothing refers to the session any more.
        case stopped
        /// It has lasted for `Options.duration`.
        case duration
        /// The next frame would have exceeded `Options.maxSize`.
        case maxSize
        /// The source ended, and why.
        case source(String)
        /// It failed; the file has what was coded before.
        case failed(CaptureError)
    }

    /// The rate was halved, because more than 5 % of the frames of 5 s were dropped, or doubled again, because none was for 10 s or more.
    public struct Halving: Hashable, Sendable {
        /// Seconds of the recording.
        public var time: Double
        /// One of how many frames is recorded from then on.
        public var divisor: Int
    }

    /// Pictures of a size.
    public struct Size: Hashable, Sendable {
        /// Seconds of the recording from which on they come.
        public var time: Double
        /// In pixels.
        public var width: Int
        public var height: Int

        package init(time: Double, width: Int, height: Int) {
            (self.time, self.width, self.height) = (time, width, height)
        }
    }

    /// What was left out between `pause` and `resume`.
    public struct Pause: Hashable, Sendable {
        /// Seconds of the recording.
        public var time: Double
        /// The seconds that are not in the file.
        public var duration: Double
    }

    /// The beginning of a chapter.
    public struct Mark: Hashable, Sendable {
        /// Seconds of the recording.
        public var time: Double
        public var title: String
    }

    /// What became of the sound.
    public struct Sound: Hashable, Sendable {
        /// Packets that were taken, and those that would have overlapped others or found no room.
        public var packets = 0
        public var dropped = 0
        /// Seconds without sound between packets.
        public var silence = 0.0
    }

    /// What happened so far.
    public struct Counts: Sendable {
        /// Frames that were sent, and those that the source is known to have lost.
        public var captured = 0
        /// Those that are in no file, by their causes.
        public var dropped: [DropCause: Int] = [:]
        /// Frames that were recorded once more, because the source sends only what changes.
        public var repeated = 0
    }

    /// What was recorded: each frame that was captured is coded, or dropped with its time and cause.
    ///
    /// `captured` is `coded` less `repeated`, and `dropped`.
    public struct Receipt: Sendable {
        public var file: String
        /// Files with numbers that followed, because one has space for some dozen changes of the frames' size at most.
        public var furtherFiles: [String]
        /// Bytes of all files.
        public var size: UInt64
        /// Seconds.
        public var duration: Double
        /// Frames that were sent, and those that the source is known to have lost.
        public var captured: Int
        /// Frames in the file.
        public var coded: Int
        /// Frames that are in no file.
        public var dropped: Int
        public var droppedByCause: [DropCause: Int]
        /// Times and causes, of frames one after another in one entry.
        public var drops: [DropLog.Drop]
        /// Whether `drops` lacks entries, because there are more than 10,000.
        public var dropsCut: Bool
        /// Frames that were recorded once more, because the source sends only what changes; they are in `coded`.
        public var repeated: Int
        public var halvings: [Halving]
        /// The sizes after the first.
        public var newSizes: [Size]
        public var pauses: [Pause]
        /// Chapters.
        public var marks: [Mark]
        /// nil without sound.
        public var sound: Sound?
        /// Seconds between the two frames that are furthest apart.
        public var longestGap: Double
        /// How often the session continued in another process.
        public var restarts: Int
        /// The encoder, whether it is hardware, and why not.
        public var encoderID: String
        public var usesHardware: Bool
        public var fallbackReason: String?
        /// The preset that the trial has chosen.
        public var preset: String?
        public var end: End
    }
}
