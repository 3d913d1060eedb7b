// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel

/// Joins the pictures of two layers, both planar 4:2:0 of 8 bits, to one with an alpha plane in the session's memory.
struct AlphaPlaneMerger {
    /// A decoder's picture and the object that keeps its samples.
    struct Part {
        let picture: OutputPicture
        let owner: any AnyObject & Sendable
        let memory: ScratchMemory

        /// One plane's samples.
        func plane(_ index: Int) throws(SessionError) -> PlaneView {
            guard let base = memory.base(of: picture.slot) else {
                throw SessionError(.videoDecoderMalfunction, "a picture's slot is not lent")
            }
            let place = picture.layout.planes[index]
            return PlaneView(base: UnsafeRawPointer(base) + Int(place.offset), stride: Int(place.stride))
        }
    }

    let memory: any PictureMemory

    /// The value of an opaque sample.
    static let opaque: UInt8 = 255

    /// Joins a picture with its alpha; without alpha it is opaque.
    ///
    /// - Parameters:
    ///   - alpha: a picture of the same size, whose luma is alpha.
    ///   - opacities: the opacity for each value of alpha; nil keeps the values.
    /// - Throws: errors that end the session.
    func join(
        _ base: Part, alpha: Part?, opacities: [UInt8]?
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        let (width, height) = (base.picture.width, base.picture.height)
        let packed = FrameLayout.packed(.yuva, width: width, height: height)
        let slot = try memory.slotForCopy(byteCount: packed.size)
        let holder = SlotHolder(memory, slot.id)
        for (index, target) in packed.layout.mutablePlanes(at: slot.base).enumerated() {
            let row = PixelFormat.yuva.rowBytes(plane: index, width: width)
            let rows = PixelFormat.yuva.rows(plane: index, height: height)
            if index < 3 {
                target.copyRows(of: try base.plane(index), rowBytes: row, rows: rows)
            } else if let alpha {
                Self.write(try alpha.plane(0), target, row, rows, opacities)
            } else {
                Self.fillOpaque(target, row, rows)
            }
        }
        var picture = base.picture
        picture.format = .yuva
        picture.slot = slot.id
        picture.layout = packed.layout.moved(by: slot.poolOffset)
        return (picture, holder)
    }

    private static func fillOpaque(_ target: MutablePlaneView, _ row: Int, _ rows: Int) {
        for line in 0..<rows {
            (target.base + line * target.stride).initializeMemory(as: UInt8.self, repeating: opaque, count: row)
        }
    }

    private static func write(
        _ alpha: PlaneView, _ target: MutablePlaneView, _ row: Int, _ rows: Int, _ opacities: [UInt8]?
    ) {
        guard let opacities else { return target.copyRows(of: alpha, rowBytes: row, rows: rows) }
        opacities.withUnsafeBufferPointer { table in
            for line in 0..<rows {
                let values = (alpha.base + line * alpha.stride).assumingMemoryBound(to: UInt8.self)
                let results = (target.base + line * target.stride).assumingMemoryBound(to: UInt8.self)
                for index in 0..<row { results[index] = table[Int(values[index])] }
            }
        }
    }
}
