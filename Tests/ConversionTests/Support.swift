// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// How long a test waits for what must happen; only a hang takes that long, however slow the machine is.
let hangLimit = Duration.seconds(120)

/// Tests that share one lavapipe device and run serially.
@Suite(.serialized, .enabled(if: TestDevice.problem == nil, Comment(rawValue: "\(TestDevice.problem ?? "")")))
struct VulkanTests {}

/// The device of these tests: software, with the validation layer.
enum TestDevice {
    /// Safe because all tests are in one serialized suite.
    nonisolated(unsafe) private static let opened: Result<VulkanDevice, SessionError> = {
        // Keeps both caches out of the user's directories.
        setenv("XDG_CACHE_HOME", cacheFolder, 1)
        do throws(SessionError) { return .success(try VulkanDevice(allowsSoftware: true, validates: true)) } catch {
            return .failure(error)
        }
    }()

    static let cacheFolder: String = {
        var template = Array(
            "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/hwdaemon-test-XXXXXX".utf8CString)
        return mkdtemp(&template).map { String(cString: $0) } ?? "/tmp"
    }()

    /// Why there is no device; nil where there is one.
    static var problem: String? {
        if case .failure(let error) = opened { return error.reason }
        return nil
    }

    static func get() throws -> VulkanDevice { try opened.get() }

    /// Fails the test for messages of the validation layer since the last call.
    static func checkValidation(_ location: SourceLocation = #_sourceLocation) throws {
        let messages = try get().validation?.messages ?? []
        for message in messages.dropFirst(seen) { Issue.record("\(message)", sourceLocation: location) }
        seen = messages.count
    }
    nonisolated(unsafe) private static var seen = 0
}

extension Picture {
    /// Reproducible noise over the whole range of codes.
    static func noise(_ format: PixelFormat, _ width: Int, _ height: Int, seed: UInt64) -> Picture {
        var picture = Picture(format, width: width, height: height)
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next() -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state >> 40)
        }
        for component in 0..<(format.isYCbCr ? 3 : 4) {
            let isChroma = format.isYCbCr && component > 0
            for y in 0..<(isChroma ? picture.chromaHeight : height) {
                for x in 0..<(isChroma ? picture.chromaWidth : width) {
                    if format == .rgba16f {
                        let value =
                            component == 3 ? Double(next() % 257) / 256 : Double(next() % 4096) / 512 - 0.25
                        picture[component, x, y] = Int(Half.bits(value))
                    } else {
                        picture[component, x, y] = next() % (format.top(component) + 1)
                    }
                }
            }
        }
        if !format.isYCbCr { picture.limitColorsToAlpha() }
        return picture
    }

    /// Limits codes to alpha, as in premultiplied pictures.
    private mutating func limitColorsToAlpha() {
        guard format.hasAlpha, format != .rgba16f else { return }
        for y in 0..<height {
            for x in 0..<width {
                for component in 0..<3 {
                    let most = self[3, x, y] * format.top(component) / format.alphaTop
                    self[component, x, y] = min(self[component, x, y], most)
                }
            }
        }
    }
}

/// Converts a picture with a converter under test.
func convert(_ picture: Picture, with converter: any PixelConverter, to format: PixelFormat) throws -> Picture {
    var result = Picture(format, width: picture.width, height: picture.height)
    var sources = picture.planes.map { plane in
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: plane.count, alignment: 64)
        copy.copyBytes(from: plane)
        return copy
    }
    let targets = result.planes.map { UnsafeMutableRawBufferPointer.allocate(byteCount: $0.count, alignment: 64) }
    defer {
        for memory in sources + targets { memory.deallocate() }
        sources = []
    }
    func base(_ memory: UnsafeMutableRawBufferPointer) throws -> UnsafeMutableRawPointer {
        try #require(memory.baseAddress)
    }
    try converter.convert(
        sources.enumerated().map { index, memory in
            PlaneView(
                base: UnsafeRawPointer(try base(memory)),
                stride: picture.format.rowBytes(plane: index, width: picture.width))
        },
        into: targets.enumerated().map { index, memory in
            MutablePlaneView(base: try base(memory), stride: format.rowBytes(plane: index, width: picture.width))
        })
    for (index, memory) in targets.enumerated() { result.planes[index] = Array(memory) }
    return result
}

/// The distance of a picture from the reference, relative to the tolerance; at most 1 for a correct picture.
///
/// The tolerance of half floats is one unit in the last place of the value, or an eighth of that of the pixel's largest
/// component; that of codes is half a code and a twentieth for fp32.
///
/// - Parameter luminance: The luminance weights, for half floats after HLG's OOTF: its power of a luminance near 0, where
///   components of both signs cancel, is ill-conditioned, so the tolerance is doubled.
func distance(
    _ picture: Picture, from values: ReferenceConverter.Values, slack: Double = 0.05, luminance: Triple? = nil
) -> Double {
    func unit(_ value: Double) -> Double {
        let exponent = abs(value) < 0x1p-14 ? -14 : min(Int(value.exponent), 15)
        return Double(sign: .plus, exponent: exponent - 10, significand: 1)
    }
    var worst = 0.0
    let top = Double(1 << picture.format.bitDepth) - 1
    for (component, plane) in values.enumerated() {
        let width = picture.format.isYCbCr && component > 0 ? picture.chromaWidth : picture.width
        for (index, exact) in plane.enumerated() {
            let code = picture[component, index % width, index / width]
            if picture.format == .rgba16f {
                let largest = (0..<3).map { abs(values[$0][index]) }.max() ?? 0
                let limited = min(max(exact, -Half.limit), Half.limit)
                var allowed = max(unit(limited), unit(min(largest, Half.limit)) / 8)
                if let luminance {
                    let color: Triple = [values[0][index], values[1][index], values[2][index]]
                    if abs((luminance * color).sum()) < largest / 1000 { allowed *= 2 }
                }
                worst = max(worst, abs(Double(Float16(bitPattern: UInt16(code))) - limited) / allowed)
            } else {
                let scaled = min(max(picture.format.code(exact, component), 0), top)
                worst = max(worst, abs(Double(code) - scaled) / (0.5 + slack))
            }
        }
    }
    return worst
}

/// Converts noise on the test device and compares it with the reference.
func expectCorrect(
    _ conversion: Conversion, seed: UInt64 = 1, slack: Double = 0.05, _ location: SourceLocation = #_sourceLocation
) throws {
    let reference = try ReferenceConverter(conversion)
    let converter = try VulkanConverter(reference.plan, on: TestDevice.get())
    let source = conversion.source
    let picture = Picture.noise(source.format, source.width, source.height, seed: seed)
    let result = try convert(picture, with: converter, to: conversion.target.format)
    var values = reference.values(picture)
    // Dithered codes are compared after rounding, because the pattern is part of the result.
    if reference.plan.dithers {
        let rounded = reference.round(values)
        values = values.indices.map { component in
            values[component].indices.map { index in
                let width = rounded.format.isYCbCr && component > 0 ? rounded.chromaWidth : rounded.width
                let code = Double(rounded[component, index % width, index / width])
                return component == 3 ? code / Double(rounded.format.alphaTop) : code
            }
        }
    }
    let error = distance(result, from: values, slack: reference.plan.dithers ? 0.5 : slack)
    if error > 1 { Issue.record("\(error) units: \(conversion)", sourceLocation: location) }
    try TestDevice.checkValidation(location)
}
