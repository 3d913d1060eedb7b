// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDColor
public import HWDModel
internal import HWDSystem

/// Chooses the device of a conversion: a GPU if possible, otherwise the CPU, with the reason.
public enum ConverterChoice {
    /// The kind of device that is requested.
    public enum Device: String, CaseIterable, Hashable, Sendable {
        /// A GPU where there is one.
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
        /// Why no driver should be opened; nil allows it.
        public var avoidReason: String?

        /// A request for a kind of device.
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
        let plan = try ConversionPlan(conversion)
        // Shaders support alpha in RGB only, not in a separate plane.
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
                if let avoidReason = request.avoidReason {
                    throw SessionError(.couldNotCreateInstance, avoidReason)
                }
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
                // Without a GPU the loader only opens software drivers, which takes as long as converting many pictures.
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

    /// Whether a GPU's device node exists; `HWDAEMON_DEVICES` lists render nodes for tests and containers.
    private static var hasGPUNode: Bool {
        if access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 { return true }
        if let list = getenv("HWDAEMON_DEVICES") {
            return String(cString: list).split(separator: ":").contains { access(String($0), F_OK) == 0 }
        }
        return (try? Directory.names(in: "/dev/dri"))?.contains { $0.hasPrefix("renderD") } ?? false
    }
}
