// SPDX-License-Identifier: GPL-2.0-or-later
package import HWClient
internal import HWDColor
package import HWDControlCommands
package import HWDModel
internal import HWDSystem
internal import HWDWire
package import HWOutput

/// A file that is played and how, for a window and for `--headless`.
package struct PlaySetup {
    package let arguments: PlayArguments
    package let video: PlayedVideo
    /// Where play begins, in nanoseconds.
    package let start: Int64
    /// Whether play begins paused, at its first frame.
    package var isPaused: Bool { arguments.at != nil }
    /// The samples of frames.
    package var format: PixelFormat
    private let conversion: CreateTransferSession.Options

    /// Bytes of tables that a call has room for, together, beside its other members.
    private static let tableRoom = 56 << 10

    /// Opens the file and reads the tables of effects.
    package init(_ arguments: PlayArguments) throws(CommandFailure) {
        self.arguments = arguments
        video = try PlayedVideo(path: arguments.file, maxLevel: arguments.maxLevel)
        let begin = (arguments.start ?? arguments.at).flatMap(PlayArguments.nanoseconds)
        start = begin ?? (arguments.rate < 0 ? video.duration : 0)
        format = arguments.format.flatMap { PixelFormat(rawValue: $0) } ?? .bgra8
        conversion = try Self.conversion(arguments)
    }

    private static func conversion(_ arguments: PlayArguments) throws(CommandFailure)
        -> CreateTransferSession.Options
    {
        var options = CreateTransferSession.Options()
        // Half floats keep what is brighter than reference white.
        if arguments.format != PixelFormat.rgba16f.rawValue { options.targetHeadroom = 1 }
        var (files, texts): ([String], [String]) = ([], [])
        for effect in arguments.effectList.effects {
            if let file = effect.file, !files.contains(file) { files.append(file) }
            texts.append(effect.text(table: effect.file.flatMap { files.firstIndex(of: $0) }))
        }
        var tables: [String] = []
        for file in files { tables.append(try table(file)) }
        guard tables.reduce(0, { $0 + $1.utf8.count + $1.utf8.count { $0 == 0x0A } }) <= tableRoom else {
            throw CommandFailure(
                .badInput, "the tables of the effects are larger than play takes: use smaller ones")
        }
        options.effects = texts
        options.tables = tables.isEmpty ? nil : tables
        return options
    }

    private static func table(_ path: String) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        do { bytes = try BoundedFile.read(path, limit: CubeTable.maxBytes) } catch {
            throw CommandFailure(.noInput, "\(path): \(error.reason)")
        }
        do throws(SessionError) { return try CubeTable(text: bytes).compactText } catch {
            throw CommandFailure(.badInput, "\(path): \(error.reason)")
        }
    }

    /// An output at the first frame, which plays unless it is paused.
    package func open(_ daemon: Daemon, clock: any OutputClock) throws -> VideoOutput {
        var options = VideoOutput.Options()
        let isFloat = format == .rgba16f
        options.target = .init(
            pixelFormat: format.rawValue, primaries: "709", transfer: isFloat ? nil : "srgb",
            alpha: format.hasAlpha ? "premultiplied" : nil)
        options.conversion = conversion
        options.isLooping = arguments.loop
        let output = try VideoOutput(daemon, video, options: options, clock: clock)
        if start != 0 { output.seek(to: start) }
        if !isPaused { output.play(rate: arguments.rate) }
        return output
    }

    /// The failure of a time that has no frame, or of a video that has none.
    package var nothingShown: CommandFailure {
        CommandFailure(
            .badInput, "\(arguments.file) has no frame to show from \(arguments.start ?? arguments.at ?? "0") s on")
    }

    /// Writes what happened to standard error.
    /// - Throws: why no frame follows.
    package func report(_ events: [OutputEvent]) throws(CommandFailure) {
        for event in events {
            switch event {
            case .flushed, .ended: continue
            case .cutShort(let reason): Console.note("warning: \(arguments.file) ends early: \(reason)")
            case .notConverted(let reason): Console.note("warning: a frame cannot be shown: \(reason)")
            case .failed(let reason): throw CommandFailure(.software, "\(arguments.file): \(reason)")
            }
        }
    }
}
