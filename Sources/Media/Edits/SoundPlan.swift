// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDMetadata

/// What happens to each track of a source's sound in a container.
///
/// No track is lost in silence: what can be neither copied nor converted is left out with a reason where another track
/// remains, and is an error where it is the last sound.
package struct SoundPlan {
    /// What happens to a track.
    package enum Treatment: Hashable {
        case copied
        /// Converted, for a reason, to the first of these codecs that can code it.
        case converted([SoundCodec], String)
        case leftOut(String)

        /// Whether the output gets the track.
        package var isKept: Bool { if case .leftOut = self { false } else { true } }
    }

    /// Why a track can be neither copied nor converted, and what else the user can do.
    private struct Loss: Error {
        var track: OtherStream
        var cause: String
        var remedy: String
    }

    /// What libavformat and libavcodec can do with the tracks, which are named by their streams' numbers.
    package struct Abilities {
        /// Whether a container holds the track's codec.
        var holds: (_ index: Int, _ format: OutputFormat) -> Bool
        /// Whether there is a decoder for the track.
        var decodes: (_ index: Int) -> Bool
        /// Whether the track's codec loses nothing.
        var isLossless: (_ index: Int) -> Bool
        /// Whether there is an encoder.
        var encodes: (SoundCodec) -> Bool
        /// Whether a container holds a codec.
        package var writes: (SoundCodec, OutputFormat) -> Bool
        /// Whether the track's packets alone have the configuration that a container has in its header, which is written before.
        var comesLate: (_ index: Int, _ format: OutputFormat) -> Bool

        /// The answers to these questions.
        package init(
            holds: @escaping (_ index: Int, _ format: OutputFormat) -> Bool,
            decodes: @escaping (_ index: Int) -> Bool, isLossless: @escaping (_ index: Int) -> Bool,
            encodes: @escaping (SoundCodec) -> Bool,
            writes: @escaping (SoundCodec, OutputFormat) -> Bool = { _, _ in true },
            comesLate: @escaping (_ index: Int, _ format: OutputFormat) -> Bool = { _, _ in false }
        ) {
            (self.holds, self.decodes, self.isLossless) = (holds, decodes, isLossless)
            (self.encodes, self.writes, self.comesLate) = (encodes, writes, comesLate)
        }
    }

    /// By stream number.
    package private(set) var treatments: [Int: Treatment] = [:]

    private let format: OutputFormat
    private let options: SoundOptions
    private let abilities: Abilities

    /// - Parameters:
    ///   - tracks: the source's streams of sound.
    ///   - format: the output's.
    ///   - path: the source's, for errors.
    /// - Throws: `unsupported` where the last sound would be lost, or the chosen track does not exist.
    package init(
        _ tracks: [OtherStream], _ format: OutputFormat, _ options: SoundOptions, _ abilities: Abilities,
        path: String
    ) throws(MediaError) {
        (self.format, self.options, self.abilities) = (format, options, abilities)
        let chosen = try Self.chosen(tracks, options.track, path)
        var losses: [Loss] = []
        for track in tracks {
            if options.form == SoundOptions.Form.none {
                treatments[track.index] = .leftOut("--audio none was given")
            } else if !chosen.contains(track.index) {
                treatments[track.index] = .leftOut(
                    options.track == nil ? OtherStream.otherProgram : "--audio-track selects another")
            } else {
                do throws(Loss) {
                    treatments[track.index] = try treatment(track)
                } catch {
                    losses.append(error)
                    treatments[track.index] = .leftOut(error.cause)
                }
            }
        }
        guard let first = losses.first, !treatments.values.contains(where: \.isKept) else { return }
        try Self.refuse(first.track, because: first.cause, options, remedy: first.remedy)
    }

    /// The numbers of the tracks that are kept.
    private static func chosen(
        _ tracks: [OtherStream], _ track: SoundOptions.Track?, _ path: String
    ) throws(MediaError) -> Set<Int> {
        let found: [OtherStream]
        let wanted: String
        switch track {
        case nil: return Set(tracks.filter { !$0.isOfOtherProgram }.map(\.index))
        case .number(let number):
            wanted = "\(number)"
            found = tracks.indices.contains(number - 1) ? [tracks[number - 1]] : []
        case .language(let language):
            wanted = language
            found = tracks.filter { $0.language == language }
        }
        guard found.isEmpty else { return Set(found.map(\.index)) }
        let list = tracks.enumerated().map { number, track in
            "\(number + 1) (\(track.codec)\(track.language.map { ", \($0)" } ?? ""))"
        }
        throw MediaError(
            .unsupported,
            "\(path) has no audio track \(wanted): it has "
                + (list.isEmpty ? "no sound" : list.joined(separator: ", ")))
    }

    private func treatment(_ track: OtherStream) throws(Loss) -> Treatment {
        if track.isEncrypted { throw loss(track, ["it is encrypted"]) }
        let comesLate = abilities.comesLate(track.index, format)
        let isHeld = !comesLate && abilities.holds(track.index, format)
        let isAsked = options.form.map { $0.rawValue == track.codec } ?? true
        if isHeld, options.form == .copy || isAsked && options.bitRate == nil { return .copied }
        let cause: String? =
            if comesLate {
                "\(format.title) on standard output describes speakers in its header, this track in its packets alone"
            } else {
                isHeld ? nil : "\(format.title) holds no \(track.codec)"
            }
        guard options.form != .copy else { throw loss(track, [cause]) }
        guard abilities.decodes(track.index) else {
            throw loss(track, [cause, "libavcodec cannot decode \(track.codec)"])
        }
        let wanted: [SoundCodec] =
            switch options.form {
            case .alac: [.alac]
            case nil where abilities.isLossless(track.index) && options.bitRate == nil: [.alac, .aac]
            default: [.aac]
            }
        let held = wanted.filter { abilities.writes($0, format) }
        guard !held.isEmpty else {
            throw loss(track, [cause, "\(format.title) holds no \(wanted[0].name)"])
        }
        let codecs = held.filter(abilities.encodes)
        guard !codecs.isEmpty else {
            throw loss(track, [cause, "libavcodec has no \(wanted[0].name) encoder"])
        }
        return .converted(codecs, cause ?? "as requested")
    }

    private func loss(_ track: OtherStream, _ causes: [String?]) -> Loss {
        Loss(track: track, cause: causes.compactMap { $0 }.joined(separator: ", and "), remedy: remedy(track))
    }

    /// What else the user can do.
    private func remedy(_ track: OtherStream) -> String {
        let other: OutputFormat? = [.mov: .mp4, .mp4: .mov][format]
        var remedies: [String] = []
        if options.form == .copy, abilities.decodes(track.index), abilities.encodes(.aac) {
            remedies.append("--audio aac")
        }
        if let other, abilities.holds(track.index, other) { remedies.append(other.title) }
        return (remedies + ["--drop-audio"]).joined(separator: ", or ")
    }

    /// Refuses to leave out the last track of sound, unless that is allowed.
    /// - Throws: `unsupported`.
    package static func refuse(
        _ track: OtherStream, because cause: String, _ options: SoundOptions, remedy: String = "--drop-audio"
    ) throws(MediaError) {
        guard !options.dropsUnsupported else { return }
        throw MediaError(
            .unsupported, "the sound would be lost: \(cause) (stream \(track.index)); use \(remedy)")
    }
}
