// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDColor
public import HWDModel
internal import HWDSystem

/// Chooses the device of a conversion: a GPU if possible, otherwise the CPU, with the reason.
public enum ConverterChoice {
    /// The kind of device that is requested.
    public enum Device: String, CaseIterable, Hashable, Sendable {
        /// A GPU where there is one that is faster than the CPU.
        case auto
        /// Vulkan, a software driver included.
        case vulkan
        /// The CPU.
        case cpu
    }

    /// A request for a device, and what probes found out about this machine's Vulkan.
    public struct Request: Sendable {
        /// The kind of device.
        public var device: Device
        /// The PCI address of the only GPU that may be used; the CPU is not used instead.
        public var required: String?
        /// The PCI address of the GPU to prefer, which is the one that VA-API uses.
        public var preferred: String?
        /// Reasons against devices, by their UUIDs.
        public var faults: [String: String]
        /// How fast devices are, by their UUIDs; `auto` leaves out those that are slower than the CPU.
        public var speeds: [String: ComputeDevice.Speed]
        /// The number of pictures to convert; nil where it is unknown or large.
        public var pictures: Int?
        /// Why no driver should be opened; nil allows it.
        public var avoidReason: String?

        /// A request for a kind of device.
        public init(
            _ device: Device = .auto, required: String? = nil, preferred: String? = nil,
            faults: [String: String] = [:], speeds: [String: ComputeDevice.Speed] = [:], avoidReason: String? = nil
        ) {
            self.device = device
            self.required = required
            self.preferred = preferred
            self.faults = faults
            self.speeds = speeds
            self.avoidReason = avoidReason
        }

        /// The reasons against devices, of which slowness counts only where the client leaves the choice to us.
        func faults(for conversion: Conversion) -> [String: String] {
            guard device == .auto else { return faults }
            let area = Double(conversion.target.width * conversion.target.height) / (1920 * 1080)
            let work = pictures.map { Double($0) * area }
            return faults.merging(speeds.compactMapValues { $0.slowness(for: work) }) { fault, _ in fault }
        }
    }

    /// A converter and the reasons for its device.
    public struct Chosen {
        /// The converter.
        public let converter: any PixelConverter
        /// Whether the device is a GPU and not software.
        public let isGPU: Bool
        /// Why this device was chosen.
        public let reason: String
        /// Why it is not a GPU although one was allowed; nil otherwise.
        public let fallbackReason: String?
    }

    /// Chooses a device and makes its converter.
    ///
    /// - Parameters:
    ///   - gpu: shared by the converters of a session.
    ///   - willOpen: called before a driver is opened, which may crash the process.
    /// - Throws: the errors of `Conversion.validate`; `PixelTransferNotSupported` where Vulkan is requested and unavailable.
    public static func choose(
        for conversion: Conversion, _ request: Request, threads: Int? = nil, sharing gpu: SharedGPU = SharedGPU(),
        willOpen: () -> Void = {}
    ) throws(SessionError) -> Chosen {
        try conversion.validate()
        let reason: String
        switch request.device {
        case .cpu:
            return Chosen(
                converter: try onCPU(conversion, threads: threads), isGPU: false,
                reason: "the CPU is asked for", fallbackReason: nil)
        case .vulkan:
            do throws(SessionError) {
                let opened = try open(conversion, request, gpu, allowsSoftware: true, willOpen)
                return Chosen(
                    converter: try on(opened, conversion, gpu), isGPU: opened.description.kind != .software,
                    reason: opened.choice, fallbackReason: nil)
            } catch { throw SessionError(.pixelTransferNotSupported, "Vulkan is asked for, but \(error.reason)") }
        case .auto:
            do throws(SessionError) {
                let opened = try open(conversion, request, gpu, allowsSoftware: false, willOpen)
                return Chosen(
                    converter: GPUConverter(try on(opened, conversion, gpu), conversion, threads: threads),
                    isGPU: true, reason: opened.choice, fallbackReason: nil)
            } catch { reason = error.reason }
        }
        return Chosen(
            converter: try onCPU(conversion, threads: threads), isGPU: false, reason: reason,
            fallbackReason: reason)
    }

    /// A converter on the CPU.
    ///
    /// - Throws: the errors of `Conversion.validate`.
    public static func onCPU(
        _ conversion: Conversion, threads: Int? = nil
    ) throws(SessionError) -> any PixelConverter {
        guard conversion.isScaled else { return try CPUConverter(conversion, threads: threads) }
        let plan = try ScalingPlan(conversion)
        return try stepped(plan, nil) { scaling in
            CPUScaler(scaling, isLast: plan.after == nil, threads: threads)
        } converting: { conversion throws(SessionError) in
            try CPUConverter(conversion, threads: threads)
        }
    }

    /// A converter on a device.
    static func on(
        _ device: VulkanDevice, _ conversion: Conversion, _ gpu: SharedGPU
    ) throws(SessionError) -> any PixelConverter {
        guard conversion.isScaled else {
            return try VulkanConverter(try ConversionPlan(conversion), on: device)
        }
        return try stepped(try ScalingPlan(conversion), gpu) { scaling throws(SessionError) in
            try VulkanScaler(scaling, on: device)
        } converting: { conversion throws(SessionError) in
            try VulkanConverter(try ConversionPlan(conversion), on: device)
        }
    }

    /// The steps of a plan; one alone needs no picture in between.
    private static func stepped(
        _ plan: ScalingPlan, _ gpu: SharedGPU?,
        scaling: (Scaling) throws(SessionError) -> any PixelConverter,
        converting: (Conversion) throws(SessionError) -> any PixelConverter
    ) throws(SessionError) -> any PixelConverter {
        var steps: [any PixelConverter] = []
        var images: [ImageDescription] = []
        if let before = plan.before {
            steps.append(try converting(before))
            images.append(before.target)
        }
        steps.append(try scaling(plan.scaling))
        if let after = plan.after {
            images.append(plan.scaling.target)
            steps.append(try converting(after))
        }
        return steps.count == 1 ? steps[0] : try SteppedConverter(steps, images, gpu: gpu)
    }

    /// Opens a device for a conversion, unless no driver should be opened for it.
    private static func open(
        _ conversion: Conversion, _ request: Request, _ gpu: SharedGPU, allowsSoftware: Bool,
        _ willOpen: () -> Void
    ) throws(SessionError) -> VulkanDevice {
        // Shaders support alpha in RGB only, not in a separate plane.
        guard conversion.source.format != .yuva, conversion.target.format != .yuva else {
            throw SessionError(.parameter, "YUVA is converted on the CPU alone")
        }
        // Without a GPU the loader only opens software drivers, which takes as long as converting many pictures.
        guard allowsSoftware || hasGPUNode else {
            throw SessionError(.couldNotCreateInstance, "this process sees no GPU: there is no render node")
        }
        if let avoidReason = request.avoidReason { throw SessionError(.couldNotCreateInstance, avoidReason) }
        return try gpu.open(willOpen) { () throws(SessionError) in
            let choice = ComputeChoice.Request(
                required: request.required, preferred: request.preferred, allowsSoftware: allowsSoftware)
            return try VulkanDevice(choice, faults: request.faults(for: conversion))
        }
    }

    /// Whether a GPU's device node exists; `HWDAEMON_DEVICES` lists render nodes for tests and containers.
    private static var hasGPUNode: Bool {
        if access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 { return true }
        if let list = getenv("HWDAEMON_DEVICES") {
            return String(cString: list).split(separator: ":").contains { access(String($0), F_OK) == 0 }
        }
        return (try? Directory.names(in: "/dev/dri"))?.contains { $0.hasPrefix("renderD") } ?? false
    }
}
