// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWMovies
import Testing

/// Numbers that are the same in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

/// Movies that ffmpeg does not make, and damaged ones.
@Suite struct CraftedTests {
    private static func read(_ crafted: CraftedMovie) throws -> [MoviePacket] {
        let movie = try Movie(MovieMemory(crafted.bytes))
        return try packets(movie, try #require(movie.tracks.first), reading: true)
    }

    /// One rate of an edit.
    private static let one: Int32 = 0x1_0000

    @Test("Samples have their bytes, times and durations")
    func samples() throws {
        var crafted = CraftedMovie()
        crafted.durations = [2, 40, 3, 10, 1, 5]
        let read = try Self.read(crafted)
        #expect(
            read.map(\.bytes.count) == crafted.sizes
                && read.enumerated().allSatisfy { $1.bytes.allSatisfy { [n = $0] in $0 == UInt8(n) } })
        #expect(read.map(\.time) == [0, 40, 80, 90, 100, 110] && read.map(\.duration) == [40, 40, 10, 10, 10, 5])
        #expect(read.allSatisfy { $0.isKey && $0.isShown && $0.gap == 0 && $0.level == nil })
    }

    @Test("Composition times are signed; decode times precede them")
    func shifts() throws {
        var crafted = CraftedMovie()
        (crafted.shifts, crafted.sync) = ([1, 0, 1, 80, 2, UInt32(bitPattern: -40), 2, 0], [1])
        let read = try Self.read(crafted)
        #expect(read.map(\.time) == [0, 120, 40, 80, 160, 200])
        #expect(read.map(\.decodeTime) == [-40, 0, 40, 80, 120, 160])
        #expect(read.map(\.isKey) == [true, false, false, false, false, false])
    }

    @Test("Compact sizes of 4, 8 and 16 bits are read", arguments: [4, 8, 16])
    func compactSizes(_ bits: Int) throws {
        var crafted = CraftedMovie()
        crafted.sizes = [3, 5, 2, 7, 1]
        crafted.durations = [5, 40]
        let rows: [UInt8] =
            switch bits {
            case 4: [0x35, 0x27, 0x10]
            case 8: [3, 5, 2, 7, 1]
            default: [0, 3, 0, 5, 0, 2, 0, 7, 0, 1]
            }
        let bytes = crafted.bytes
        // Without the other box of sizes.
        crafted.tables = [Box("stsz", [])]
        let table = Box("stz2", [UInt8](bigEndian: [0, UInt32(bits), 5]) + rows)
        var movie = Box(
            "moov", children: try Box.parse(bytes[(bytes.count - Self.movieSize(bytes))...])[0].children)
        try movie.edit(["trak", "mdia", "minf", "stbl"]) { box throws(BoxError) in
            box.children.removeAll { $0.type == "stsz" }
            box.children.append(table)
        }
        let file = Array(bytes.dropLast(Self.movieSize(bytes))) + movie.bytes
        let read = try Movie(MovieMemory(file))
        #expect(try packets(read, read.tracks[0]).map(\.size) == [3, 5, 2, 7, 1])
    }

    private static func movieSize(_ bytes: [UInt8]) -> Int {
        var position = 0
        while let header = BoxHeader(bytes[position...], available: UInt64(bytes.count - position)),
            header.type != "moov"
        {
            position += Int(header.size)
        }
        return bytes.count - position
    }

    @Test("Several edits show parts in their order, an empty one nothing, and one of rate 0 a still")
    func edits() throws {
        var crafted = CraftedMovie()
        crafted.edits = [[100, -1, Self.one], [80, 120, Self.one], [60, 40, 0], [80, 0, Self.one]]
        let read = try Self.read(crafted)
        #expect(read.filter(\.isShown).map(\.sample) == [3, 4, 1, 0, 1])
        #expect(read.filter(\.isShown).map(\.time) == [100, 140, 180, 240, 280])
        #expect(read.filter(\.isShown).map(\.duration) == [40, 40, 60, 40, 40])
        // An edit that begins within a sample shows its end.
        crafted.edits = [[100, 50, Self.one]]
        let parts = try Self.read(crafted).filter(\.isShown)
        #expect(parts.map(\.time) == [-10, 30, 70] && parts.map(\.trimmedStart) == [10, 0, 0])
        #expect(parts.map(\.trimmedEnd) == [0, 0, 10])
        // What precedes the edit's first time is decoded for it.
        (crafted.sync, crafted.edits) = ([1, 5], [[40, 120, Self.one]])
        #expect(try Self.read(crafted).map(\.isShown) == [false, false, false, true, false])
        let movie = try Movie(MovieMemory(crafted.bytes))
        #expect(movie.tracks[0].edits == [MovieEdit(duration: 40, mediaTime: 120, rate: Self.one)])
        #expect(movie.tracks[0].duration == 40)
    }

    @Test("Levels and other groups of samples are read, those of fragments from their own descriptions, too")
    func groups() throws {
        func description(_ type: FourCC, _ entries: [[UInt8]]) -> Box {
            let head = [UInt8](bigEndian: [
                0x0100_0000, type.rawValue, UInt32(entries[0].count), UInt32(entries.count),
            ])
            return Box("sgpd", head + entries.flatMap { $0 })
        }
        func level(_ number: UInt8) -> [UInt8] { [number] + [UInt8](repeating: 0, count: 19) }
        var crafted = CraftedMovie()
        (crafted.sizes, crafted.durations, crafted.sync) = ([3, 5, 2, 7], [4, 40], [1])
        crafted.tables = [
            description("tscl", [level(0), level(1)]), description("rap ", [[0x81]]),
            CraftedMovie.full("sbgp", [("tscl" as FourCC).rawValue, 3, 1, 1, 2, 2, 1, 0]),
            CraftedMovie.full("sbgp", [("rap " as FourCC).rawValue, 2, 2, 0, 1, 1]),
        ]
        crafted.movie = [Box("mvex", CraftedMovie.full("trex", [1, 1, 40, 2, 0]).bytes)]
        let groups = [
            description("tscl", [level(2)]),
            CraftedMovie.full("sbgp", [("tscl" as FourCC).rawValue, 2, 1, 2, 1, 0x1_0001]),
        ].flatMap(\.bytes)
        // Two samples of two bytes at the begin of the media, after a gap of 40 ticks.
        let header = Box("tfhd", [UInt8](bigEndian: [1, 1, 0, UInt32(CraftedMovie.mediaStart)]))
        let fragment = header.bytes + CraftedMovie.full("tfdt", [200]).bytes + CraftedMovie.full("trun", [2]).bytes
        crafted.rest = [Box("moof", Box("traf", fragment + groups).bytes)]
        let read = try Self.read(crafted)
        #expect(read.map(\.level) == [0, 1, 1, nil, 1, 2])
        #expect(read.map(\.isKey) == [true, false, true, false, true, true])
        #expect(read.map(\.time) == [0, 40, 80, 120, 200, 240] && read.map(\.gap) == [0, 0, 0, 0, 40, 0])
        #expect(
            read.map(\.position).suffix(2) == [
                UInt64(CraftedMovie.mediaStart), UInt64(CraftedMovie.mediaStart + 2),
            ])
    }

    @Test("Of QuickTime's boxes of sound one level is read, however deep they are, and a limited number of boxes")
    func nestedBoxes() throws {
        func types(_ boxes: [UInt8]) throws -> [FourCC] {
            let fields = [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 70)
            let head = Box("stsd", [UInt8](bigEndian: [0, 1]) + Box("hvc1", fields + boxes).bytes)
            var crafted = CraftedMovie()
            crafted.tables = [head]
            let movie = try Movie(MovieMemory(crafted.bytes))
            return try #require(movie.tracks.first?.entries.first).boxes.map(\.type)
        }
        let wave: FourCC = "wave"
        // Each box holds all that follow.
        let depth = 100_000
        let deep = (0..<depth).flatMap { [UInt8](bigEndian: [UInt32(8 * (depth - $0)), wave.rawValue]) }
        #expect(try types(deep) == [wave, wave])
        let one = Box(wave, Box("frma", Array("mp4a".utf8)).bytes + Box("esds", []).bytes)
        #expect(try types(one.bytes + Box("pasp", []).bytes) == [wave, "frma", "esds", "pasp"])
        let many = Box(wave, [UInt8](Array(repeating: Box("free", []).bytes, count: 200).joined()))
        #expect(try types(many.bytes + many.bytes).count == 256)
    }

    @Test("What a count claims without bytes takes no memory, and what is missing has a named answer")
    func claims() throws {
        func code(_ bytes: [UInt8]) -> MovieError.Code? {
            do throws(MovieError) {
                _ = try Movie(MovieMemory(bytes))
                return nil
            } catch { return error.code }
        }
        #expect(code([]) == .malformed && code(Array("not a movie at all".utf8)) == .truncated)
        let whole = CraftedMovie().bytes
        #expect(code(Array(whole.dropLast(1))) == .truncated)
        func fault(_ change: (inout CraftedMovie) -> Void) throws -> MovieError? {
            var crafted = CraftedMovie()
            change(&crafted)
            return try Movie(MovieMemory(crafted.bytes)).tracks.first?.fault
        }
        #expect(try fault { $0.reference = [0, 0, 0, 0] }?.code == .unsupported)
        #expect(try fault { $0.durations = [5, 40] }?.reason.contains("stts") == true)
        #expect(try fault { $0.tables = [CraftedMovie.full("stsz", [0, .max])] }?.code == .malformed)
        #expect(try fault { $0.tables = [CraftedMovie.full("stsc", [1, 2, 6, 1])] }?.code == .malformed)
        #expect(try fault { $0.durations = [6, .max, .max, .max] }?.code == .malformed)
        // Four thousand million samples of no bytes.
        var crafted = CraftedMovie()
        crafted.tables = [CraftedMovie.full("stsz", [1, .max]), CraftedMovie.full("stsc", [1, 1, .max, 1])]
        crafted.durations = [.max, 1]
        let movie = try Movie(MovieMemory(crafted.bytes))
        #expect(movie.tracks[0].sampleCount == Int(UInt32.max))
        var reader = try movie.packets(of: movie.tracks[0])
        #expect(try reader.next()?.bytes == [0])
        #expect(reader.seek(to: 4_000_000_000)?.sample == 4_000_000_000)
        #expect { try reader.next() } throws: { ($0 as? MovieError)?.code == .truncated }
        #expect { try reader.next() } throws: { ($0 as? MovieError)?.code == .truncated }
    }

    @Test("A file that ends early gives the packets that it has, then says which are outside of it")
    func cutShort() throws {
        let scratch = try Scratch()
        let path = try Recipe.all[7].make(in: scratch)
        let bytes = try Clips.bytes(path)
        let movie = try Movie(MovieMemory(Array(bytes.prefix(bytes.count * 2 / 3))))
        #expect(movie.isCutShort && movie.remarks.contains { $0.contains("mdat") })
        let track = try #require(movie.tracks.first { $0.kind == .video })
        var (read, missing) = (0, 0)
        var reader = try movie.packets(of: track)
        while true {
            do throws(MovieError) {
                guard try reader.next() != nil else { break }
                read += 1
            } catch {
                #expect(error.code == .truncated && error.reason.contains("sample"))
                missing += 1
            }
        }
        #expect(read > 5 && missing > 5 && read + missing == track.sampleCount)
        // A recording that ended within a fragment has those before.
        let fragments = try Clips.bytes(try Recipe.all[8].make(in: scratch))
        let killed = try Movie(MovieMemory(Array(fragments.prefix(fragments.count / 2))))
        #expect(killed.isCutShort && killed.tracks.contains { $0.sampleCount > 5 })
    }

    @Test("Mutated movies neither trap nor lead outside of the file")
    func mutations() throws {
        let scratch = try Scratch()
        let seeds = [
            CraftedMovie().bytes, try Clips.bytes(Clips.path("two_entries.mov")),
            try Clips.bytes(try Recipe.all[8].make(in: scratch)),
        ]
        var random = SplitMix(state: 47)
        var opened = 0
        for number in 0..<1500 {
            var bytes = seeds[number % seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                // The movie box is at the end of these files, and fragments are all over.
                let place = Int.random(in: max(0, bytes.count - 3000)..<bytes.count, using: &random)
                bytes[place] =
                    [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0...255, using: &random)].randomElement(using: &random)
                    ?? 0
            }
            guard let movie = try? Movie(MovieMemory(bytes)) else { continue }
            opened += 1
            for track in movie.tracks {
                guard var reader = try? movie.packets(of: track) else { continue }
                for _ in 0..<200 {
                    guard let packet = try? reader.next() else { continue }
                    #expect(packet.position + UInt64(packet.size) <= UInt64(bytes.count))
                    #expect(packet.decodeTime <= packet.time)
                }
                reader.seek(to: track.duration / 2)
            }
        }
        #expect(opened > 300)
    }
}
