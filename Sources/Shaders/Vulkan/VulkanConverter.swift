// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
public import HWDColor
public import HWDModel

/// Converts pictures with compute shaders on a Vulkan device.
///
/// Planes in memory that the device has imported are read and written in place; others are copied once into or out of buffers that
/// live as long as the converter. Two pictures can be under way at once (`submit`, `finish`). Used from one thread.
public final class VulkanConverter: PixelConverter {
    /// The device's name and driver.
    public let device: String
    /// Pictures that can be under way at once.
    public static let slotCount = 2
    /// The same.
    public var depth: Int { Self.slotCount }

    let gpu: VulkanDevice
    let plan: ConversionPlan
    let parameters: ShaderParameters
    let constants: DeviceBuffer
    /// What of `constants` the curves are.
    let tables: TexelView
    let pipeline: VkPipeline
    /// The same for sources in images, compiled when the first comes.
    var imagePipeline: VkPipeline?
    let source: (planes: [PlaneGeometry], size: Int)
    let target: (planes: [PlaneGeometry], size: Int)
    var slots: [ConversionSlot] = []
    var lastTicket = 0
    /// Bytes that a binding can hold; tests make it small.
    var bindingLimit: Int

    /// Seconds after which a slice that does not end is given up.
    var timeout: Double

    /// Bytes of the uniform buffer, after which the tables begin.
    static let tablesOffset = 256

    /// Opens a device and makes everything that a conversion needs.
    ///
    /// - Parameter pciAddress: The device must be this one ("0000:01:00.0"); nil is the best.
    /// - Parameter allowsSoftware: Whether software (lavapipe) will do where there is no GPU.
    /// - Throws: What `Conversion.validate` does; `CouldNotCreateInstance` where there is no such device, with the reason.
    public convenience init(
        _ conversion: Conversion, pciAddress: String? = nil, allowsSoftware: Bool = false
    ) throws(SessionError) {
        let plan = try ConversionPlan(conversion)
        try self.init(plan, on: VulkanDevice(pciAddress: pciAddress, allowsSoftware: allowsSoftware))
    }

    /// Makes everything that a plan needs on a device that is open.
    ///
    /// - Throws: What the driver says.
    public convenience init(_ plan: ConversionPlan, on gpu: VulkanDevice) throws(SessionError) {
        // lavapipe's own packing rounds to nearest and keeps subnormals, as the tests hold.
        try self.init(plan, on: gpu, packsByHand: gpu.description.kind != .software)
    }

    init(_ plan: ConversionPlan, on gpu: VulkanDevice, packsByHand: Bool) throws(SessionError) {
        if let failure = gpu.failure { throw failure }
        guard plan.conversion.source.format != .yuva, plan.conversion.target.format != .yuva else {
            throw SessionError(
                .pixelTransferNotSupported, "shaders know no plane of alpha: YUVA is converted on the CPU")
        }
        self.gpu = gpu
        self.plan = plan
        device = gpu.description.label
        timeout = gpu.description.kind == .software ? 30 : 5
        bindingLimit = Int(gpu.limits.maxStorageBufferRange)
        parameters = ShaderParameters(
            plan, workgroup: gpu.description.kind == .software ? (16, 1) : (16, 4), packsByHand: packsByHand)
        source = PlaneGeometry.planes(of: plan.conversion.source)
        target = PlaneGeometry.planes(of: plan.conversion.target)
        constants = try DeviceBuffer(
            gpu, size: Self.tablesOffset + parameters.tables.count * 4, .constants)
        tables = try TexelView(
            gpu, constants.handle, offset: Self.tablesOffset, texels: parameters.tables.count)
        pipeline = try gpu.store().pipeline(parameters.key, gpu)
        parameters.uniform.withUnsafeBytes { constants.memory.copyMemory(from: $0) }
        parameters.tables.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: constants.memory[Self.tablesOffset...]).copyMemory(from: $0)
        }
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

    /// Picture rows that one dispatch takes: what fits bindings, and less where copies can run beside the device.
    func rowsPerSlice(_ planes: [(plane: PlaneGeometry, stride: Int)], isStaged: Bool) throws(SessionError) -> Int {
        let height = plan.conversion.source.height
        var rows = height.roundedUp(to: 2)
        for (plane, stride) in planes {
            // Margins on both sides, and what aligning the binding's start adds.
            let fitting = (bindingLimit - PlaneGeometry.bindingAlignment) / stride - 6
            guard fitting > 0 else {
                throw SessionError(
                    .parameter, "\(device) cannot see rows of \(stride) bytes; its buffers end before the second")
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
