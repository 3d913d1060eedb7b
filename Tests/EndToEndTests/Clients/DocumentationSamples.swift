// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient

// The samples of HWClient's documentation, which `AsyncSessions` runs and `Documentation` compares with the text.

// sample: read packets
func encode(
    _ pictures: [[UInt8]], to session: AsyncCompressionSession
) async throws -> [AsyncCompressionSession.Packet] {
    async let packets = collect(session.packets)
    for (number, samples) in pictures.enumerated() {
        try await session.encode(at: Int64(number), duration: 1) { planes in
            var position = 0
            for plane in planes {
                for row in 0..<plane.rowCount {
                    plane[row].copyBytes(from: samples[position..<position + plane.rowBytes])
                    position += plane.rowBytes
                }
            }
        }
    }
    try await session.finish()
    return try await packets
}

func collect<Results: AsyncSequence & Sendable>(_ results: Results) async throws -> [Results.Element]
where Results.Element: Sendable {
    var all: [Results.Element] = []
    for try await result in results { all.append(result) }
    return all
}
// sample: end

// sample: change properties
func limit(_ session: AsyncCompressionSession, to bitRate: Int64) async throws -> PropertyValue? {
    try await session.setProperties([.averageBitRate: .int(bitRate)])
    return try await session.copyProperties([.averageBitRate])[.averageBitRate]
}
// sample: end

// sample: metadata of a frame
func encodeKeyFrame(
    _ buffer: PixelBuffer, at pts: Int64, brighterThan light: [UInt8], to session: AsyncCompressionSession
) async throws {
    var options = AsyncCompressionSession.FrameOptions()
    options.forceKeyFrame = true
    options.metadata = FrameMetadata(
        color: ColorDescription(primaries: 9, transfer: 16, matrix: 9),
        sideData: [FrameSideData(.contentLight, light)])
    try await session.encode(buffer, at: pts, duration: 1, options: options)
}
// sample: end

// sample: decode
func decode(_ packets: [AsyncCompressionSession.Packet], on daemon: Daemon) async throws -> [Double] {
    guard let record = packets.first?.newFormatDescription, let timeBase = Rational(1, 30) else { return [] }
    let session = try await AsyncDecompressionSession(
        daemon, .init(formatDescription: record, timeBase: timeBase, pixelFormat: .nv12))
    async let means = lumaMeans(of: session.frames)
    for packet in packets {
        try await session.decode(packet.bytes, pts: packet.pts, duration: packet.duration)
    }
    try await session.finish()
    return try await means
}

func lumaMeans(of frames: AsyncDecompressionSession.Frames) async throws -> [Double] {
    var means: [Double] = []
    for try await frame in frames where !frame.isDamaged {
        let sum = frame.buffer.withPlanes { planes in
            (0..<planes[0].rowCount).reduce(0) { sum, row in planes[0][row].reduce(sum) { $0 + Int($1) } }
        }
        means.append(Double(sum) / Double(frame.buffer.width * frame.buffer.height))
    }
    return means
}
// sample: end

// sample: convert
func linearLight(of frame: AsyncDecompressionSession.Frame, on daemon: Daemon) async throws -> PixelBuffer {
    let buffer = frame.buffer
    let session = try await AsyncTransferSession(
        daemon,
        .init(
            width: buffer.width, height: buffer.height, source: .init(pixelFormat: buffer.format.rawValue),
            target: .init(pixelFormat: PixelFormat.rgba16f.rawValue, primaries: "p3")))
    return try await session.convert(buffer, color: frame.description.color)
}
// sample: end

// sample: errors
func hardwareSession(on daemon: Daemon, timeBase: Rational) async throws -> AsyncCompressionSession? {
    do {
        return try await AsyncCompressionSession(
            daemon,
            .init(
                width: 1920, height: 1080, pixelFormat: .nv12, timeBase: timeBase,
                encoderSpecification: [.requireHardware: .bool(true)]))
    } catch let error as ClientError where error.status == .couldNotFindVideoEncoder {
        print("\(error.status.constantName) (\(error.status.rawValue)): \(error.reason)")
        return nil
    }
}
// sample: end
