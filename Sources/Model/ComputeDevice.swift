// SPDX-License-Identifier: MIT

/// A Vulkan device, as `Probe` tells it: what could convert colours.
public struct ComputeDevice: Hashable, Codable, Sendable {
    /// What kind of device, the ones to prefer first.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A GPU with memory of its own.
        case discrete
        /// A GPU that shares the machine's memory.
        case integrated
        /// A GPU of a virtual machine.
        case virtual
        /// Something else.
        case other
        /// Software (lavapipe): right, but slow.
        case cpu

        /// The one to prefer is the smaller.
        var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// Which memory of others it uses in place.
    public struct Imports: Hashable, Codable, Sendable {
        /// A process's own pages, as pools have them (VK_EXT_external_memory_host).
        public var hostMemory: Bool
        /// Bytes that such memory is aligned to; nil without it.
        public var hostMemoryAlignment: Int?
        /// Whether a picture in pages of a memfd came out right without a copy.
        public var hostMemoryVerified: Bool
        /// Dma-bufs (VK_KHR_external_memory_fd and VK_EXT_external_memory_dma_buf).
        public var dmaBufs: Bool
        /// Tiled ones, too (VK_EXT_image_drm_format_modifier).
        public var dmaBufModifiers: Bool

        /// Says what is imported; nothing is proven yet.
        public init(hostMemoryAlignment: Int?, dmaBufs: Bool, dmaBufModifiers: Bool) {
            hostMemory = hostMemoryAlignment != nil
            self.hostMemoryAlignment = hostMemoryAlignment
            hostMemoryVerified = false
            self.dmaBufs = dmaBufs
            self.dmaBufModifiers = dmaBufModifiers
        }

        enum CodingKeys: String, CodingKey {
            case hostMemory = "host_memory"
            case hostMemoryAlignment = "host_memory_alignment"
            case hostMemoryVerified = "host_memory_verified"
            case dmaBufs = "dma_bufs"
            case dmaBufModifiers = "dma_buf_modifiers"
        }
    }

    /// The limits that conversions meet.
    public struct Limits: Hashable, Codable, Sendable {
        /// Bytes that a shader sees of one buffer; larger pictures go in slices.
        public var maxStorageBufferRange: Int
        /// Buffers that a shader sees; 7 are needed.
        public var maxStorageBuffers: Int
        /// Nanoseconds of one step of its clock; nil where work cannot be timed.
        public var timestampPeriod: Double?
        /// Whether shaders read and write 16-bit samples; ours pack words and need it not.
        public var storage16Bit: Bool
        /// Whether shaders compute in half floats; ours do not.
        public var float16: Bool

        /// Limits by their numbers.
        public init(
            maxStorageBufferRange: Int, maxStorageBuffers: Int, timestampPeriod: Double?, storage16Bit: Bool,
            float16: Bool
        ) {
            self.maxStorageBufferRange = maxStorageBufferRange
            self.maxStorageBuffers = maxStorageBuffers
            self.timestampPeriod = timestampPeriod
            self.storage16Bit = storage16Bit
            self.float16 = float16
        }

        enum CodingKeys: String, CodingKey {
            case maxStorageBufferRange = "max_storage_buffer_range"
            case maxStorageBuffers = "max_storage_buffers"
            case timestampPeriod = "timestamp_period_ns"
            case storage16Bit = "storage_16_bit"
            case float16
        }
    }

    /// What tells it from all others (Vulkan's deviceUUID), in hexadecimal.
    public var id: String
    /// Its name.
    public var name: String
    /// The driver's name and version.
    public var driver: String
    /// The Vulkan version it has (`1.3.230`).
    public var apiVersion: String
    /// What kind of device.
    public var kind: Kind
    /// Where it sits on the PCI bus, as `RenderNode` has it; nil for software, and where the driver does not tell.
    public var pciAddress: String?
    /// Whether the driver says that it has what our shaders need.
    public var claimed: Bool
    /// Whether pictures were converted on it, now or by an earlier probe.
    public var tried: Bool
    /// Whether they came out as the formulas say.
    public var verified: Bool
    /// Why it is not verified, a sentence; nil when it is.
    public var reason: String?
    /// Whether a session that leaves the choice to the daemon converts on it.
    public var chosen = false
    /// Why it is chosen, or not.
    public var choice = ""
    /// Which memory of others it uses in place.
    public var imports: Imports
    /// The limits that conversions meet.
    public var limits: Limits

    /// A device as its driver tells it; nothing is proven and nothing chosen yet.
    public init(
        id: String, name: String, driver: String, apiVersion: String, kind: Kind, pciAddress: String?,
        claimed: Bool, imports: Imports, limits: Limits
    ) {
        self.id = id
        self.name = name
        self.driver = driver
        self.apiVersion = apiVersion
        self.kind = kind
        self.pciAddress = pciAddress
        self.claimed = claimed
        tried = false
        verified = false
        self.imports = imports
        self.limits = limits
    }

    enum CodingKeys: String, CodingKey {
        case id, name, driver, claimed, tried, verified, reason, chosen, choice, imports, limits
        case apiVersion = "api_version"
        case kind = "type"
        case pciAddress = "pci_address"
    }
}

/// What a look at Vulkan came to.
public struct VulkanReport: Hashable, Codable, Sendable {
    /// How far one got.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// There are devices.
        case ready
        /// No loader, no driver, or none with a device.
        case absent
        /// The process that looked crashed.
        case crashed
        /// The process that looked took too long.
        case timedOut = "timed_out"
        /// Something else went wrong, of which the reason tells.
        case failed
    }

    /// How far one got.
    public var state: State
    /// The loader's Vulkan version; nil without one.
    public var loader: String?
    /// The devices, in the loader's order.
    public var devices: [ComputeDevice]
    /// Why sessions convert on the CPU, a sentence; nil where a device is chosen.
    public var reason: String?

    /// A report of what was found.
    public init(state: State, loader: String? = nil, devices: [ComputeDevice] = [], reason: String? = nil) {
        self.state = state
        self.loader = loader
        self.devices = devices
        self.reason = reason
    }

    /// Why drivers are better left alone: they crashed or hung when they were last looked at; nil where they did not.
    public var avoidReason: String? { state == .crashed || state == .timedOut ? reason : nil }

    /// Why devices must not be used, by their ids: they lack something, or what was converted on them was wrong.
    public var faults: [String: String] {
        var faults: [String: String] = [:]
        for device in devices where !device.claimed || (device.tried && !device.verified) {
            faults[device.id] = device.reason ?? "what was converted on it came out wrong"
        }
        return faults
    }

    /// Marks the device that sessions choose, and says why of each.
    ///
    /// - Parameter preferred: the PCI address of the GPU that codes on this machine.
    public mutating func choose(preferring preferred: String?) {
        guard state == .ready else { return }
        let faults = faults
        let candidates = devices.map { ComputeChoice.Candidate($0, fault: faults[$0.id]) }
        do throws(SessionError) {
            let choice = try ComputeChoice(of: candidates, ComputeChoice.Request(preferred: preferred))
            for index in devices.indices {
                devices[index].chosen = index == choice.index
                devices[index].choice =
                    index == choice.index ? choice.reason : candidates[index].rejection(for: devices[choice.index])
            }
            reason = nil
        } catch {
            for index in devices.indices {
                devices[index].chosen = false
                devices[index].choice = candidates[index].rejection(for: nil)
            }
            reason = Self.onCPU(error.reason)
        }
    }

    /// The sentence that goes with having no device to convert on.
    public static func onCPU(_ reason: String) -> String { "colour conversion is done on the CPU: \(reason)" }
}
