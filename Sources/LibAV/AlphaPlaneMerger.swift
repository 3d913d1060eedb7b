// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions

/// Joins the pictures of two layers, 8-bit planar 4:2:0 each, to one with an alpha plane in the session's memory.
struct AlphaPlaneMerger {
    /// A decoder's picture and what holds its samples.
    struct Part {
        let picture: OutputPicture
        let owner: any AnyObject & Sendable
        let memory: ScratchMemory

        /// The first sample of a plane.
        func plane(_ index: Int) -> UnsafeRawPointer? {
            memory.base(of: picture.slot).map { UnsafeRawPointer($0) + Int(picture.layout.planes[index].offset) }
        }
    }

    let memory: any PictureMemory

    /// The value of an opaque sample.
    static let opaque: UInt8 = 255

    /// Joins a picture with its alpha; with none it is opaque.
    ///
    /// - Parameters:
    ///   - alpha: of the same size.
    ///   - opacities: what each value of alpha stands for; nil is itself.
    /// - Throws: what ends the session.
    func join(
        _ base: Part, alpha: Part?, opacities: [UInt8]?
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        let (width, height) = (base.picture.width, base.picture.height)
        let packed = FrameLayout.packed(.yuva, width: width, height: height)
        let slot = try memory.slotForCopy(byteCount: packed.size)
        let holder = SlotHolder(memory, slot.id)
        for plane in 0..<4 {
            let place = packed.layout.planes[plane]
            let target = slot.base + Int(place.offset)
            let row = PixelFormat.yuva.rowBytes(plane: plane, width: width)
            let rows = PixelFormat.yuva.rows(plane: plane, height: height)
            guard let source = plane < 3 ? base : alpha else {
                for line in 0..<rows {
                    (target + line * Int(place.stride)).initializeMemory(
                        as: UInt8.self, repeating: Self.opaque, count: row)
                }
                continue
            }
            let index = plane < 3 ? plane : 0
            guard let start = source.plane(index) else {
                throw SessionError(.videoDecoderMalfunction, "a picture's samples are not there")
            }
            let stride = Int(source.picture.layout.planes[index].stride)
            for line in 0..<rows {
                let to = target + line * Int(place.stride)
                to.copyMemory(from: start + line * stride, byteCount: row)
                if plane == 3, let opacities { Self.map(to, row, opacities) }
            }
        }
        var picture = base.picture
        picture.format = .yuva
        picture.slot = slot.id
        picture.layout = FrameLayout(
            planes: packed.layout.planes.map { .init(offset: $0.offset + slot.poolOffset, stride: $0.stride) })
        return (picture, holder)
    }

    private static func map(_ row: UnsafeMutableRawPointer, _ count: Int, _ table: [UInt8]) {
        let samples = row.assumingMemoryBound(to: UInt8.self)
        table.withUnsafeBufferPointer { table in
            for index in 0..<count { samples[index] = table[Int(samples[index])] }
        }
    }
}
