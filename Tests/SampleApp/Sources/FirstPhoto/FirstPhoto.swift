// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md and of HWImages' documentation, which
// `DocumentationTests` compares; scripts/check-sample builds and runs it.
// sample: first photo
import HWImages

@main struct FirstPhoto {
    static func main() async throws {
        let (width, height) = (1200, 800)
        let luma = (0..<width * height).map { UInt8(16 + ($0 % width + $0 / width) % 220) }
        let chroma = [UInt8](repeating: 128, count: width / 2 * height / 2)
        let image = try SourceImage(
            .yu12, width: width, height: height, planes: [luma, chroma, chroma],
            strides: [width, width / 2, width / 2])
        var options = ImageWriter.Options()
        options.quality = 0.6
        let written = try await ImageWriter.write([image], to: "gradient.heic", options: options)
        print(written.tiles, "tiles coded by", written.encoderID)

        let reader = try ImageReader(path: "gradient.heic")
        let part = try await reader.decode(region: PixelRect(x: 600, y: 300, width: 200, height: 100))
        let samples = part.withPlanes { planes in (0..<planes[0].rowCount).flatMap { Array(planes[0][$0]) } }
        print(
            samples.count, "samples from", part.decodedCount, "tiles, from", samples.min() ?? 0, "to",
            samples.max() ?? 0)
    }
}
// sample: end
