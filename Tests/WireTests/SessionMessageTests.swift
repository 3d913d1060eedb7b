// SPDX-License-Identifier: MIT
import HWDModel
import HWDWire
import Testing

private func bytes(_ payload: some SessionPayload) -> [UInt8] {
    var writer = ByteWriter()
    payload.encode(into: &writer)
    return writer.bytes
}

private func roundTrip<P: SessionPayload & Equatable>(_ payload: P) throws -> Bool {
    try P(decoding: bytes(payload).span.bytes) == payload
}

private let frame = EncodeFrame(
    frameID: 7, pts: -3, duration: 1001, poolID: 2, flags: .forceKeyFrame, baseFrameQP: -1,
    layout: FrameLayout(planes: [.init(offset: 0x1122_3344_5566, stride: 2048), .init(offset: 9, stride: 1)]))

private let packet = DecodeFrame(
    frameID: 9, pts: DecodeFrame.noPTS, duration: 3, poolID: 2, flags: [.asynchronous, .doNotOutput],
    offset: 1 << 33, size: 77)

private let picture = {
    var picture = FrameDecoded(
        FrameInfo(
            pts: -3, duration: 4, size: (7, 8), format: .p010,
            color: ColorDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: true, chromaLocation: 2),
            sideData: [FrameSideData(.contentLight, [1, 2, 3, 4]), FrameSideData(.dolbyVisionRPU, [])]),
        pictureID: 1, frameID: 2, arenaID: 5,
        layout: FrameLayout(planes: [.init(offset: 64, stride: 64), .init(offset: 4096, stride: 64)]),
        codedBitDepth: 10, cleanAperture: PictureRectangle(x: 1, y: 2, width: 3, height: 4))
    picture.flags = [.sync, .damaged]
    picture.sampleAspectRatio = Rational(4, 3) ?? Rational(1)
    return picture
}()

@Suite struct SessionMessageTests {
    @Test func refusesReservedFieldsThatAreNotZero() throws {
        func refuses<P: SessionPayload>(_ payload: P, at offset: Int) throws {
            var changed = bytes(payload)
            try #require(changed[offset] == 0)
            changed[offset] = 1
            let error = #expect(throws: SessionError.self) { try P(decoding: changed.span.bytes) }
            #expect(error?.status == .parameter && error?.reason.contains("reserved") == true)
        }
        try refuses(AddPool(poolID: 3, size: 4096), at: 4)
        try refuses(AddArena(arenaID: 1, size: 4096), at: 7)
        try refuses(packet, at: 44)
        // The last word of the second plane.
        try refuses(frame, at: 40 + 2 * 16 - 4)
        try refuses(picture, at: 84)
        try refuses(EncodeFrameWithMetadata(frame), at: 44)
    }

    /// Side data are a client's: kind, size and number are checked before they are used.
    @Test func refusesSideDataOfImpossibleKindsAndSizes() throws {
        func encoded(_ sideData: [FrameSideData]) -> [UInt8] {
            var extended = frame
            extended.metadata = FrameMetadata(sideData: sideData)
            return bytes(EncodeFrameWithMetadata(extended))
        }
        func refuses(_ payload: [UInt8], _ comment: Comment) {
            #expect(throws: SessionError.self, comment) {
                try EncodeFrameWithMetadata(decoding: payload.span.bytes)
            }
        }
        let (whole, sideData) = (encoded([FrameSideData(.contentLight, [1, 2, 3, 4])]), 48 + 2 * 16)
        for end in whole.indices { refuses(Array(whole.prefix(end)), "cut to \(end) bytes") }
        for (offset, value) in [
            (sideData, 7), (sideData + 4, 3), (sideData + 7, 255), (43, 2), (43, 17), (42, 5), (36, 2), (40, 2),
        ] {
            var changed = whole
            changed[offset] = UInt8(value)
            refuses(changed, "byte \(offset) is \(value)")
        }
        let rpu = FrameSideData(.dolbyVisionRPU, [0x7C, 1])
        refuses(encoded([rpu, rpu]), "two of one kind")
        refuses(encoded([FrameSideData(.masteringDisplay, [1])]), "a mastering display of one byte")
        refuses(
            encoded([FrameSideData(.hdr10Plus, [UInt8](repeating: 0, count: FrameSideData.maxBytes + 1))]),
            "too much")
        let most = encoded([FrameSideData(.hdr10Plus, [UInt8](repeating: 0, count: FrameSideData.maxBytes))])
        #expect(most.count <= MessageHeader.maxLength)
        #expect(try EncodeFrameWithMetadata(decoding: most.span.bytes).frame.metadata?.sideData.count == 1)
    }

    @Test func messagesRoundTrip() throws {
        #expect(try roundTrip(frame))
        #expect(try roundTrip(EncodeFrameWithMetadata(frame)))
        var extended = frame
        extended.metadata = FrameMetadata(
            color: ColorDescription(primaries: 9, transfer: 18, matrix: 9, isFullRange: true, chromaLocation: 2),
            sideData: [FrameSideData(.contentLight, [1, 2, 3, 4]), FrameSideData(.dolbyVisionRPU, [])])
        #expect(try roundTrip(EncodeFrameWithMetadata(extended)))
        // The message of old clients has no metadata.
        #expect(bytes(extended) == bytes(frame))
        #expect(try roundTrip(AddPool(poolID: 3, size: 1 << 40)))
        #expect(try roundTrip(RemovePool(poolID: 3)))
        #expect(try roundTrip(CompleteFrames(untilPTS: -1)))
        #expect(try roundTrip(ReleasePacket(packetID: .max)))
        #expect(try roundTrip(AddArena(arenaID: 1, size: 8 << 20)))
        #expect(try roundTrip(FrameReleased(frameID: 1)))
        #expect(try roundTrip(packet))
        #expect(try roundTrip(picture))
        #expect(try roundTrip(ReleaseFrame(pictureID: 4)))
        #expect(try roundTrip(RemoveArena(arenaID: 4)))
        let halves = FrameLayout.packed(.rgba16f, width: 64, height: 64, base: 1 << 20).layout
        for color in [nil, ColorDescription(primaries: 9, transfer: 16, matrix: 9, chromaLocation: 2)] {
            #expect(
                try roundTrip(
                    TransferFrame(
                        frameID: 8, source: TransferFrame.Place(poolID: 1, layout: frame.layout),
                        target: TransferFrame.Place(poolID: 2, layout: halves), color: color)))
        }
        #expect(try roundTrip(FrameTransferred(frameID: 8, status: .pixelTransferNotSupported, reason: "ICtCp")))
        #expect(
            try roundTrip(
                PacketReport(frameID: 4, status: .videoDecoderBadData, flags: .dropped, reason: "straße")))
        #expect(try roundTrip(Reply(sequence: 9, status: .parameter, body: Array("why".utf8))))
        let error = MeanSquaredError(luma: 1.25, chromaBlue: 0, chromaRed: 3)
        #expect(try roundTrip(QualityMetrics(packetID: 1, frameID: 2, meanSquaredError: error)))
        for value in [Double.nan, .infinity, -1] {
            let wrong = QualityMetrics(
                packetID: 1, frameID: 2,
                meanSquaredError: MeanSquaredError(luma: 1, chromaBlue: value, chromaRed: 1))
            #expect(throws: SessionError.self) { try QualityMetrics(decoding: bytes(wrong).span.bytes) }
        }
        #expect(try roundTrip(End(status: .videoEncoderMalfunction, reason: "straße")))
        #expect(
            try roundTrip(
                Packet(
                    packetID: 1, frameID: 2, pts: -4, dts: -5, duration: 6, arenaID: 7,
                    flags: [.sync, .disposable],
                    offset: 8, size: 9, nalUnitType: 20, temporalID: 3)))
    }

    /// docs/protocol.md: fixed little-endian fields at these offsets.
    @Test func fieldOffsetsMatchTheProtocol() {
        let wire = bytes(frame)
        #expect(wire.count == 40 + 2 * 16)
        #expect(Array(wire[0..<8]) == [7, 0, 0, 0, 0, 0, 0, 0])
        #expect(Array(wire[8..<16]) == [0xFD, 255, 255, 255, 255, 255, 255, 255])
        #expect(Array(wire[24..<28]) == [2, 0, 0, 0])
        #expect(Array(wire[40..<48]) == [0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0])
        #expect(
            bytes(
                Packet(
                    packetID: 0, frameID: 0, pts: 0, dts: 0, duration: 0, arenaID: 0, flags: [], offset: 0, size: 0,
                    nalUnitType: 0, temporalID: 0)
            ).count == 64)
    }

    /// docs/protocol.md: 88 bytes, 16 for each plane, 8 and its bytes for each side data.
    @Test func pictureOffsetsMatchTheProtocol() {
        let wire = bytes(picture)
        #expect(wire.count == 88 + 2 * 16 + 8 + 4 + 8)
        #expect(Array(wire[40..<44]) == Array("P010".utf8))
        #expect(Array(wire[68..<76]) == [9, 16, 9, 1, 2, 10, 2, 2])
        #expect(Array(wire[76..<84]) == [4, 0, 0, 0, 3, 0, 0, 0])
        #expect(Array(wire[88..<96]) == [64, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes(packet).count == 48)
    }

    @Test func refusesTruncatedDecodingMessages() {
        let wire = bytes(picture)
        for length in 0..<wire.count {
            #expect(throws: SessionError.self) { try FrameDecoded(decoding: Array(wire[..<length]).span.bytes) }
        }
        #expect(throws: SessionError.self) { try FrameDecoded(decoding: (wire + [0]).span.bytes) }
        let short = bytes(packet)
        for length in 0..<short.count {
            #expect(throws: SessionError.self) { try DecodeFrame(decoding: Array(short[..<length]).span.bytes) }
        }
        var unknown = short
        unknown[28] = 4
        #expect(throws: SessionError.self) { try DecodeFrame(decoding: unknown.span.bytes) }
    }

    @Test func refusesFramesOfAnyOtherLength() {
        let wire = bytes(frame)
        for length in 0..<wire.count {
            let cut = Array(wire[..<length])
            #expect(throws: SessionError.self) { try EncodeFrame(decoding: cut.span.bytes) }
        }
        let longer = wire + [0]
        #expect(throws: SessionError.self) { try EncodeFrame(decoding: longer.span.bytes) }
    }

    @Test func refusesUnknownFlagsAndTooManyPlanes() {
        var flags = bytes(frame)
        flags[28] |= 0x80
        #expect(throws: SessionError.self) { try EncodeFrame(decoding: flags.span.bytes) }
        var planes = bytes(frame)
        planes[36] = 5
        #expect(throws: SessionError.self) { try EncodeFrame(decoding: planes.span.bytes) }
    }

    /// Bytes that are not UTF-8 grow when they are decoded, and the limit may fall inside a character.
    @Test func reasonsKeepTheirLimit() throws {
        let invalid = bytes(FrameTransferred(frameID: 1, status: .parameter)) + [UInt8](repeating: 0xF8, count: 700)
        let transferred = try FrameTransferred(decoding: invalid.span.bytes)
        #expect(transferred.reason.utf8.count == 1023)
        #expect(try roundTrip(transferred))
        let long = "a" + String(repeating: "ß", count: 20000)
        let report = PacketReport(frameID: 1, status: .videoDecoderBadData, flags: [], reason: long)
        #expect(try PacketReport(decoding: bytes(report).span.bytes).reason == long.prefix(512))
        let end = End(status: .videoEncoderMalfunction, reason: long)
        #expect(try End(decoding: bytes(end).span.bytes).reason == long.prefix(16384))
    }

    @Test func headersEnforceTheirLimits() throws {
        #expect(throws: SessionError.self) { try MessageHeader(length: 65537, opcode: 1, fdCount: 0, sequence: 1) }
        #expect(throws: SessionError.self) { try MessageHeader(length: 0, opcode: 1, fdCount: 9, sequence: 1) }
        let header = try MessageHeader(length: 65536, opcode: 6, fdCount: 8, sequence: 5)
        #expect(header.length == 65536)
    }
}
