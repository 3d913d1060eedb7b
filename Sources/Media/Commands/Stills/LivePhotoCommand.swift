// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDSystem

/// `hwctl live-photo`.
struct LivePhotoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-photo",
        abstract: "Make a Live Photo of a HEIC picture and a video, or say whether two files are one.",
        discussion: """
            EXAMPLES
              hwctl live-photo photo.heic photo.mov
              hwctl live-photo --pair photo.heic photo.mov
              hwctl live-photo --pair --time 1.5 --output-dir pair photo.heic photo.mov

            The parts of a Live Photo have one identifier: STILL in the MakerNote of its Exif, CLIP in its metadata; CLIP also \
            has a track that says when STILL was taken. Without --pair they are shown, and the exit status is 1 where the \
            files are no pair.

            --pair writes them, in the files themselves unless --output-dir is given. Nothing is coded again. Other Exif, \
            tracks and metadata stay; the MakerNote of a maker other than Apple is replaced, which is noted.
            """)

    @Argument(help: "The HEIC picture.")
    var still: String

    @Argument(help: "The video, a .mov.")
    var clip: String

    @Flag(help: "Write an identifier and the time into the files.")
    var pair = false

    @Option(
        help: ArgumentHelp(
            "When STILL was taken, in seconds of CLIP; by default in its middle.", valueName: "seconds"))
    var time: Double?

    @Option(help: ArgumentHelp("The identifier, a UUID; a new one by default.", valueName: "uuid"))
    var identifier: String?

    @Option(
        help: ArgumentHelp(
            "Write the files to this directory under their names.", valueName: "dir"))
    var outputDir: String?

    @OptionGroup(title: "Files")
    var replacing: ReplaceArguments

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        if !pair,
            let option = [
                time.map { _ in "--time" }, identifier.map { _ in "--identifier" },
                outputDir.map { _ in "--output-dir" },
            ].compactMap({ $0 }).first
        {
            throw ValidationError("\(option) is for --pair.")
        }
        if outputDir == nil, replacing.skipExisting || replacing.noOverwrite || replacing.yes {
            throw ValidationError("-y, --no-overwrite and --skip-existing are for --output-dir.")
        }
        if let time, !(0...1e6).contains(time) { throw ValidationError("--time takes seconds, not \(time).") }
        if let identifier, !Self.isUUID(identifier) {
            throw ValidationError("--identifier takes a UUID, not '\(identifier)'.")
        }
    }

    /// Whether a text is 32 hexadecimal digits in five groups.
    private static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    func run() throws {
        // An interruption leaves neither file of a pair.
        try report(output: pair ? still : nil) {
            let (stillOutput, clipOutput) = (try output(still), try output(clip))
            if pair {
                let existing = outputDir == nil ? [] : [stillOutput, clipOutput].flatMap(FrameWriter.existingFiles)
                guard try replacing.writes(over: existing, asks: true) else {
                    return Console.file("\(existing[0]): exists, skipped")
                }
                // Before any other thread starts: threads inherit the blocked signals.
                let interruption = try Interruption()
                interruption.onSignal {}
                let before = try LivePhotoClip(clip)
                var request = LivePhotoPair.Request(
                    still: (still, stillOutput), clip: (clip, clipOutput),
                    identifier: (identifier ?? Self.newIdentifier()).uppercased(),
                    time: time ?? before.duration / 2)
                request.replaces = replacing.replaces
                let note = try LivePhotoPair.write(request) { interruption.isSet }
                if let note { Console.note("warning: \(note)") }
            }
            let result = LivePhotoInfo(
                still: stillOutput, clip: clipOutput,
                identifier: try LivePhotoPair.identifier(ofStill: stillOutput),
                try LivePhotoClip(clipOutput))
            try json ? Console.json(result) : Console.result(result.text)
            guard result.isPair else { throw CommandFailure.reportedDifference }
        }
    }

    private func output(_ path: String) throws -> String {
        guard let outputDir else { return path }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return outputDir.hasSuffix("/") ? outputDir + name : "\(outputDir)/\(name)"
    }

    /// A random UUID (RFC 9562 5.4).
    private static func newIdentifier() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        (bytes[6], bytes[8]) = (bytes[6] & 0x0F | 0x40, bytes[8] & 0x3F | 0x80)
        let digits = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }
}

/// What `hwctl live-photo` says of two files.
private struct LivePhotoInfo: Encodable {
    private var schema = 1
    private var still: String
    private var clip: String
    let isPair: Bool
    private var stillIdentifier: String?
    private var clipIdentifier: String?
    private var stillTime: Double?
    private var duration: Double

    enum CodingKeys: String, CodingKey {
        case schema, still, clip, duration
        case isPair = "pair"
        case stillIdentifier = "still_identifier"
        case clipIdentifier = "clip_identifier"
        case stillTime = "still_time"
    }

    init(still: String, clip: String, identifier: String?, _ found: LivePhotoClip) {
        (self.still, self.clip, stillIdentifier, clipIdentifier) = (still, clip, identifier, found.identifier)
        isPair = identifier != nil && identifier == found.identifier && found.stillTime != nil
        (stillTime, duration) = (found.stillTime, found.duration)
    }

    /// A human-readable table.
    var text: String {
        let time = stillTime.map { "\(Progress.decimal($0, 3)) s of \(Progress.decimal(duration, 3)) s" }
        return Console.table([
            ["STILL", FileName.printable(still)], ["  identifier", FileName.printable(stillIdentifier ?? "none")],
            ["CLIP", FileName.printable(clip)], ["  identifier", FileName.printable(clipIdentifier ?? "none")],
            ["  still picture", time.map { "at \($0)" } ?? "no time stated"],
            ["LIVE PHOTO", isPair ? "yes" : "no"],
        ])
    }
}
