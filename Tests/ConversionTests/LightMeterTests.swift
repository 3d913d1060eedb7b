// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

@Suite(.serialized) struct LightMeterTests {
    static func description(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ transfer: TransferFunction
    ) -> ImageDescription {
        ImageDescription(
            format: format, width: width, height: height,
            signal: SignalDescription(primaries: .bt2020, transfer: transfer, matrix: .bt2020))
    }

    /// Calls `body` with views of a picture's planes, which may have unused bytes after each row.
    static func withPlanes<Result>(
        _ picture: Picture, _ body: ([PlaneView]) throws -> Result
    ) rethrows -> Result {
        let sizes = picture.planes.map(\.count)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: sizes.reduce(0, +), alignment: 64)
        defer { memory.deallocate() }
        var (views, offset) = ([PlaneView](), 0)
        for (plane, bytes) in picture.planes.enumerated() {
            UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count]).copyBytes(from: bytes)
            let start = memory.baseAddress.unsafelyUnwrapped + offset
            views.append(
                PlaneView(base: start, stride: picture.format.rowBytes(plane: plane, width: picture.width)))
            offset += bytes.count
        }
        return try body(views)
    }

    /// The codes of a picture by the formula, one luma sample for each chroma sample.
    static func reference(_ picture: Picture, _ image: ImageDescription) throws -> [Double] {
        let measure = try #require(LightMeasure(image))
        var codes: [Double] = []
        for y in 0..<picture.chromaHeight {
            for x in 0..<picture.chromaWidth {
                codes.append(
                    measure.code(
                        y: Double(picture[0, 2 * x, 2 * y]), cb: Double(picture[1, x, y]),
                        cr: Double(picture[2, x, y])))
            }
        }
        return codes
    }

    static let cases = PixelFormat.yCbCr.flatMap { format in
        [TransferFunction.hlg, .pq].flatMap { transfer in
            [(64, 32), (37, 21), (1201, 6), (1, 1)].map { (format, transfer, $0.0, $0.1) }
        }
    }

    @Test("The loops agree with the formula", arguments: cases)
    func agrees(format: PixelFormat, transfer: TransferFunction, width: Int, height: Int) throws {
        let image = Self.description(format, width, height, transfer)
        let picture = Picture.noise(format, width, height, seed: UInt64(width))
        let codes = try Self.reference(picture, image)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let meter = try #require(LightMeter(image))
            let reading = try Self.withPlanes(picture) { try meter.measure($0) }
            let mean = codes.reduce(0, +) / Double(codes.count)
            // The code of a single pixel is rounded.
            let limit = codes.count > 1 ? 0.3 : 0.6
            #expect(abs(reading.light.average - mean) < limit, "\(reading.light.average), not \(mean)")
            #expect(abs(Double(reading.light.peak) - (codes.max() ?? 0)) < 1)
            #expect(abs(Double(reading.light.min) - (codes.min() ?? 0)) < 1)
            #expect(reading.startsShot)
            // A second picture is counted from 0.
            let again = try Self.withPlanes(picture) { try meter.measure($0) }
            #expect(again.light == reading.light && !again.startsShot)
        }
    }

    /// Figures of the same picture from an independent computation on every luma sample.
    @Test(.enabled(if: access("/usr/bin/ffmpeg", X_OK) == 0, "ffmpeg is not installed"))
    func measuresAnIPhonesPicture() throws {
        let output = "\(TestDevice.cacheFolder)/phone.i010"
        let tests = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let clip = "/\(tests)/Media/dolby_vision_84.mov"
        let command = """
            ffmpeg -v error -y -noautorotate -i '\(clip)' -map 0:v:0 -frames:v 1 -f rawvideo -pix_fmt yuv420p10le '\(output)' </dev/null
            """
        #expect(system(command) == 0)
        var picture = Picture(.i010, width: 1280, height: 720)
        let file = try #require(fopen(output, "r"))
        defer { fclose(file) }
        for plane in 0..<3 {
            let count = picture.planes[plane].count
            #expect(fread(&picture.planes[plane], 1, count, file) == count)
        }
        let meter = try #require(LightMeter(Self.description(.i010, 1280, 720, .hlg)))
        let light = try Self.withPlanes(picture) { try meter.measure($0) }.light
        #expect(abs(light.average - 2228.2) < 1, "\(light.average)")
        #expect(abs(light.max - 3047) < 15 && abs(light.peak - 3079) < 15 && abs(light.min - 286) < 60)
    }

    @Test func theEdgesAreNotMeasured() throws {
        let image = Self.description(.p010, 64, 48, .hlg)
        var picture = Picture(.p010, width: 64, height: 48)
        for y in 0..<48 {
            for x in 0..<64 { picture[0, x, y] = y < 8 || y >= 38 || x < 4 || x >= 62 ? 64 : 721 }
        }
        for component in 1...2 {
            for y in 0..<24 { for x in 0..<32 { picture[component, x, y] = 512 } }
        }
        let edges = LightMeter.Edges(left: 4, right: 2, top: 8, bottom: 10)
        let meter = try #require(LightMeter(image, edges: edges))
        let light = try Self.withPlanes(picture) { try meter.measure($0) }.light
        #expect(light.min == 2378 && light.max == 2378 && light.peak == 2378 && light.deviation == 0)
        // Edges that leave nothing are ignored.
        let all = try #require(LightMeter(image, edges: LightMeter.Edges(left: 64)))
        #expect(try Self.withPlanes(picture) { try all.measure($0) }.light.min == 0)
    }

    @Test func refusesPlanesThatAreTooNarrow() throws {
        let picture = Picture(.p010, width: 32, height: 16)
        let meter = try #require(LightMeter(Self.description(.p010, 64, 16, .hlg)))
        #expect(throws: SessionError.self) { try Self.withPlanes(picture) { try meter.measure($0) } }
        #expect(throws: SessionError.self) { try meter.measure([]) }
    }

    @Test func othersAreNotMeasured() {
        #expect(LightMeter(Self.description(.p010, 64, 16, .bt1886)) == nil)
        #expect(LightMeter(Self.description(.rgba8, 64, 16, .pq)) == nil)
    }
}
