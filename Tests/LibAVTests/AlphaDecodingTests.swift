// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDHEVC
import HWDModel
import Testing

/// Decoding of streams with an alpha layer; damage of the alpha layer never costs a picture.
@Suite struct AlphaDecodingTests {
    /// MD5 of Y, Cb, Cr and A of all 12 pictures of bbb_alpha.mov in presentation order, rows without gaps.
    ///
    /// Computed with the two-layer decoder of FFmpeg 8.1, through PyAV: every frame decoded to yuva420p, each plane's rows
    /// appended to that plane's digest.
    static let planes = [
        "c409c89c7d830182a66bdf9c13cac2e4", "b6e97cf7b3f23772428e50f9e32504c6", "bdbaa9fbea2f93a937bc2290d1269aa1",
        "b3c69ca6fe56ff63a3c4de0cc3f03f76",
    ]

    static let whole = Result { try AlphaResult(try AlphaClip.committed()) }

    /// Whether Y, Cb and Cr of all pictures equal those of the undamaged clip.
    static func hasWholeBase(_ result: AlphaResult) throws -> Bool {
        let whole = try whole.get()
        guard result.planes.count == whole.planes.count else { return false }
        return zip(result.planes, whole.planes).allSatisfy { a, b in (0..<3).allSatisfy { same(a[$0], b[$0]) } }
    }

    static let opaque = [UInt8](repeating: 255, count: 640 * 360)

    @Test("all four planes are those of FFmpeg's two-layer decoder", arguments: [1, 4, 16])
    func planes(threads: Int) throws {
        let result = try AlphaResult(try AlphaClip.committed(), threads: threads)
        for plane in 0..<4 {
            #expect(try md5(result.planes.flatMap { $0[plane] }) == Self.planes[plane])
        }
        // The clip's SEI message declares straight alpha, and takes precedence over the SPS's video range.
        #expect(result.pictures.count == 12 && result.pictures.allSatisfy { $0.alpha == .present(.straight) })
        #expect(result.pictures.allSatisfy { !$0.isDamaged } && result.faults.isEmpty && result.alphaFaults.isEmpty)
    }

    @Test("parameter sets within the stream, which declare both layers, are no damage")
    func parameterSetsInBand() throws {
        var (clip, sets) = (try AlphaClip.committed(), [UInt8]())
        for nal in try DecoderConfigurationRecord(bytes: clip.description).nalUnits {
            try LengthPrefixedNALUnits.append(nal, to: &sets)
        }
        clip.packets[0] = sets + clip.packets[0]
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.pictures.allSatisfy { !$0.isDamaged } && result.faults.isEmpty && result.alphaFaults.isEmpty)
    }

    @Test("a stream of one layer is opaque, without an event")
    func oneLayer() throws {
        var clip = try AlphaClip.committed()
        try clip.changeDescription { nal in
            let header = try NALUnitHeader(nal: nal)
            if header.nalUnitType == .vps { return try VideoParameterSet(nal: nal).singleLayer.nalUnit() }
            return header.nuhLayerId == 0 ? nal : nil
        }
        try clip.dropAlpha(from: clip.packets.indices)
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.planes.allSatisfy { same($0[3], Self.opaque) })
        #expect(result.pictures.allSatisfy { $0.alpha == .none } && result.alphaFaults.isEmpty)
    }

    @Test("access units without alpha become opaque and are reported")
    func missing() throws {
        var clip = try AlphaClip.committed()
        // Packets that nothing refers to (TRAIL_N), so that the others' alpha stays right.
        let dropped = [3, 5, 9]
        try clip.dropAlpha(from: dropped)
        let (result, whole) = (try AlphaResult(clip), try Self.whole.get())
        #expect(result.pictures.count == 12)
        #expect(try Self.hasWholeBase(result))
        for (index, picture) in result.pictures.enumerated() {
            let isDropped = dropped.contains(Int(picture.sequence))
            #expect(picture.alpha == (isDropped ? .missing : .present(.straight)))
            let alpha = result.planes[index][3]
            #expect(same(alpha, isDropped ? Self.opaque : whole.planes[index][3]))
        }
        #expect(result.alphaFaults.map { Int($0.packet) } == dropped)
        #expect(result.alphaFaults.allSatisfy { $0.reason.contains("no slices") })
    }

    @Test("without the alpha layer's key frame all pictures are emitted without alpha")
    func noKeyFrame() throws {
        var clip = try AlphaClip.committed()
        try clip.dropAlpha(from: [0])
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.pictures.count == 12 && result.pictures.allSatisfy { $0.alpha == .missing })
        #expect(result.alphaFaults.count == 12)
    }

    @Test("an alpha layer of another size is ignored, and the reason has both sizes")
    func otherSize() throws {
        var clip = try AlphaClip.committed()
        try clip.changeDescription { nal in
            let header = try NALUnitHeader(nal: nal)
            guard header.nalUnitType == .sps, header.nuhLayerId == 1 else { return nal }
            var sps = try SequenceParameterSet(nal: nal)
            sps.conformanceWindow = WindowOffsets(right: 8)
            return try sps.nalUnit()
        }
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.pictures.count == 12 && result.pictures.allSatisfy { $0.alpha == .missing })
        let reason = try #require(result.alphaFaults.first?.reason)
        #expect(reason.contains("624x360") && reason.contains("640x360"), "\(reason)")
    }

    @Test("with layers of different structure every picture is emitted once, with its alpha or none")
    func otherStructure() throws {
        let whole = try AlphaClip.committed()
        var clip = whole
        // Each access unit carries the next one's alpha slices, and the key frame stays.
        for packet in 1..<whole.packets.count - 1 {
            var next: [[UInt8]] = []
            var units = try LengthPrefixedNALUnits(whole.packets[packet + 1][...])
            while let nal = try units.next() {
                if try NALUnitHeader(nal: nal).nuhLayerId == 1 { next.append(Array(nal)) }
            }
            try clip.dropAlpha(from: [packet])
            for nal in next { try LengthPrefixedNALUnits.append(nal, to: &clip.packets[packet]) }
        }
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.pictures.count == 12)
        #expect(result.pictures.contains { $0.alpha == .missing } && !result.alphaFaults.isEmpty)
    }

    @Test("a VPS that does not declare alpha makes pictures opaque, with a reason")
    func unreadableVPS() throws {
        var clip = try AlphaClip.committed()
        try clip.changeDescription { nal in
            guard try NALUnitHeader(nal: nal).nalUnitType == .vps else { return nal }
            var vps = try VideoParameterSet(nal: nal)
            let raw = try #require(vps.vpsExtension)
            vps.vpsExtension = RawBits(bytes: raw.bytes, bitCount: 20)
            return try vps.nalUnit()
        }
        let result = try AlphaResult(clip)
        #expect(try Self.hasWholeBase(result))
        #expect(result.pictures.count == 12 && result.pictures.allSatisfy { $0.alpha == .missing })
        #expect(result.alphaFaults.first?.reason.contains("VPS") == true)
    }

    @Test("sixty streams with damaged alpha layers decode by the session's rules")
    func mutations() throws {
        let whole = try AlphaClip.committed()
        var random = Seeded(state: 165)
        var (damagedAlpha, wholeBase) = (0, 0)
        for round in 0..<60 {
            var clip = whole
            for _ in 0...(round % 4) {
                let packet = Int.random(in: 0..<clip.packets.count, using: &random)
                try clip.change(packet) { nal, header in
                    guard header.nuhLayerId == 1 || round % 8 == 7 else { return nal }
                    return Self.mutate(nal, &random)
                }
            }
            let result = try AlphaResult(clip)
            if !result.alphaFaults.isEmpty { damagedAlpha += 1 }
            if try Self.hasWholeBase(result) { wholeBase += 1 }
            // Only damage of the base may cost a picture.
            #expect(result.pictures.count == 12 || round % 8 == 7)
            #expect(Set(result.pictures.map(\.sequence)).count == result.pictures.count)
        }
        print("\(damagedAlpha) of 60 damaged streams reported alpha damage, \(wholeBase) had a whole base")
        #expect(damagedAlpha > 20 && wholeBase >= 52)
    }

    static func mutate(_ nal: [UInt8], _ random: inout Seeded) -> [UInt8]? {
        var nal = nal
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return nil
        case 1: return Array(nal.prefix(max(3, Int.random(in: 0..<nal.count, using: &random))))
        case 2: nal[0] = nal[0] & 1 | UInt8.random(in: 0..<22, using: &random) << 1
        case 3: nal.insert(contentsOf: nal.suffix(20), at: min(nal.count, 12))
        default:
            for _ in 0..<4 {
                let place = Int.random(in: 2..<min(nal.count, 40), using: &random)
                nal[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
        }
        return nal
    }

    /// Reproducible random numbers (SplitMix64).
    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
