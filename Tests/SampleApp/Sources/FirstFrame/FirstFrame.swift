// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md and of HWClient's documentation, which
// DocumentationTests compares; scripts/check-sample runs it.
// sample: first frame
import Foundation
import HWClient

@main struct FirstFrame {
    static func main() async throws {
        guard let timeBase = Rational(1, 30) else { fatalError("1/30 is no ratio") }
        let session = try await AsyncCompressionSession(
            Daemon.find(), .init(width: 640, height: 360, pixelFormat: .nv12, timeBase: timeBase))
        async let count = write(session.packets, to: "gradient.hevc")
        for number in 0..<60 {
            try await session.encode(at: Int64(number), duration: 1) { planes in
                let (luma, chroma) = (planes[0], planes[1])
                for row in 0..<luma.rowCount {
                    for column in 0..<luma.rowBytes {
                        luma[row][column] = UInt8(16 + (row + column + number) % 220)
                    }
                }
                chroma.fill(with: 128)
            }
        }
        try await session.finish()
        print(try await count, "frames encoded by", session.created.encoderID)
    }

    static func write(_ packets: AsyncCompressionSession.Packets, to path: String) async throws -> Int {
        var (stream, count) = (Data(), 0)
        for try await packet in packets {
            stream.append(contentsOf: try packet.byteStream)
            count += 1
        }
        try stream.write(to: URL(fileURLWithPath: path))
        return count
    }
}
// sample: end
