// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDCoding
import HWDEncoderTesting
import HWDModel
import HWDNVCodec
import HWDPolicy
import HWDTransport
import HWDVAAPI

/// Encodes one job on one node and writes the result.
///
/// A separate process, because libva reads its settings from the environment.
@main
struct VAAPITool {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 6, arguments[2] == "time" {
            return try Timing.run(node: arguments[1], Array(arguments[3...]))
        }
        if arguments.count == 5, arguments[2] == "surfaces" {
            return try Surfaces.run(node: arguments[1], job: arguments[3], result: arguments[4])
        }
        guard arguments.count == 4 else {
            FileHandle.standardError.write(
                Data("usage: hwd-vaapi-tool NODE [surfaces] JOB.json RESULT.json\n".utf8))
            exit(64)
        }
        let job = try JSONDecoder().decode(
            EncodeJob.self, from: Data(contentsOf: URL(fileURLWithPath: arguments[2])))
        let output = open(arguments[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard output >= 0 else {
            throw SessionError(.parameter, "\(arguments[3]): \(String(cString: strerror(errno)))")
        }
        let page = try Confined.start(node: arguments[1])
        let isCard = CodecInterface(node: arguments[1]) == .nvidia
        var result = isCard ? encode(job, card: arguments[1]) : encode(job, node: arguments[1])
        result.forbidden = page.flatMap { ForbiddenCalls($0, .exited(0))?.sentence }
        try FileHandle(fileDescriptor: output).write(contentsOf: JSONEncoder().encode(result))
    }

    static func encode(_ job: EncodeJob, node: String) -> EncodeResult {
        var result = EncodeResult()
        do {
            let file = open(node, O_RDWR | O_CLOEXEC)
            guard file >= 0 else { throw SessionError(.parameter, "\(node): \(String(cString: strerror(errno)))") }
            if job.hasAlpha { return try encodeLayers(job, file) }
            let configuration = try job.configuration(.vaapi)
            if !job.changes.isEmpty || !job.flushes.isEmpty {
                return try job.run(.vaapi) { (configuration) throws(SessionError) in
                    do {
                        return try VAAPIEncoder(node: file, path: try path(configuration, file), configuration)
                    } catch {
                        throw SessionError(.videoEncoderMalfunction, "\(error)")
                    }
                }
            }
            let encoder = try VAAPIEncoder(node: file, path: try path(configuration, file), configuration)
            let refusals = job.offersDMABufs ? try offerDMABufs(encoder, job.clip) : []
            if job.importsFrames {
                var files: [FileHandle] = []
                result = try job.run(encoder) { index, handler in
                    files.append(try importFrame(index, of: job, encoder, handler))
                }
                // The frames must not change until their pictures are emitted.
                withExtendedLifetime(files) {}
            } else {
                result = try job.run(encoder)
            }
            result.notes = encoder.notes + refusals
        } catch let failure as VAAPIFailure {
            (result.failure, result.status) = (failure.error.reason, failure.error.status.rawValue)
            result.isTransient = failure.isTransient
        } catch let error as SessionError {
            (result.failure, result.status) = (error.reason, error.status.rawValue)
        } catch { result.failure = "\(error)" }
        return result
    }

    /// Encodes with a card of NVIDIA's.
    private static func encode(_ job: EncodeJob, card node: String) -> EncodeResult {
        var result = EncodeResult()
        var failure: NVENCFailure?
        do {
            // Sessions with changes and flushes open encoders as they need them.
            if job.changes.isEmpty, job.flushes.isEmpty {
                let encoder = try NVENCEncoder(node: node, job.configuration(.vaapi))
                result = try job.run(encoder)
                result.notes = encoder.notes
                return result
            }
            return try job.run(.vaapi) { (configuration) throws(SessionError) in
                do throws(NVENCFailure) {
                    return try NVENCEncoder(node: node, configuration)
                } catch {
                    failure = error
                    throw error.error
                }
            }
        } catch let error as NVENCFailure {
            (result.failure, result.status) = (error.error.reason, error.error.status.rawValue)
            result.isTransient = error.isTransient
        } catch let error as SessionError {
            (result.failure, result.status) = (error.reason, error.status.rawValue)
            result.isTransient = failure?.isTransient ?? false
        } catch { result.failure = "\(error)" }
        return result
    }

    /// Encodes the layers of a stream with alpha, one after the other; the result has the pictures of both.
    private static func encodeLayers(_ job: EncodeJob, _ file: Int32) throws -> EncodeResult {
        var result = EncodeResult()
        for configuration in try job.layers(.vaapi) {
            let encoder = try VAAPIEncoder(node: file, path: try path(configuration, file), configuration)
            guard encoder.writesSliceHeaders else {
                throw SessionError(.couldNotFindVideoEncoder, "its driver writes slice headers of its own")
            }
            let layer = try job.run(encoder)
            result.pictures += layer.pictures
            result.notes += encoder.notes
        }
        return result
    }

    /// Imports a frame from an unlinked file, which the simulated driver accepts like a dma-buf.
    private static func importFrame(
        _ index: Int, of job: EncodeJob, _ encoder: VAAPIEncoder, _ handler: EncodedPictureHandler
    ) throws -> FileHandle {
        let clip = job.clip
        let frame = clip.native(index)
        let file = try unlinkedFile()
        try file.write(contentsOf: Data(frame.bytes))
        try encoder.encode(
            importing: DMABufFrame(
                fourcc: clip.format.fourcc, width: clip.width, height: clip.height, modifier: 0,
                objects: [DMABufFrame.Object(file: file.fileDescriptor, size: UInt32(frame.bytes.count))],
                planes: frame.layout.planes.map {
                    DMABufFrame.Plane(object: 0, offset: UInt32($0.offset), pitch: $0.stride)
                }),
            frameID: UInt64(index), pts: Int64(index), forceKeyFrame: job.forced.contains(index),
            baseFrameQP: job.frameQPs[index], handler)
        return file
    }

    private static func unlinkedFile() throws -> FileHandle {
        var name = Array("\(FileManager.default.temporaryDirectory.path)/frame-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        unlink(name)
        guard descriptor >= 0 else { throw SessionError(.allocationFailed, String(cString: strerror(errno))) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// The errors for a frame of the wrong size, for one whose descriptor is no dma-buf, and for one that would be taken
    /// if it were linear, in Intel's tiling Y (I915_FORMAT_MOD_Y_TILED in drm_fourcc.h).
    private static func offerDMABufs(_ encoder: VAAPIEncoder, _ clip: Clip) throws -> [String] {
        let (width, height) = (clip.width, clip.height)
        let tiled = try unlinkedFile()
        try tiled.truncate(atOffset: 1 << 28)
        defer { withExtendedLifetime(tiled) {} }
        let offers: [(width: Int, file: Int32, modifier: UInt64)] = [
            (width + 2, 0, 0), (width, 0, 0), (width, tiled.fileDescriptor, 0x0100_0000_0000_0002),
        ]
        return offers.map { offer in
            let frame = DMABufFrame(
                fourcc: clip.format.fourcc, width: offer.width, height: height, modifier: offer.modifier,
                objects: [DMABufFrame.Object(file: offer.file, size: 1 << 28)],
                planes: [
                    DMABufFrame.Plane(object: 0, offset: 0, pitch: 4096),
                    DMABufFrame.Plane(object: 0, offset: 1 << 24, pitch: 4096),
                ])
            do throws(SessionError) {
                try encoder.encode(
                    importing: frame, frameID: 99, pts: -1, forceKeyFrame: false, baseFrameQP: nil
                ) { (_, _) throws(SessionError) in }
                return "accepted"
            } catch { return "\(error)" }
        }
    }

    /// The catalogue's path for a configuration, with the quirks of the node's driver.
    static func path(_ configuration: EncoderConfiguration, _ file: Int32) throws -> HardwarePath {
        let capabilities = try JSONDecoder().decode(
            Capabilities.self, from: Data(Capabilities.embeddedDocument.utf8))
        let id = configuration.profile == .main ? "hevc-main-encode" : "hevc-main10-encode"
        guard let path = capabilities.path(id) else {
            throw SessionError(.couldNotFindVideoEncoder, "no path \(id)")
        }
        // Without a driver the encoder reports the reason.
        guard let display = try? Display(node: file), let entrypoints = try? display.entrypoints(of: path.vaProfile)
        else {
            return HardwarePath(path, entrypoint: path.vaEntrypoints[0], quirks: [])
        }
        let quirks = capabilities.quirks(
            driver: display.vendor, pciID: ProcessInfo.processInfo.environment["VAAPI_TOOL_PCI_ID"], path: id)
        let entrypoint = path.vaEntrypoints.first(where: entrypoints.contains) ?? path.vaEntrypoints[0]
        return HardwarePath(path, entrypoint: entrypoint, quirks: quirks)
    }
}
