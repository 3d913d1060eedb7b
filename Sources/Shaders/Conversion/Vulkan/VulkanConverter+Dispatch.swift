// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDColor
internal import HWDModel

extension VulkanConverter {
    /// Dispatches a slice of a picture: `rows` of it, from and to these planes.
    func start(
        _ slot: ConversionSlot, _ index: Int, _ rows: Range<Int>, _ from: [BoundPlane], _ to: [BoundPlane]
    ) throws(SessionError) {
        let images = slot.images?.planes ?? []
        var place = Placement()
        place.width = Int32(plan.conversion.source.width)
        place.height = Int32(plan.conversion.source.height)
        (place.firstRow, place.endRow) = (Int32(rows.lowerBound), Int32(rows.upperBound))
        var bindings = defaultBindings(images)
        bindSource(from, rows, &place, &bindings)
        bindTarget(to, rows, &place, &bindings)
        // One queue runs slices in order: images are acquired with the first and released with the last.
        var handover = PictureSlice.Handover()
        if slot.images?.isForeign == true {
            if index == 0 { handover.acquired = images.map(\.handle) }
            if index == slot.rows.count - 1 { handover.released = images.map(\.handle) }
        }
        let slice = slot.images == nil ? slot.slices[index] : slot.imageSlices[index]
        guard let pipeline = slot.images == nil ? pipeline : imagePipeline else { return }
        try slice.submit(
            pipeline, bindings, place,
            groups: parameters.shape.groups(width: plan.conversion.source.width, rows: rows.count), handover)
    }

    /// Bindings of parameters, tables and images; bindings that a shader does not use must be valid too.
    private func defaultBindings(_ images: [DeviceImage]) -> [Int: PictureSlice.Binding] {
        var bindings: [Int: PictureSlice.Binding] = [:]
        for index in 0..<PipelineStore.bindingCount where images.isEmpty || index > 2 {
            bindings[index] = .buffer(
                constants.handle, offset: tablesOffset, range: parameters.tables.count * 4)
        }
        bindings[PipelineStore.parametersBinding] = .buffer(
            constants.handle, offset: 0, range: parameters.uniform.count * 4)
        bindings[PipelineStore.tablesBinding] = .texels(tables.handle)
        if let entries { bindings[PipelineStore.effectsBinding] = entries }
        for index in 0..<2 where !images.isEmpty {
            bindings[index] = .image(images[min(index, images.count - 1)].view)
        }
        return bindings
    }

    private func bindSource(
        _ planes: [BoundPlane], _ rows: Range<Int>, _ place: inout Placement,
        _ bindings: inout [Int: PictureSlice.Binding]
    ) {
        for (index, plane) in planes.enumerated() {
            let part = plane.geometry.rows(of: rows, margin: 2)
            Self.set(&place.sourceBase, index, bind(plane, part, &bindings[index]))
            Self.set(&place.sourceStride, index, plane.stride)
            if index == 0 {
                place.sourceLuma = Int32(part.lowerBound)
            } else {
                place.sourceChroma = Int32(part.lowerBound)
            }
        }
    }

    private func bindTarget(
        _ planes: [BoundPlane], _ rows: Range<Int>, _ place: inout Placement,
        _ bindings: inout [Int: PictureSlice.Binding]
    ) {
        for (index, plane) in planes.enumerated() {
            let part = plane.geometry.rows(of: rows, margin: 0)
            Self.set(&place.targetBase, index, bind(plane, part, &bindings[3 + index]))
            Self.set(&place.targetStride, index, plane.stride)
            if index == 0 {
                place.targetLuma = Int32(part.lowerBound)
            } else {
                place.targetChroma = Int32(part.lowerBound)
            }
        }
    }

    /// Binds rows of a plane; returns the bytes from the binding's start, which must be aligned, to the first row.
    private func bind(_ plane: BoundPlane, _ rows: Range<Int>, _ binding: inout PictureSlice.Binding?) -> Int {
        let (bound, base) = plane.binding(rows)
        binding = bound
        return base
    }

    private static func set(_ numbers: inout (UInt32, UInt32, UInt32), _ index: Int, _ value: Int) {
        switch index {
        case 0: numbers.0 = UInt32(value)
        case 1: numbers.1 = UInt32(value)
        default: numbers.2 = UInt32(value)
        }
    }
}
