// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
public import HWDColor
public import HWDModel

/// Converts pictures with compute shaders on a Vulkan device.
///
/// Planes in imported memory are used in place; others are copied to or from buffers of the converter. Two pictures
/// can be in flight (`submit`, `finish`). Used from one thread.
public final class VulkanConverter: PixelConverter {
    /// The device's name and driver.
    public let device: String
    /// The number of pictures that can be in flight.
    public static let slotCount = 2
    /// The number of pictures that can be in flight.
    public var depth: Int { Self.slotCount }

    let gpu: VulkanDevice
    private(set) var plan: ConversionPlan
    private(set) var parameters: ShaderParameters
    let constants: DeviceBuffer
    /// The curves in `constants`.
    let tables: TexelView
    /// Tables and curves of effects; nil without any.
    private var entryBuffer: DeviceBuffer?
    let pipeline: VkPipeline
    /// The pipeline for sources in images, compiled on first use.
    var imagePipeline: VkPipeline?
    let source: (planes: [PlaneGeometry], size: Int)
    let target: (planes: [PlaneGeometry], size: Int)
    var slots: [ConversionSlot] = []
    var lastTicket = 0
    /// The greatest size of a binding in bytes; tests reduce it.
    var bindingLimit: Int

    /// Seconds that a slice may take before the device counts as lost.
    var timeout: Double

    /// The offset of the tables, which follow the uniform buffer.
    let tablesOffset: Int

    /// Opens a device for a conversion.
    ///
    /// - Parameter pciAddress: The only device that may be used ("0000:01:00.0"); nil selects the best.
    /// - Parameter allowsSoftware: Whether software (lavapipe) is used without a GPU.
    /// - Throws: The errors of `Conversion.validate`; `CouldNotCreateInstance` where there is no such device.
    public convenience init(
        _ conversion: Conversion, pciAddress: String? = nil, allowsSoftware: Bool = false
    ) throws(SessionError) {
        let plan = try ConversionPlan(conversion)
        try self.init(plan, on: VulkanDevice(pciAddress: pciAddress, allowsSoftware: allowsSoftware))
    }

    /// Creates the objects of a plan on an open device.
    ///
    /// - Throws: The driver's error.
    public convenience init(_ plan: ConversionPlan, on gpu: VulkanDevice) throws(SessionError) {
        try self.init(plan, on: gpu, isSoftware: gpu.description.kind == .software)
    }

    /// - Parameter isSoftware: whether the shaders' form for CPUs (lavapipe) is used; tests run both forms.
    init(_ plan: ConversionPlan, on gpu: VulkanDevice, isSoftware: Bool) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        guard plan.conversion.source.format != .yuva, plan.conversion.target.format != .yuva else {
            throw SessionError(
                .pixelTransferNotSupported,
                "shaders do not support a separate alpha plane: YUVA is converted on the CPU")
        }
        self.gpu = gpu
        self.plan = plan
        device = gpu.description.label
        timeout = gpu.description.kind == .software ? 30 : 5
        bindingLimit = Int(gpu.limits.maxStorageBufferRange)
        // lavapipe's packHalf2x16 rounds to nearest and keeps subnormals, which tests check.
        parameters = try ShaderParameters(
            plan, DispatchShape(plan.conversion.target.format, isSoftware: isSoftware), packsByHand: !isSoftware)
        source = PlaneGeometry.planes(of: plan.conversion.source)
        target = PlaneGeometry.planes(of: plan.conversion.target)
        tablesOffset = (parameters.uniform.count * 4).roundedUp(to: TexelView.alignment)
        constants = try DeviceBuffer(gpu, size: tablesOffset + parameters.tables.count * 4, .constants)
        tables = try TexelView(gpu, constants.handle, offset: tablesOffset, texels: parameters.tables.count)
        entryBuffer = try Self.entries(parameters.effects, gpu)
        pipeline = try gpu.store().pipeline(parameters.key, gpu)
        parameters.uniform.withUnsafeBytes { constants.memory.copyMemory(from: $0) }
        parameters.tables.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: constants.memory[tablesOffset...]).copyMemory(from: $0)
        }
    }

    private static func entries(
        _ effects: EffectNumbers, _ gpu: VulkanDevice
    ) throws(SessionError) -> DeviceBuffer? {
        let size = effects.entries.count * 4
        guard size > 0 else { return nil }
        guard size <= Int(gpu.limits.maxStorageBufferRange) else {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(gpu.description.label) cannot bind the \(size) bytes of the effects' tables")
        }
        let buffer = try DeviceBuffer(gpu, size: size, .constants)
        effects.entries.withUnsafeBytes { buffer.memory.copyMemory(from: $0) }
        return buffer
    }

    /// The binding of tables and curves of effects.
    var entries: PictureSlice.Binding? {
        guard let handle = entryBuffer?.handle else { return nil }
        return .buffer(handle, offset: 0, range: parameters.effects.entries.count * 4)
    }

    public func change(to conversion: Conversion) throws(SessionError) -> Bool {
        guard slots.allSatisfy({ $0.ticket == 0 }), let changed = try plan.changed(for: conversion),
            let numbers = try parameters.changed(for: changed)
        else { return false }
        if numbers.effects.entries.count == parameters.effects.entries.count {
            if let memory = entryBuffer?.memory {
                numbers.effects.entries.withUnsafeBytes { memory.copyMemory(from: $0) }
            }
        } else {
            entryBuffer = try Self.entries(numbers.effects, gpu)
        }
        (plan, parameters) = (changed, numbers)
        parameters.uniform.withUnsafeBytes { constants.memory.copyMemory(from: $0) }
        return true
    }

    /// Converts one picture and waits for it.
    public func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        try finish(submit(source, into: target))
    }

    /// Converts one picture of dma-bufs and waits for it.
    public func convert(_ picture: DMABufPicture, into target: [MutablePlaneView]) throws(SessionError) {
        let wanted = plan.conversion.source
        let images = try gpu.importPicture(picture, as: wanted.format, width: wanted.width, height: wanted.height)
        try finish(submit(images, into: target))
    }

    /// Picture rows of one dispatch: as many as bindings can hold, and fewer where copies overlap with the device's work.
    func rowsPerSlice(_ planes: [(plane: PlaneGeometry, stride: Int)], isStaged: Bool) throws(SessionError) -> Int {
        let height = plan.conversion.source.height
        var rows = height.roundedUp(to: 2)
        for (plane, stride) in planes {
            // Less the margins on both sides and the alignment of the binding's start.
            let fitting = (bindingLimit - PlaneGeometry.bindingAlignment) / stride - 6
            guard fitting > 0 else {
                throw SessionError(
                    .parameter, "\(device) cannot bind two rows of \(stride) bytes")
            }
            rows = min(rows, fitting * plane.rowsPerRow / 2 * 2)
        }
        let bytes = source.size + target.size
        if isStaged, gpu.description.kind != .software, bytes > 8 << 20 {
            rows = min(rows, ((height + 3) / 4).roundedUp(to: 2))
        }
        return max(rows, 2)
    }
}
