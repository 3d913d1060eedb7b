// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDColor
public import HWDModel
internal import HWDSystem

/// What a conversion runs on: a real GPU first, the CPU otherwise, with the reason.
public enum ConverterChoice {
    /// What is asked for.
    public enum Device: String, CaseIterable, Hashable, Sendable {
        /// A GPU where there is one.
        case auto
        /// Vulkan, a software driver included.
        case vulkan
        /// The CPU.
        case cpu
    }

    /// Where a conversion may run, and what is known of this machine's Vulkan.
    public struct Request: Sendable {
        /// What is asked for.
        public var device: Device
        /// The GPU that it must be, by its PCI address; there is no way out to the CPU then.
        public var required: String?
        /// The GPU to prefer, by its PCI address: the one that VA-API uses.
        public var preferred: String?
        /// Why devices must not be used, by their UUIDs.
        public var faults: [String: String]
        /// Why no driver should be opened at all.
        public var avoidReason: String?

        /// Asks for a kind of device.
        public init(
            _ device: Device = .auto, required: String? = nil, preferred: String? = nil,
            faults: [String: String] = [:], avoidReason: String? = nil
        ) {
            self.device = device
            self.required = required
            self.preferred = preferred
            self.faults = faults
            self.avoidReason = avoidReason
        }
    }

    /// What was chosen.
    public struct Chosen {
        /// The converter.
        public let converter: any PixelConverter
        /// Whether it is a real GPU.
        public let isGPU: Bool
        /// Why it is this device.
        public let reason: String
        /// Why it is no GPU, where one was allowed.
        public let fallbackReason: String?
    }

    /// Chooses a device and makes its converter.
    ///
    /// - Parameters:
    ///   - gpu: what the converters of a session share; one that nobody else has is of this converter alone.
    ///   - willOpen: told before a driver is opened, which this process may not survive.
    /// - Throws: what `Conversion.validate` does; `PixelTransferNotSupported` where Vulkan is asked for and there is none.
    public static func choose(
        for conversion: Conversion, _ request: Request, threads: Int? = nil, sharing gpu: SharedGPU = SharedGPU(),
        willOpen: () -> Void = {}
    ) throws(SessionError) -> Chosen {
        let plan = try ConversionPlan(conversion)
        // An alpha plane of its own is the CPU's: shaders know one in RGB alone.
        let hasAlphaPlane = conversion.source.format == .yuva || conversion.target.format == .yuva
        switch request.device {
        case .cpu:
            return Chosen(
                converter: try CPUConverter(conversion, threads: threads), isGPU: false,
                reason: "the CPU is asked for", fallbackReason: nil)
        case .vulkan:
            do throws(SessionError) {
                guard !hasAlphaPlane else {
                    throw SessionError(.parameter, "YUVA is converted on the CPU alone")
                }
                if let avoidReason = request.avoidReason { throw SessionError(.couldNotCreateInstance, avoidReason) }
                let opened = try gpu.open(willOpen) { () throws(SessionError) in
                    try open(request, allowsSoftware: true)
                }
                return Chosen(
                    converter: try VulkanConverter(plan, on: opened), isGPU: opened.description.kind != .software,
                    reason: opened.choice, fallbackReason: nil)
            } catch { throw SessionError(.pixelTransferNotSupported, "Vulkan is asked for, but \(error.reason)") }
        case .auto:
            let reason: String
            if hasAlphaPlane {
                reason = "YUVA is converted on the CPU alone"
            } else if !hasGPUNode {
                // Not even the loader is opened: the software drivers that it opens take as long as many pictures.
                reason = "this process sees no GPU: there is no render node"
            } else if let avoidReason = request.avoidReason {
                reason = avoidReason
            } else {
                do throws(SessionError) {
                    let opened = try gpu.open(willOpen) { () throws(SessionError) in
                        try open(request, allowsSoftware: false)
                    }
                    return Chosen(
                        converter: GPUConverter(
                            try VulkanConverter(plan, on: opened), conversion, threads: threads),
                        isGPU: true, reason: opened.choice, fallbackReason: nil)
                } catch { reason = error.reason }
            }
            return Chosen(
                converter: try CPUConverter(conversion, threads: threads), isGPU: false, reason: reason,
                fallbackReason: reason)
        }
    }

    private static func open(_ request: Request, allowsSoftware: Bool) throws(SessionError) -> VulkanDevice {
        try VulkanDevice(
            ComputeChoice.Request(
                required: request.required, preferred: request.preferred, allowsSoftware: allowsSoftware),
            faults: request.faults)
    }

    /// Whether there is a device node that a GPU's driver would open; `HWDAEMON_DEVICES` stands for the render nodes.
    private static var hasGPUNode: Bool {
        if access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 { return true }
        if let list = getenv("HWDAEMON_DEVICES") {
            return String(cString: list).split(separator: ":").contains { access(String($0), F_OK) == 0 }
        }
        return (try? Directory.names(in: "/dev/dri"))?.contains { $0.hasPrefix("renderD") } ?? false
    }
}
