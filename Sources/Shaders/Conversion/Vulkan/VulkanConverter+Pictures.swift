// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
public import HWDModel

extension VulkanConverter {
    /// Starts a picture after copying the planes that are not used in place.
    ///
    /// - Parameters:
    ///   - source: Must stay valid until `finish`, because planes in imported memory are not copied.
    ///   - target: Must stay valid until `finish`.
    /// - Throws: `Parameter` for planes that do not fit the formats, `InvalidSession` where `slotCount` pictures are
    ///   in flight, else errors of the device.
    public func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        try Self.check(self.source.planes, source.map(\.stride), "source")
        return try begin(source, nil, into: target)
    }

    /// Starts a picture in images.
    ///
    /// - Throws: As above; `Parameter` for images that do not match the conversion's source.
    func submit(
        _ images: ImagePicture, into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        let wanted = plan.conversion.source
        guard images.description == (wanted.format, wanted.width, wanted.height) else {
            throw SessionError(.parameter, "the images are not \(wanted.format.rawValue) of the session's size")
        }
        if imagePipeline == nil {
            var key = parameters.key
            key.front = .images
            imagePipeline = try gpu.store().pipeline(key, gpu)
        }
        return try begin([], images, into: target)
    }

    private func begin(
        _ source: [PlaneView], _ images: ImagePicture?, into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        if let failure = gpu.failure { throw failure }
        try Self.check(self.target.planes, target.map(\.stride), "target")
        let slot = try freeSlot()
        let from = source.indices.map { index in
            bound(self.source.planes[index], source[index].base, source[index].stride, slot, isTarget: false)
        }
        let to = target.indices.map { index in
            bound(
                self.target.planes[index], UnsafeRawPointer(target[index].base), target[index].stride, slot,
                isTarget: true)
        }
        let all = from + to
        let isStaged = all.contains { !$0.isDirect }
        let step = try rowsPerSlice(all.map { ($0.geometry, $0.stride) }, isStaged: isStaged)
        let height = plan.conversion.source.height
        slot.rows = stride(from: 0, to: height, by: step).map { $0..<min($0 + step, height) }
        slot.target = target
        slot.isDirect = to.map(\.isDirect)
        while images == nil, slot.slices.count < slot.rows.count {
            slot.slices.append(try PictureSlice(gpu, .buffers))
        }
        while images != nil, slot.imageSlices.count < slot.rows.count {
            slot.imageSlices.append(try PictureSlice(gpu, .images))
        }
        slot.images = images
        lastTicket += 1
        slot.ticket = lastTicket
        var copied = [Int](repeating: 0, count: from.count)
        for (index, rows) in slot.rows.enumerated() {
            for plane in from.indices where !from[plane].isDirect {
                let needed = from[plane].geometry.rows(of: rows, margin: 2).upperBound
                upload(source[plane], self.source.planes[plane], copied[plane]..<max(needed, copied[plane]), slot)
                copied[plane] = max(needed, copied[plane])
            }
            do throws(SessionError) { try start(slot, index, rows, from, to) } catch {
                abandon(slot, started: index)
                throw error
            }
        }
        if isStaged { gpu.picturesCopied += 1 } else { gpu.picturesInPlace += 1 }
        return ConversionTicket(number: slot.ticket)
    }

    /// Waits for a picture, slice by slice, and copies the planes that were not written in place.
    ///
    /// - Throws: `InvalidSession` for a picture that is not in flight, else errors of the device; a device that does not
    ///   finish within 5 s (software: 30 s) counts as lost.
    public func finish(_ ticket: ConversionTicket) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        guard let slot = slots.first(where: { $0.ticket == ticket.number && ticket.number > 0 }) else {
            throw SessionError(.invalidSession, "the picture is not in flight")
        }
        defer {
            slot.ticket = 0
            slot.target = []
            slot.images = nil
        }
        for (slice, rows) in zip(slot.images == nil ? slot.slices : slot.imageSlices, slot.rows) {
            try slice.wait(seconds: timeout)
            for (index, plane) in target.planes.enumerated() where !slot.isDirect[index] {
                download(slot, plane, slot.target[index], plane.rows(of: rows, margin: 0))
            }
        }
    }

    private static func check(_ planes: [PlaneGeometry], _ strides: [Int], _ side: String) throws(SessionError) {
        guard strides.count == planes.count else {
            throw SessionError(.parameter, "the \(side) has \(planes.count) planes, not \(strides.count)")
        }
        for (index, (plane, stride)) in zip(planes, strides).enumerated() where stride < plane.rowBytes {
            throw SessionError(
                .parameter,
                "plane \(index) of the \(side): a stride of \(stride) cannot hold \(plane.rowBytes) bytes")
        }
    }

    private func freeSlot() throws(SessionError) -> ConversionSlot {
        if let slot = slots.first(where: { $0.ticket == 0 }) { return slot }
        guard slots.count < Self.slotCount else {
            throw SessionError(.invalidSession, "\(Self.slotCount) pictures are in flight; finish one first")
        }
        let slot = try ConversionSlot(gpu, source: source.size, target: target.size)
        slots.append(slot)
        return slot
    }

    /// A plane in the imported region that contains it, else in staging.
    private func bound(
        _ plane: PlaneGeometry, _ base: UnsafeRawPointer, _ stride: Int, _ slot: ConversionSlot, isTarget: Bool
    ) -> BoundPlane {
        if let plane = gpu.direct(plane, base, stride, isTarget: isTarget, limit: bindingLimit) { return plane }
        let (handle, size) =
            isTarget
            ? (slot.download.handle, slot.download.memory.count) : (slot.upload.handle, slot.upload.memory.count)
        return BoundPlane(
            geometry: plane, buffer: handle, size: size, offset: plane.offset, stride: plane.stride, isDirect: false
        )
    }

    private func upload(_ view: PlaneView, _ plane: PlaneGeometry, _ rows: Range<Int>, _ slot: ConversionSlot) {
        plane.upload(rows, of: view, to: slot.upload.memory)
    }

    private func download(
        _ slot: ConversionSlot, _ plane: PlaneGeometry, _ view: MutablePlaneView, _ rows: Range<Int>
    ) {
        plane.download(rows, from: slot.download.memory, to: view)
    }

    /// Releases a slot after a slice could not be started; the slices before must end before the slot is used again.
    private func abandon(_ slot: ConversionSlot, started: Int) {
        let slices = slot.images == nil ? slot.slices : slot.imageSlices
        for slice in slices.prefix(started) { try? slice.wait(seconds: timeout) }
        slot.ticket = 0
        slot.images = nil
    }
}
