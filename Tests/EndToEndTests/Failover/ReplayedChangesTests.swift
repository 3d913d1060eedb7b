// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWClient

private typealias Failover = EndToEndFaults.Failover

extension EndToEndFaults.Failover {
    /// Changes between frames, and what belongs to single frames, reach the process that continues.
    @Suite struct ReplayedChanges {
        /// The first frame of lower quality, and the one that has to be a key frame.
        private static let (changed, forced) = (25, 33)
        /// Every sixth frame has captions of one triplet (ATSC A/53 part 4, 6.2.3).
        private static let captionStep = 6
        private static let captions = FrameMetadata(sideData: [
            FrameSideData(
                .closedCaptions, [0xB5, 0, 0x31, 0x47, 0x41, 0x39, 0x34, 3, 0xC1, 0xFF, 0xFC, 0x94, 0x2C, 0xFF])
        ])

        /// Frames as ffprobe describes them, in presentation order.
        private struct Frames: Decodable {
            struct Frame: Decodable {
                struct SideData: Decodable { var side_data_type: String }
                var key_frame: Int
                var side_data_list: [SideData]?
            }
            var frames: [Frame]

            init(_ path: String) throws {
                let probe = try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", path,
                    ])
                self = try JSONDecoder().decode(Self.self, from: Data(probe.output))
            }
        }

        private struct Result {
            var run: EndToEnd.EncodedRun
            var qualities: [Double]

            /// By how much the frames after the change are worse, in dB.
            var fall: Double {
                func mean(_ values: ArraySlice<Double>) -> Double { values.reduce(0, +) / Double(values.count) }
                return mean(qualities[..<ReplayedChanges.changed]) - mean(qualities[ReplayedChanges.changed...])
            }
        }

        /// Encodes while the driver fails as planned, and checks what ffmpeg finds.
        private static func encode(
            _ faulty: Faulty, _ faults: [String], _ structure: Structure,
            more: [PropertyKey: PropertyValue] = [.quality: .double(0.9)]
        ) throws -> Result {
            let run = try faulty.encode(faults, structure, more: more) { encoder, number, frame in
                if number == changed { try encoder.session.setProperties([.quality: .double(0.5)]) }
                try encoder.encode(
                    frame, flags: number == forced ? .forceKeyFrame : [],
                    metadata: number.isMultiple(of: captionStep) ? captions : nil)
            }
            let name: Comment = "\(faults) \(structure)"
            #expect(run.encoder.session.restartCount == faults.count, name)
            let qualities = try run.check(name)

            let folder = try Scratch()
            let movie = folder.path("movie.mov")
            try run.encoder.write(to: movie)
            let frames = try Frames(movie).frames
            let captioned = frames.indices.filter {
                frames[$0].side_data_list?.contains { $0.side_data_type.contains("Closed Captions") } ?? false
            }
            #expect(captioned == Array(stride(from: 0, to: Failover.count, by: captionStep)), name)
            // Only IDR pictures, types 19 and 20: the first one, the one that was forced, and the first one of a new process.
            let keyFrames = frames.indices.filter { frames[$0].key_frame == 1 }
            let found = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", movie, "-c", "copy", "-bsf:v", "filter_units=pass_types=19-20", "-f",
                    "framecrc", "-",
                ])
            // x265 codes the one that was forced as a CRA picture, because its groups are open.
            let isHardware = run.encoder.session.created.usingHardware
            #expect(
                found.text.split(separator: "\n").count { !$0.hasPrefix("#") } == keyFrames.count
                    - (isHardware ? 0 : 1),
                "\(name): \(keyFrames) \(found.text)")
            #expect(Set(keyFrames).isSuperset(of: [0, forced]), "\(name): \(keyFrames)")
            let others = keyFrames.filter { $0 != 0 && $0 != forced }
            if faults.isEmpty {
                #expect(others == [], name)
            } else {
                // The picture at which the process fails was not delivered; it codes its first one twice.
                let failed = try #require(faults[0].split(separator: " ").last.flatMap { Int($0) }) - 2
                let resumption = others.first ?? forced
                #expect(
                    others.count <= 1 && (max(1, failed - 24)...failed).contains(resumption),
                    "\(name): \(keyFrames)")
            }
            return Result(run: run, qualities: qualities)
        }

        static let plans: [(Structure, [[String]])] = [
            (.chain, [["crash 50"]]), (.pyramid, [["crash 20"], ["crash 36"], ["crash 28", "crash 2"]]),
        ]

        @Test("Quality, a key frame and captions", arguments: plans.indices)
        func changes(index: Int) throws {
            let (structure, plans) = Self.plans[index]
            let faulty = try Faulty()
            let undisturbed = try Self.encode(faulty, [], structure)
            #expect(undisturbed.fall > 3, "\(undisturbed.fall) dB")
            for faults in plans {
                let result = try Self.encode(faulty, faults, structure)
                let isHardware = result.run.encoder.session.created.usingHardware
                #expect(isHardware == (faults.count == 1), "\(faults)")
                // x265 distributes bits differently.
                let tolerance = isHardware ? 1.0 : 3.0
                #expect(abs(result.fall - undisturbed.fall) <= tolerance, "\(faults): \(result.fall) dB")
            }
        }

        @Test("Frames beyond 512 MiB are not kept, as Notices says, nor those of a session without replay")
        func notices() throws {
            let faulty = try Faulty()
            func notices(_ encoder: Encoder) throws -> String {
                try encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
            }
            func encoder(_ structure: Structure) throws -> Encoder {
                try Encoder(
                    faulty.server.daemon, .p010, width: 3840, height: 2160, slots: 1,
                    properties: structure.properties)
            }
            // 22 frames of 24.9 MB, of which the pyramid holds so many; without it 16.
            let large = try encoder(.pyramid)
            try #require(large.session.created.usingHardware)
            let held = try #require(large.session.created.maxFramesHeld)
            let notice = "\(held) frames would have to be kept, which take more than 512 MiB"
            let text = try notices(large)
            #expect(text.contains(notice), "\(text)")
            kill(try faulty.server.session(large.id).pid, SIGKILL)
            let first = sessionError { try large.finish() }
            #expect(first?.status == .videoEncoderMalfunction)

            let small = try encoder(.chain)
            #expect(try !notices(small).contains("512 MiB"))
            try small.session.setProperties([.replaysAfterFailure: .bool(false)])
            kill(try faulty.server.session(small.id).pid, SIGKILL)
            let second = sessionError { try small.finish() }
            #expect(second?.status == .videoEncoderMalfunction)
        }
    }
}

extension EndToEndFaults.Failover.EveryPosition {
    @Test("Software that holds more than 512 MiB of frames after hardware keeps none")
    func stopsKeeping() throws {
        // Hardware holds 16 of these frames, 453 MB; x265 looks 20 frames ahead.
        let faulty = try Failover.Faulty()
        try faulty.fail(["crash 2", "crash 2"])
        let (width, height) = (4096, 2304)
        let encoder = try Encoder(
            faulty.server.daemon, .p010, width: width, height: height, slots: 4,
            properties: [
                .allowFrameReordering: .bool(false), .quality: .double(0.3),
            ])
        try #require(encoder.session.created.usingHardware)
        let grey = [UInt8](repeating: 0x80, count: FrameLayout.packed(.p010, width: width, height: height).size)
        var notice = ""
        for _ in 0..<48 where encoder.session.replay.copies != nil {
            try encoder.encode(grey)
            notice = try encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
        }
        #expect(notice.contains("the encoder holds more frames than are kept"), "\(notice)")
        #expect(encoder.session.replay.copies == nil, "memory for copies is kept after the last one was sent")
        #expect(!encoder.session.created.usingHardware && encoder.session.restartCount == 2)
        kill(try faulty.server.session(encoder.id).pid, SIGKILL)
        let error = sessionError { try encoder.finish() }
        #expect(error?.status == .videoEncoderMalfunction && error?.reason.contains("SIGKILL") == true)
    }
}
