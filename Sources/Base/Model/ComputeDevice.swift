// SPDX-License-Identifier: MIT

/// A Vulkan device in the reply of `Probe`.
public struct ComputeDevice: Hashable, Codable, Sendable {
    /// The kind of device; preferred kinds come first.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A GPU with dedicated memory.
        case discrete
        /// A GPU that shares the machine's memory.
        case integrated
        /// A GPU of a virtual machine.
        case virtual
        /// Something else.
        case other
        /// Software (lavapipe): correct, but slow.
        case cpu

        /// Lower ranks are preferred.
        var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The memory of other owners that a device uses without a copy.
    public struct Imports: Hashable, Codable, Sendable {
        /// A process's pages, such as pools (VK_EXT_external_memory_host).
        public var hostMemory: Bool
        /// The required alignment of such memory in bytes; nil where it is not supported.
        public var hostMemoryAlignment: Int?
        /// Whether a picture in pages of a memfd was converted correctly without a copy.
        public var hostMemoryVerified: Bool
        /// Dma-bufs (VK_KHR_external_memory_fd and VK_EXT_external_memory_dma_buf).
        public var dmaBufs: Bool
        /// Tiled dma-bufs as well (VK_EXT_image_drm_format_modifier).
        public var dmaBufModifiers: Bool

        /// Makes the driver's claims, which are not verified.
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

    /// The device limits that matter to conversions.
    public struct Limits: Hashable, Codable, Sendable {
        /// Bytes of one buffer that a shader can access; larger pictures are converted in slices.
        public var maxStorageBufferRange: Int
        /// Buffers that a shader can access; 7 are needed.
        public var maxStorageBuffers: Int
        /// Nanoseconds per tick of its clock; nil where work cannot be timed.
        public var timestampPeriod: Double?
        /// Whether shaders can access 16-bit samples; the daemon's pack them into words instead.
        public var storage16Bit: Bool
        /// Whether shaders can compute in half floats; the daemon's do not.
        public var float16: Bool

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

    /// How fast a device converts, as a probe measured it beside the CPU.
    public struct Speed: Hashable, Codable, Sendable {
        /// Milliseconds for a 1080p picture from PQ in P010 to half floats, in place where the device can.
        public var picture: Double
        /// The same on the CPU.
        public var cpuPicture: Double
        /// The CPU's threads.
        public var cpuThreads: Int
        /// Milliseconds to open the drivers and compile a shader.
        public var opening: Double

        public init(picture: Double, cpuPicture: Double, cpuThreads: Int, opening: Double) {
            self.picture = picture
            self.cpuPicture = cpuPicture
            self.cpuThreads = cpuThreads
            self.opening = opening
        }

        /// A summary: "1080p PQ to half floats: 0.4 ms; CPU 0.6 ms, 16 threads; to open: 310 ms".
        public var text: String {
            "1080p PQ to half floats: \(Self.text(picture)); CPU \(Self.text(cpuPicture)), \(cpuThreads) threads; "
                + "to open: \(Self.text(opening))"
        }

        /// Why the CPU is faster; nil where it is not.
        ///
        /// - Parameter work: the pictures that are converted, in pictures of 1080p; nil for so many that opening does not count.
        public func slowness(for work: Double? = nil) -> String? {
            if picture > cpuPicture {
                return "a 1080p picture takes \(Self.text(picture)) on it, and \(Self.text(cpuPicture)) on the CPU"
            }
            guard let work, opening + work * picture > work * cpuPicture else { return nil }
            return "to open it takes \(Self.text(opening)), in which the CPU converts so few pictures"
        }

        private static func text(_ milliseconds: Double) -> String {
            milliseconds < 10
                ? "\((milliseconds * 100).rounded() / 100) ms" : "\(Int(min(milliseconds.rounded(), 1e9))) ms"
        }

        enum CodingKeys: String, CodingKey {
            case picture = "picture_ms"
            case cpuPicture = "cpu_picture_ms"
            case cpuThreads = "cpu_threads"
            case opening = "opening_ms"
        }
    }

    /// Vulkan's deviceUUID, in hexadecimal.
    public var id: String
    public var name: String
    /// The driver's name and version.
    public var driver: String
    /// The supported Vulkan version (`1.3.230`).
    public var apiVersion: String
    public var kind: Kind
    /// Its PCI address, as in `RenderNode`; nil for software, and where the driver does not report it.
    public var pciAddress: String?
    /// Whether the driver reports what the shaders need.
    public var claimed: Bool
    /// Whether pictures were converted on it, now or by an earlier probe.
    public var tried: Bool
    /// Whether the results match the reference converter.
    public var verified: Bool
    /// Why it is not verified; nil when it is.
    public var reason: String?
    /// Whether sessions with the device `auto` convert on it.
    public var chosen = false
    /// Why it is chosen or not.
    public var choice = ""
    public var imports: Imports
    public var limits: Limits
    /// Its speed; nil where it was not measured.
    public var speed: Speed?

    /// Makes a device from its driver's claims; it is neither verified nor chosen.
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
        case id, name, driver, claimed, tried, verified, reason, chosen, choice, imports, limits, speed
        case apiVersion = "api_version"
        case kind = "type"
        case pciAddress = "pci_address"
    }
}

/// The result of probing Vulkan.
public struct VulkanReport: Hashable, Codable, Sendable {
    /// The state of Vulkan on this machine.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// There are devices.
        case ready
        /// There is no loader, no driver or no device.
        case absent
        /// The process that probed it crashed.
        case crashed
        /// The process that probed it took too long.
        case timedOut = "timed_out"
        /// Another failure, which the reason describes.
        case failed
    }

    public var state: State
    /// The loader's Vulkan version; nil without one.
    public var loader: String?
    /// The devices, in the loader's order.
    public var devices: [ComputeDevice]
    /// Why sessions convert on the CPU; nil where a device is chosen.
    public var reason: String?
    /// The known cause of that; nil for others.
    public var cause: ProbeCause?

    public init(
        state: State, loader: String? = nil, devices: [ComputeDevice] = [], reason: String? = nil,
        cause: ProbeCause? = nil
    ) {
        self.cause = cause
        self.state = state
        self.loader = loader
        self.devices = devices
        self.reason = reason
    }

    /// Why no driver should be loaded: the last probe crashed or hung; nil where it did not.
    public var avoidReason: String? { state == .crashed || state == .timedOut ? reason : nil }

    /// Why devices must not be used, by id: they lack a feature, or converted a picture incorrectly.
    public var faults: [String: String] {
        var faults: [String: String] = [:]
        for device in devices where !device.claimed || (device.tried && !device.verified) {
            faults[device.id] = device.reason ?? "it converted a picture incorrectly"
        }
        return faults
    }

    /// How fast devices are, by id.
    public var speeds: [String: ComputeDevice.Speed] {
        Dictionary(devices.compactMap { device in device.speed.map { (device.id, $0) } }) { first, _ in first }
    }

    /// Marks the device that sessions choose, and sets every device's reason.
    ///
    /// - Parameter preferred: the PCI address of the GPU that encodes or decodes on this machine.
    public mutating func choose(preferring preferred: String?) {
        guard state == .ready else { return }
        let faults = faults.merging(speeds.compactMapValues { $0.slowness() }) { fault, _ in fault }
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

    /// The reason of a report without a usable device.
    public static func onCPU(_ reason: String) -> String { "color conversion is done on the CPU: \(reason)" }
}
