// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDColor
public import HWDModel

/// What one picture on its way needs.
final class ConversionSlot {
    let upload: DeviceBuffer
    let download: DeviceBuffer
    var slices: [PictureSlice] = []
    /// The same for sources in images.
    var imageSlices: [PictureSlice] = []
    /// The source, where it lies in images, until the picture is finished.
    var images: ImagePicture?
    /// The ticket of the picture that is under way; 0 for none.
    var ticket = 0
    /// The picture rows of each slice, in order.
    var rows: [Range<Int>] = []
    /// Where the picture goes, and which of its planes were written in place.
    var target: [MutablePlaneView] = []
    var isDirect: [Bool] = []

    init(_ device: VulkanDevice, source: Int, target: Int) throws(SessionError) {
        upload = try DeviceBuffer(device, size: source, .upload)
        download = try DeviceBuffer(device, size: target, .download)
    }
}

extension VulkanConverter {
    /// A plane in a buffer as shaders see it.
    private struct Seen {
        var geometry: PlaneGeometry
        var buffer: VkBuffer
        var size: Int
        var offset: Int
        var stride: Int
        var isDirect: Bool
    }

    /// Begins a picture: what must be copied is copied, and the device starts.
    ///
    /// - Parameters:
    ///   - source: Stays in place until `finish`, because planes in imported memory are not copied.
    ///   - target: As the source.
    /// - Throws: `Parameter` for planes that do not fit the formats, `InvalidSession` where `slotCount` pictures are
    ///   under way, else what the device could not do.
    public func submit(
        _ source: [PlaneView], into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        try Self.check(self.source.planes, source.map(\.stride), "source")
        return try begin(source, nil, into: target)
    }

    /// Begins a picture that lies in images.
    ///
    /// - Throws: As above; `Parameter` for images that are not of the conversion's source.
    func submit(
        _ images: ImagePicture, into target: [MutablePlaneView]
    ) throws(SessionError) -> ConversionTicket {
        let wanted = plan.conversion.source
        guard images.description == (wanted.format, wanted.width, wanted.height) else {
            throw SessionError(.parameter, "the images are not a \(wanted.format.rawValue) of the session's size")
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
            seen(self.source.planes[index], source[index].base, source[index].stride, slot, isTarget: false)
        }
        let to = target.indices.map { index in
            seen(
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

    /// Waits for a picture, slice by slice, and copies what was not written in place.
    ///
    /// - Throws: `InvalidSession` for a picture that is not under way, else what the device could not do; a device that
    ///   does not end within 5 s (software: 30 s) counts as lost.
    public func finish(_ ticket: ConversionTicket) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        guard let slot = slots.first(where: { $0.ticket == ticket.number && ticket.number > 0 }) else {
            throw SessionError(.invalidSession, "that picture is not under way")
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
            throw SessionError(.invalidSession, "\(Self.slotCount) pictures are under way; finish one first")
        }
        let slot = try ConversionSlot(gpu, source: source.size, target: target.size)
        slots.append(slot)
        return slot
    }

    /// A plane in imported memory where it lies in one, else its place in staging.
    private func seen(
        _ plane: PlaneGeometry, _ base: UnsafeRawPointer, _ stride: Int, _ slot: ConversionSlot, isTarget: Bool
    ) -> Seen {
        // Rows so long that few fit a binding are copied closer together.
        for region in gpu.regions where stride <= bindingLimit / 16 {
            if let offset = region.offset(of: base, stride: stride, plane, isTarget: isTarget) {
                return Seen(
                    geometry: plane, buffer: region.buffer.handle, size: region.buffer.memory.count, offset: offset,
                    stride: stride, isDirect: true)
            }
        }
        let (handle, size) =
            isTarget
            ? (slot.download.handle, slot.download.memory.count) : (slot.upload.handle, slot.upload.memory.count)
        return Seen(
            geometry: plane, buffer: handle, size: size, offset: plane.offset, stride: plane.stride, isDirect: false
        )
    }

    private func start(
        _ slot: ConversionSlot, _ index: Int, _ rows: Range<Int>, _ from: [Seen], _ to: [Seen]
    ) throws(SessionError) {
        var place = Placement()
        place.width = Int32(plan.conversion.source.width)
        place.height = Int32(plan.conversion.source.height)
        (place.firstRow, place.endRow) = (Int32(rows.lowerBound), Int32(rows.upperBound))
        let planes = slot.images?.planes ?? []
        // What a shader does not look at must be bound too: the constants, or the first image.
        var bindings: [Int: PictureSlice.Binding] = [:]
        for index in 0..<PipelineStore.bindingCount where planes.isEmpty || index > 2 {
            bindings[index] = .buffer(
                constants.handle, offset: Self.tablesOffset, range: parameters.tables.count * 4)
        }
        bindings[PipelineStore.parametersBinding] = .buffer(
            constants.handle, offset: 0, range: parameters.uniform.count * 4)
        bindings[PipelineStore.tablesBinding] = .texels(tables.handle)
        for index in 0..<2 where !planes.isEmpty {
            bindings[index] = .image(planes[min(index, planes.count - 1)].view)
        }
        for (index, plane) in from.enumerated() {
            let part = plane.geometry.rows(of: rows, margin: 2)
            let base = bind(plane, part, &bindings[index])
            Self.set(&place.sourceBase, index, base)
            Self.set(&place.sourceStride, index, plane.stride)
            if index == 0 {
                place.sourceLuma = Int32(part.lowerBound)
            } else {
                place.sourceChroma = Int32(part.lowerBound)
            }
        }
        for (index, plane) in to.enumerated() {
            let part = plane.geometry.rows(of: rows, margin: 0)
            let base = bind(plane, part, &bindings[3 + index])
            Self.set(&place.targetBase, index, base)
            Self.set(&place.targetStride, index, plane.stride)
            if index == 0 {
                place.targetLuma = Int32(part.lowerBound)
            } else {
                place.targetChroma = Int32(part.lowerBound)
            }
        }
        let across = parameters.pixelsPerInvocation * parameters.workgroup.x
        let down = 2 * parameters.workgroup.y
        // Images are taken before the first slice and given back after the last: one queue, in order.
        var handover = PictureSlice.Handover()
        if slot.images?.isForeign == true {
            if index == 0 { handover.taken = planes.map(\.handle) }
            if index == slot.rows.count - 1 { handover.given = planes.map(\.handle) }
        }
        let slice = slot.images == nil ? slot.slices[index] : slot.imageSlices[index]
        guard let pipeline = slot.images == nil ? pipeline : imagePipeline else { return }
        try slice.submit(
            pipeline, bindings, place,
            groups: ((plan.conversion.source.width + across - 1) / across, (rows.count + down - 1) / down), handover
        )
    }

    /// Binds rows of a plane; the bytes from the binding's start, which must be aligned, to the first row.
    private func bind(_ plane: Seen, _ rows: Range<Int>, _ binding: inout PictureSlice.Binding?) -> Int {
        let first = plane.offset + rows.lowerBound * plane.stride
        let start = first / PlaneGeometry.bindingAlignment * PlaneGeometry.bindingAlignment
        let end = first + (rows.count - 1) * plane.stride + plane.geometry.rowBytes
        binding = .buffer(
            plane.buffer, offset: start,
            range: min(end.roundedUp(to: PlaneGeometry.rowAlignment), plane.size) - start)
        return first - start
    }

    private static func set(_ numbers: inout (UInt32, UInt32, UInt32), _ index: Int, _ value: Int) {
        switch index {
        case 0: numbers.0 = UInt32(value)
        case 1: numbers.1 = UInt32(value)
        default: numbers.2 = UInt32(value)
        }
    }

    private func upload(_ view: PlaneView, _ plane: PlaneGeometry, _ rows: Range<Int>, _ slot: ConversionSlot) {
        guard let start = slot.upload.memory.baseAddress else { return }
        for row in rows {
            (start + plane.offset + row * plane.stride).copyMemory(
                from: view.base + row * view.stride, byteCount: plane.rowBytes)
        }
    }

    private func download(_ slot: ConversionSlot, _ plane: PlaneGeometry, _ view: MutablePlaneView, _ rows: Range<Int>) {
        guard let start = slot.download.memory.baseAddress else { return }
        for row in rows {
            (view.base + row * view.stride).copyMemory(
                from: start + plane.offset + row * plane.stride, byteCount: plane.rowBytes)
        }
    }

    /// Gives a slot up whose later slices did not start: what did must have ended before the slot is used again.
    private func abandon(_ slot: ConversionSlot, started: Int) {
        let slices = slot.images == nil ? slot.slices : slot.imageSlices
        for slice in slices.prefix(started) { try? slice.wait(seconds: timeout) }
        slot.ticket = 0
        slot.images = nil
    }
}
