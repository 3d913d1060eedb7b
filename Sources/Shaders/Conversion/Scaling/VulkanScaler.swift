// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDColor
internal import HWDModel

/// Scales pictures with two compute shaders on a Vulkan device: across into fp32, then down.
///
/// Planes in imported memory are used in place; others are copied.
final class VulkanScaler: PixelConverter {
    let device: String

    private let gpu: VulkanDevice
    private let scaling: Scaling
    private let parts: [ScaledPart]
    private let tables: ScalingTables
    private let constants: DeviceBuffer
    /// Where the numbers of each plane are in `constants`.
    private let componentOffsets: [Int]
    private let upload: DeviceBuffer
    private let download: DeviceBuffer
    /// Rows that are filtered across.
    private var scratch: DeviceBuffer?
    private let source: [PlaneGeometry]
    private let target: [PlaneGeometry]
    private let across: VkPipeline
    private let down: VkPipeline
    private var slices: [PictureSlice] = []
    /// The greatest size of a binding in bytes; tests reduce it.
    var bindingLimit: Int

    /// Invocations of a workgroup.
    private static let workgroup = (x: 64, y: 1)

    /// Creates the objects of a scaling on an open device.
    ///
    /// - Throws: `PixelTransferNotSupported` for a separate plane of alpha, else the driver's error.
    init(_ scaling: Scaling, on gpu: VulkanDevice) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        (self.gpu, self.scaling) = (gpu, scaling)
        device = gpu.description.label
        bindingLimit = Int(gpu.limits.maxStorageBufferRange)
        parts = ScaledPart.parts(of: scaling)
        tables = ScalingTables(scaling)
        let from = PlaneGeometry.planes(of: scaling.source)
        let to = PlaneGeometry.planes(of: scaling.target)
        (source, target) = (from.planes, to.planes)
        upload = try DeviceBuffer(gpu, size: from.size, .upload)
        download = try DeviceBuffer(gpu, size: to.size, .download)
        var size = (tables.axisNumbers.count * 4).roundedUp(to: PlaneGeometry.bindingAlignment)
        componentOffsets = tables.components.indices.map { size + $0 * PlaneGeometry.bindingAlignment }
        size += tables.components.count * PlaneGeometry.bindingAlignment
        constants = try DeviceBuffer(gpu, size: size, .constants)
        func pipeline(_ pass: PipelineStore.ScalingPass) throws(SessionError) -> VkPipeline {
            let key = PipelineStore.Key(
                writesYCbCr: false, constants: [UInt32(Self.workgroup.x), UInt32(Self.workgroup.y)], pass: pass)
            return try gpu.store().pipeline(key, gpu)
        }
        (across, down) = (try pipeline(.across), try pipeline(.down))
        tables.axisNumbers.withUnsafeBytes { constants.memory.copyMemory(from: $0) }
        for (offset, numbers) in zip(componentOffsets, tables.components) {
            numbers.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: constants.memory[offset...]).copyMemory(from: $0)
            }
        }
    }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        try CPUConverter.check(source.map(\.stride), scaling.source, "source")
        try CPUConverter.check(target.map(\.stride), scaling.target, "target")
        let from = source.indices.map { index in
            bound(self.source[index], source[index].base, source[index].stride, isTarget: false)
        }
        let to = target.indices.map { index in
            bound(self.target[index], UnsafeRawPointer(target[index].base), target[index].stride, isTarget: true)
        }
        for (index, plane) in from.enumerated() where !plane.isDirect {
            plane.geometry.upload(0..<plane.geometry.rows, of: source[index], to: upload.memory)
        }
        var count = 0
        do throws(SessionError) {
            for plane in to.indices { try submit(plane, from, to[plane], &count) }
        } catch {
            try? wait(count)
            throw error
        }
        try wait(count)
        for (index, plane) in to.enumerated() where !plane.isDirect {
            plane.geometry.download(0..<plane.geometry.rows, from: download.memory, to: target[index])
        }
        let isInPlace = (from + to).allSatisfy(\.isDirect)
        if isInPlace { gpu.picturesInPlace += 1 } else { gpu.picturesCopied += 1 }
    }

    private func wait(_ count: Int) throws(SessionError) {
        for slice in slices.prefix(count) {
            try slice.wait(seconds: gpu.description.kind == .software ? 30 : 5)
        }
    }

    /// A plane where it is, or in staging memory.
    private func bound(
        _ plane: PlaneGeometry, _ base: UnsafeRawPointer, _ stride: Int, isTarget: Bool
    ) -> BoundPlane {
        if let plane = gpu.direct(plane, base, stride, isTarget: isTarget, limit: bindingLimit) { return plane }
        let (handle, size) =
            isTarget ? (download.handle, download.memory.count) : (upload.handle, upload.memory.count)
        return BoundPlane(
            geometry: plane, buffer: handle, size: size, offset: plane.offset, stride: plane.stride, isDirect: false
        )
    }

    /// A plane of the target and what is needed to write it.
    private struct Output {
        let number: Int
        let plane: BoundPlane
        let parts: [ScaledPart]
        let axes: (across: ScalingTables.Axis, down: ScalingTables.Axis)
        let filled: (x: Range<Int>, y: Range<Int>)
        let channels: [Int]
        /// Samples of a row of scratch memory.
        var stride: Int { filled.x.count * channels.count }
    }

    /// Submits both passes of a plane of the target, in slices of as many rows as bindings hold.
    private func submit(
        _ number: Int, _ from: [BoundPlane], _ to: BoundPlane, _ count: inout Int
    ) throws(SessionError) {
        let channels = scaling.target.format.planeComponents[number]
        let isChroma = scaling.isChroma(channels[0])
        guard let axes = tables.axes(isChroma: isChroma) else { return }
        let output = Output(
            number: number, plane: to, parts: parts.filter { $0.targetPlane == number }, axes: axes,
            filled: scaling.geometry.filled(isChroma: isChroma), channels: channels)
        let slices = try slices(of: output, from)
        try makeScratch((slices.map(\.read.count).max() ?? 0) * output.stride * 4)
        for (rows, read) in slices {
            for part in output.parts where !read.isEmpty {
                try submitAcross(output, part, from[part.sourcePlane], read, &count)
            }
            try submitDown(output, rows, firstRead: read.lowerBound, &count)
        }
    }

    /// The rows of each slice, and those of the source that it reads.
    private func slices(
        of output: Output, _ from: [BoundPlane]
    ) throws(SessionError) -> [(rows: Range<Int>, read: Range<Int>)] {
        let all = output.plane.geometry.rows
        let longest = max(output.stride * 4, output.parts.map { from[$0.sourcePlane].stride }.max() ?? 0)
        var step = all
        while true {
            let slices = stride(from: 0, to: all, by: step).map { start in
                let rows = start..<min(start + step, all)
                return (rows: rows, read: Self.rows(output.axes.down.axis, rows, output.filled.y))
            }
            let most = slices.map { max($0.rows.count * output.plane.stride, $0.read.count * longest) }.max() ?? 0
            if most + 2 * PlaneGeometry.bindingAlignment <= bindingLimit { return slices }
            guard step > 1 else {
                throw SessionError(.parameter, "\(device) cannot bind the rows of a scaling, \(most) bytes")
            }
            step = (step + 1) / 2
        }
    }

    /// The source's rows that rows of the target read.
    private static func rows(_ axis: ScalingAxis, _ rows: Range<Int>, _ filled: Range<Int>) -> Range<Int> {
        let part = rows.clamped(to: filled)
        let first = part.map { Int(axis.first[$0 - filled.lowerBound]) }
        guard let low = first.min(), let high = first.max() else { return 0..<0 }
        return low..<high + axis.taps
    }

    private func makeScratch(_ size: Int) throws(SessionError) {
        let size = max(size, PlaneGeometry.bindingAlignment)
        if let held = scratch?.memory.count, held >= size { return }
        scratch = nil
        scratch = try DeviceBuffer(gpu, size: size, .scratch)
    }

    private func nextSlice(_ count: inout Int) throws(SessionError) -> PictureSlice {
        if count == slices.count { slices.append(try PictureSlice(gpu, .buffers)) }
        count += 1
        return slices[count - 1]
    }

    /// Filters rows of a plane of the source across into the scratch memory.
    private func submitAcross(
        _ output: Output, _ part: ScaledPart, _ plane: BoundPlane, _ rows: Range<Int>, _ count: inout Int
    ) throws(SessionError) {
        let (binding, base) = plane.binding(rows)
        let (axis, format) = (output.axes.across, scaling.source.format)
        var place = AcrossPlacement()
        (place.sourceBase, place.sourceStride) = (UInt32(base), UInt32(plane.stride))
        place.rows = Int32(rows.count)
        place.columns = Int32(axis.axis.first.count * part.components.count)
        (place.type, place.shift) = (format.scaledType, Int32(format.sampleShift))
        place.sourceChannels = Int32(part.sourceChannels)
        place.components = Int32(part.components.count)
        for (index, channel) in part.order.enumerated() { place.order |= Int32(channel << (4 * index)) }
        (place.targetChannels, place.channel) = (Int32(part.targetChannels), Int32(part.channel))
        (place.taps, place.first, place.weights) = (Int32(axis.axis.taps), Int32(axis.first), Int32(axis.weights))
        place.targetStride = Int32(output.stride)
        var bindings = bindings(output.number)
        (bindings[0], bindings[3]) = (binding, scratchBinding)
        try nextSlice(&count).submit(
            across, bindings, place, groups: Self.groups(Int(place.columns), rows.count), isFollowed: true)
    }

    /// Filters the scratch memory's rows down into rows of a plane of the target.
    private func submitDown(
        _ output: Output, _ rows: Range<Int>, firstRead: Int, _ count: inout Int
    ) throws(SessionError) {
        let (binding, base) = output.plane.binding(rows)
        let (axis, format, filled) = (output.axes.down, scaling.target.format, output.filled)
        let channels = output.channels.count
        var place = DownPlacement()
        (place.targetBase, place.targetStride) = (UInt32(base), UInt32(output.plane.stride))
        (place.firstRow, place.endRow) = (Int32(rows.lowerBound), Int32(rows.upperBound))
        place.words = Int32((output.plane.geometry.rowBytes + 3) / 4)
        (place.type, place.shift, place.channels) = (format.scaledType, Int32(format.sampleShift), Int32(channels))
        place.left = Int32(filled.x.lowerBound * channels)
        place.right = Int32(filled.x.upperBound * channels)
        (place.top, place.bottom) = (Int32(filled.y.lowerBound), Int32(filled.y.upperBound))
        for part in output.parts {
            for index in part.components.indices { place.written |= 1 << Int32(part.channel + index) }
        }
        (place.taps, place.first, place.weights) = (Int32(axis.axis.taps), Int32(axis.first), Int32(axis.weights))
        (place.sourceRow, place.sourceStride) = (Int32(firstRead), Int32(output.stride))
        (place.dithers, place.divides) = (scaling.dithers ? 1 : 0, scaling.divides ? 1 : 0)
        place.clips = scaling.clipsToAlpha ? 1 : 0
        var bindings = bindings(output.number)
        (bindings[0], bindings[3]) = (scratchBinding, binding)
        try nextSlice(&count).submit(
            down, bindings, place, groups: Self.groups(Int(place.words), rows.count), isFollowed: true)
    }

    private static func groups(_ columns: Int, _ rows: Int) -> (x: Int, y: Int) {
        ((columns + workgroup.x - 1) / workgroup.x, (rows + workgroup.y - 1) / workgroup.y)
    }

    private var scratchBinding: PictureSlice.Binding? {
        guard let size = scratch?.memory.count, let handle = scratch?.handle else { return nil }
        return .buffer(handle, offset: 0, range: min(size, bindingLimit))
    }

    /// The bindings that both passes share.
    private func bindings(_ plane: Int) -> [Int: PictureSlice.Binding] {
        [
            1: .buffer(constants.handle, offset: 0, range: tables.axisNumbers.count * 4),
            PipelineStore.parametersBinding: .buffer(
                constants.handle, offset: componentOffsets[plane], range: tables.components[plane].count * 4),
        ]
    }
}
