// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDFakeCamera
import Foundation
import HWDCapturing
import HWDControlCommands
import HWDModel
import HWDVideoSources
#if PIPEWIRE
    import HWDPipeWireVideo
#endif

/// Prints what a source sends, a line each.
///
///     hwd-source-tool camera PATH [size=WxH] [rate=R] [codec=hevc] [silence=MS] [limit=FRAMES] [out=FILE]
///     hwd-source-tool node NAME [size=WxH] [rate=R] [silence=MS] [limit=FRAMES] [out=FILE]
///     hwd-source-tool list PATH
///     hwd-source-tool nodes -
@main
struct SourceTool {
    static func main() {
        hwd_fake_camera()
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { exit(64) }
        var options: [String: String] = [:]
        for argument in arguments.dropFirst(2) {
            let parts = argument.split(separator: "=", maxSplits: 1)
            options[String(parts[0])] = String(parts.last ?? "")
        }
        let sides = options["size"]?.split(separator: "x").compactMap { Int($0) }
        let size = sides.map { (width: $0[0], height: $0[1]) }
        do throws(CommandFailure) {
            switch arguments[0] {
            case "list": try list(arguments[1])
            case "camera":
                let source = try CameraSource(
                    path: arguments[1], size: size,
                    rate: options["rate"].flatMap(Double.init) ?? 30,
                    codecs: options["codec"].flatMap(CaptureCodec.init).map { [$0] } ?? [],
                    silence: .milliseconds(options["silence"].flatMap(Int.init) ?? 5000))
                try record(source, options)
            #if PIPEWIRE
                case "nodes":
                    for node in try PipeWireNode.all() { print("node \(node.id) \(node.name)") }
                case "node":
                    let source = try PipeWireSource(
                        node: arguments[1], size: size,
                        rate: options["rate"].flatMap(Int.init).map { CaptureRate($0) },
                        silence: .milliseconds(options["silence"].flatMap(Int.init) ?? 5000))
                    try record(source, options)
            #endif
            default: exit(64)
            }
        } catch {
            print("failure \(error.exitCode) \(error.reason)")
            exit(error.exitCode)
        }
    }

    private static func list(_ path: String) throws(CommandFailure) {
        let camera = try Camera(path: path)
        print("camera \(camera.name) driver \(camera.driver)")
        for mode in camera.modes {
            let rate = mode.rate.map { "\($0.numerator)/\($0.denominator)" } ?? "-"
            print("mode \(mode.fourcc) \(mode.width)x\(mode.height) \(rate)")
        }
        for other in camera.otherFormats { print("other \(other)") }
    }

    static func record(_ source: any CaptureSource, _ options: [String: String]) throws(CommandFailure) {
        let printer = Printer(
            source.format, limit: options["limit"].flatMap(Int.init) ?? .max,
            file: options["out"].flatMap { fopen($0, "wb") })
        printer.printFormat()
        do { try source.start(printer) } catch { throw CommandFailure(error) }
        printer.done.wait()
        source.stop()
        print("stopped")
    }
}

/// Prints a source's calls; the source's thread alone uses it.
private final class Printer: CaptureSink, @unchecked Sendable {
    private var format: CaptureFormat
    private var left: Int
    private let file: UnsafeMutablePointer<FILE>?
    let done = DispatchSemaphore(value: 0)

    init(_ format: CaptureFormat, limit: Int, file: UnsafeMutablePointer<FILE>?) {
        (self.format, left, self.file) = (format, limit, file)
    }

    func printFormat() {
        let rate = format.rate.map { "\($0.numerator)/\($0.denominator)" } ?? "-"
        var content = ""
        switch format.content {
        case .raw(let pixelFormat): content = pixelFormat
        case .coded(let codec): content = codec.rawValue
        }
        print(
            "format \(content) \(format.width)x\(format.height) \(rate) \(format.primaries ?? 2) "
                + "\(format.transfer ?? 2) \(format.matrix ?? 2) \(format.isFullRange ? "full" : "video")")
    }

    func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        guard case .raw(let name) = format.content, let pixelFormat = PixelFormat(rawValue: name) else { return }
        var number = 0
        if format.width >= 256 {
            for bit in 0..<16 {
                let x = (bit * 16 + 8) * pixelFormat.bytesPerPixel + pixelFormat.bytesPerPixel - 1
                let byte = planes[0].bytes[8 * planes[0].stride + (pixelFormat.isRGB ? x - 1 : x)]
                if byte > 0x80 { number |= 1 << bit }
            }
        }
        for (index, plane) in planes.enumerated() {
            for row in 0..<pixelFormat.rows(plane: index, height: format.height) {
                let start = row * plane.stride
                let bytes = plane.bytes[start..<start + pixelFormat.rowBytes(plane: index, width: format.width)]
                if let file { fwrite(bytes.withContiguousBase, 1, bytes.count, file) }
            }
        }
        print("frame \(sequence.map(String.init) ?? "-") \(time) \(number)")
        count()
    }

    func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        if let file { fwrite(unit.baseAddress, 1, unit.count, file) }
        print("unit \(sequence.map(String.init) ?? "-") \(time) \(unit.count) \(isKeyFrame ? "key" : "other")")
        count()
    }

    func lost(_ count: Int, at time: UInt64, cause: String) { print("lost \(count) \(cause)") }

    func changed(_ format: CaptureFormat) {
        self.format = format
        printFormat()
    }

    func ended(_ end: CaptureEnd) {
        switch end {
        case .finished: print("ended finished")
        case .gone(let reason): print("ended gone \(reason)")
        case .failed(let reason): print("ended failed \(reason)")
        }
        finish()
    }

    private func count() {
        left -= 1
        if left == 0 { finish() }
    }

    private func finish() {
        if let file { fflush(file) }
        done.signal()
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var withContiguousBase: UnsafeRawPointer? { UnsafeRawBufferPointer(rebasing: self).baseAddress }
}
