// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDEdits
@testable import HWDMetadata

@Suite struct SoundPlanTests {
    /// What the plan says about one track of `codec`, with libraries that lack what is left out.
    private func treatment(
        of codec: String, in format: OutputFormat, _ options: SoundOptions = SoundOptions(), decodes: Bool = true,
        encoders: Set<SoundCodec> = [.aac, .alac]
    ) throws -> SoundPlan.Treatment? {
        let holds: [OutputFormat: [String]] = [
            .mov: ["aac", "alac", "pcm_s16le"], .mp4: ["aac", "alac", "flac", "opus"],
        ]
        let abilities = SoundPlan.Abilities(
            holds: { _, format in holds[format]?.contains(codec) ?? false }, decodes: { _ in decodes },
            isLossless: { _ in ["flac", "alac", "pcm_s16le"].contains(codec) }, encodes: encoders.contains)
        let track = OtherStream(
            index: 3, content: .audio, codec: codec, language: "eng", isPicture: false, isChapterTitles: false,
            isTimecode: false)
        return try SoundPlan([track], format, options, abilities, path: "in.mkv").treatments[3]
    }

    private func options(_ change: (inout SoundOptions) -> Void) -> SoundOptions {
        var options = SoundOptions()
        change(&options)
        return options
    }

    @Test func copiesWhatFitsAndConvertsTheRest() throws {
        #expect(try treatment(of: "aac", in: .mov) == .copied)
        #expect(try treatment(of: "flac", in: .mp4) == .copied)
        #expect(try treatment(of: "flac", in: .mov) == .converted([.alac, .aac], ".mov holds no flac"))
        #expect(try treatment(of: "opus", in: .mov) == .converted([.aac], ".mov holds no opus"))
        let aac = options { $0.form = .aac }
        #expect(try treatment(of: "aac", in: .mov, aac) == .copied)
        #expect(try treatment(of: "flac", in: .mp4, aac) == .converted([.aac], "as requested"))
        #expect(
            try treatment(of: "aac", in: .mov, options { $0.bitRate = 64_000 })
                == .converted([.aac], "as requested"))
        #expect(
            try treatment(of: "aac", in: .mov, options { $0.form = SoundOptions.Form.none })
                == .leftOut("--audio none was given"))
    }

    @Test func aMissingEncoderOrDecoderIsAnError() throws {
        func message(_ body: () throws -> Void) -> String {
            do { try body() } catch let error as MediaError where error.exitStatus == .badInput {
                return error.reason
            } catch {}
            return ""
        }
        #expect(
            message { _ = try treatment(of: "opus", in: .mov, encoders: []) }
                == "the sound would be lost: .mov holds no opus, and libavcodec has no AAC encoder (stream 3); "
                + "use .mp4, or --drop-audio")
        #expect(
            message { _ = try treatment(of: "apac", in: .mov, decodes: false) }
                == "the sound would be lost: .mov holds no apac, and libavcodec cannot decode apac (stream 3); "
                + "use --drop-audio")
        #expect(
            message { _ = try treatment(of: "opus", in: .mov, options { $0.form = .copy }) }
                == "the sound would be lost: .mov holds no opus (stream 3); use --audio aac, or .mp4, or --drop-audio"
        )
        #expect(
            try treatment(of: "opus", in: .mov, options { $0.dropsUnsupported = true }, encoders: [])
                == .leftOut(".mov holds no opus, and libavcodec has no AAC encoder"))
    }

    @Test func aConfigurationBehindTheHeaderIsConverted() throws {
        let abilities = SoundPlan.Abilities(
            holds: { _, _ in true }, decodes: { _ in true }, isLossless: { _ in false }, encodes: { _ in true },
            comesLate: { _, format in format == .matroska })
        let track = OtherStream(
            index: 1, content: .audio, codec: "aac", language: nil, isPicture: false, isChapterTitles: false,
            isTimecode: false)
        func treatment(_ format: OutputFormat, _ options: SoundOptions = SoundOptions()) throws -> SoundPlan
            .Treatment?
        {
            try SoundPlan([track], format, options, abilities, path: "in.ts").treatments[1]
        }
        #expect(try treatment(.nut) == .copied)
        for options in [SoundOptions(), options({ $0.form = .aac })] {
            guard case .converted([.aac], _) = try treatment(.matroska, options) else {
                Issue.record("the track is not converted")
                return
            }
        }
        #expect {
            try treatment(.matroska, options { $0.form = .copy })
        } throws: { error in
            (error as? MediaError)?.reason.contains("use --audio aac, or --drop-audio") ?? false
        }
    }

    @Test func theLastSoundAloneIsAnError() throws {
        let abilities = SoundPlan.Abilities(
            holds: { index, _ in index == 1 }, decodes: { $0 == 1 }, isLossless: { _ in false },
            encodes: { _ in true })
        func track(_ index: Int, _ codec: String) -> OtherStream {
            OtherStream(
                index: index, content: .audio, codec: codec, language: nil, isPicture: false,
                isChapterTitles: false, isTimecode: false)
        }
        let tracks = [track(1, "aac"), track(2, "apac")]
        let plan = try SoundPlan(tracks, .mov, SoundOptions(), abilities, path: "in.mov")
        #expect(plan.treatments[1] == .copied)
        #expect(plan.treatments[2] == .leftOut(".mov holds no apac, and libavcodec cannot decode apac"))
        let second = options { $0.track = .number(2) }
        #expect(throws: MediaError.self) { try SoundPlan(tracks, .mov, second, abilities, path: "in.mov") }
        var other = track(3, "aac")
        other.isOfOtherProgram = true
        let programs = try SoundPlan([tracks[0], other], .mov, SoundOptions(), abilities, path: "in.ts")
        #expect(programs.treatments[3] == .leftOut(OtherStream.otherProgram))
        var encrypted = tracks[0]
        encrypted.isEncrypted = true
        #expect(throws: MediaError.self) {
            try SoundPlan([encrypted], .mov, SoundOptions(), abilities, path: "in.mp4")
        }
    }

    @Test func tracksAreChosen() throws {
        #expect(try treatment(of: "aac", in: .mov, options { $0.track = .number(1) }) == .copied)
        #expect(try treatment(of: "aac", in: .mov, options { $0.track = .language("eng") }) == .copied)
        for track in [SoundOptions.Track.number(2), .number(0), .language("deu")] {
            #expect(throws: MediaError.self) {
                try treatment(of: "aac", in: .mov, options { $0.track = track })
            }
        }
    }
}
