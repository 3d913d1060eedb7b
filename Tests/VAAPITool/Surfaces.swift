// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDCoding
import HWDEncoderTesting
import HWDLibAV
import HWDModel
import Synchronization

/// `hwd-vaapi-tool NODE surfaces JOB.json RESULT.json`: encodes a job, decodes it on the same node, and exports and copies
/// each surface.
enum Surfaces {
    static func run(node: String, job: String, result: String) throws {
        let job = try JSONDecoder().decode(EncodeJob.self, from: Data(contentsOf: URL(fileURLWithPath: job)))
        let coded = VAAPITool.encode(job, node: node)
        if let failure = coded.failure { throw SessionError(.videoEncoderMalfunction, failure) }
        var options = HEVCDecoder.Options()
        (options.threads, options.device, options.keepsSurfaces, options.isSemiPlanar) = (1, node, true, true)
        let memory = Memory()
        let decoder = try HEVCDecoder(
            StreamFormat(description: coded.formatDescription), options, memory: memory)
        var reports: [SurfaceReport] = []
        func take(_ event: DecoderEvent) throws(SessionError) {
            guard case .picture(_, let owner) = event, let surface = owner as? DecodedSurface else {
                throw SessionError(.videoDecoderMalfunction, "a picture is not on a surface")
            }
            reports.append(try report(surface, memory))
        }
        for (index, picture) in coded.pictures.enumerated() {
            try decoder.decode(DecoderInput(base: picture.bytes), sequence: Int64(index), take)
        }
        try decoder.finish(take)
        try JSONEncoder().encode(reports).write(to: URL(fileURLWithPath: result))
    }

    private static func report(_ surface: DecodedSurface, _ memory: Memory) throws(SessionError) -> SurfaceReport {
        let export = try surface.export()
        let (picture, owner) = try surface.download()
        let samples = withExtendedLifetime(owner) { memory.samples(of: picture) }
        var rows: [UInt8] = []
        for (index, plane) in export.planes.enumerated() {
            let file = export.objects[plane.object]
            let size = Int(lseek(file, 0, SEEK_END))
            guard let base = mmap(nil, size, PROT_READ, MAP_SHARED, file, 0), base != MAP_FAILED else {
                throw SessionError(.videoDecoderMalfunction, "an exported surface cannot be mapped")
            }
            defer { munmap(base, size) }
            for row in 0..<picture.format.rows(plane: index, height: picture.height) {
                let start = base + Int(plane.offset) + row * Int(plane.pitch)
                let count = picture.format.rowBytes(plane: index, width: picture.width)
                rows += UnsafeRawBufferPointer(start: start, count: count)
            }
        }
        return SurfaceReport(modifiers: export.planes.map(\.modifier), isLinear: rows == samples, samples: samples)
    }
}

/// Memory for copies of surfaces.
private final class Memory: PictureMemory {
    private let slots = Mutex<[Int: FrameSlot]>([:])

    func allocate(byteCount: Int) -> FrameSlot? {
        let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        return slots.withLock { slots in
            let slot = FrameSlot(
                id: (slots.keys.max() ?? 0) + 1, base: base, poolOffset: 0, byteCount: byteCount)
            slots[slot.id] = slot
            return slot
        }
    }

    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot {
        guard let slot = allocate(byteCount: byteCount) else { throw SessionError(.allocationFailed, "no slot") }
        return slot
    }

    func free(_ id: Int) {
        slots.withLock { $0.removeValue(forKey: id) }?.base.deallocate()
    }

    /// The samples of a picture in a slot, without gaps between rows.
    func samples(of picture: OutputPicture) -> [UInt8] {
        guard let slot = slots.withLock({ $0[picture.slot] }) else { return [] }
        var samples: [UInt8] = []
        for (index, plane) in picture.layout.planes.enumerated() {
            let count = picture.format.rowBytes(plane: index, width: picture.width)
            for row in 0..<picture.format.rows(plane: index, height: picture.height) {
                let start = slot.base + Int(plane.offset) + row * Int(plane.stride)
                samples += UnsafeRawBufferPointer(start: start, count: count)
            }
        }
        return samples
    }
}
