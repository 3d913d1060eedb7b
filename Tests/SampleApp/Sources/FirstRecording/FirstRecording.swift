// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md, which `DocumentationTests` compares; scripts/check-sample
// builds and runs it.
// sample: first recording
import HWCapture
import HWClient

@main struct FirstRecording {
    static func main() async throws {
        let (width, height) = (640, 360)
        let format = CaptureFormat(
            .raw(pixelFormat: "NV12"), width: width, height: height, rate: CaptureRate(30), primaries: 1,
            transfer: 1, matrix: 1)
        let feed = CaptureFeed(format)
        let session = try await CaptureSession.start(try Daemon.find(), feed, to: "recording.mov")
        let chroma = [UInt8](repeating: 128, count: width * height / 2)
        for number in 0..<60 {
            let luma = (0..<width * height).map { UInt8(16 + ($0 % width + 4 * number) % 220) }
            luma.withUnsafeBytes { luma in
                chroma.withUnsafeBytes { chroma in
                    let planes = [CapturePlane(luma, stride: width), CapturePlane(chroma, stride: width)]
                    _ = feed.send(planes, at: CaptureFeed.now, sequence: UInt64(number))
                }
            }
            try await Task.sleep(for: .milliseconds(33))
        }
        let receipt = try await session.stop()
        print(receipt.captured, "captured,", receipt.coded, "coded by", receipt.encoderID)
        for drop in receipt.drops { print(drop.frames, "dropped at", drop.time, "s:", drop.cause) }
    }
}
// sample: end
