// SPDX-License-Identifier: MIT

/// An encoder that works on this machine, in the replies of `Probe` and `ListEncoders`.
public struct EncoderDescription: Hashable, Codable, Sendable {
    /// The value of the property `EncoderID`, the same in every version of the daemon.
    public var id: String
    /// A readable name with the version.
    public var name: String
    /// `hevc`.
    public var codec: String
    public var hardware: Bool
    /// The library's or driver's own version string.
    public var version: String
    /// The supported numbers of bits of a coded sample.
    public var bitDepths: [Int]
    /// DRM fourccs of the frames that it accepts.
    public var pixelFormats: [String]
    /// The node it runs on; nil in software.
    public var device: String?
    /// That node's PCI address, if any.
    public var pciAddress: String?
    /// The picture sizes that it accepts; nil where only the standard limits them.
    public var sizes: PictureSizes?

    public init(
        id: String, name: String, codec: String, hardware: Bool, version: String, bitDepths: [Int],
        pixelFormats: [String], device: String? = nil, pciAddress: String? = nil, sizes: PictureSizes? = nil
    ) {
        self.device = device
        self.pciAddress = pciAddress
        self.sizes = sizes
        self.id = id
        self.name = name
        self.codec = codec
        self.hardware = hardware
        self.version = version
        self.bitDepths = bitDepths
        self.pixelFormats = pixelFormats
    }

    enum CodingKeys: String, CodingKey {
        case id, name, codec, hardware, version, device, sizes
        case bitDepths = "bit_depths"
        case pixelFormats = "pixel_formats"
        case pciAddress = "pci_address"
    }

    /// Whether it runs on the GPU that a PCI address, a render node or a link in /dev/dri/by-path names.
    public func isOn(gpu name: String) -> Bool {
        if let pciAddress, name == pciAddress || name == "/dev/dri/by-path/pci-\(pciAddress)-render" { return true }
        return name == device
    }
}

/// The range of picture sizes, in luma samples.
public struct PictureSizes: Hashable, Codable, Sendable {
    public var minWidth: Int
    public var minHeight: Int
    /// Nil where no limit is known.
    public var maxWidth: Int?
    /// Nil where no limit is known.
    public var maxHeight: Int?

    public init(minWidth: Int = 1, minHeight: Int = 1, maxWidth: Int? = nil, maxHeight: Int? = nil) {
        self.minWidth = minWidth
        self.minHeight = minHeight
        self.maxWidth = maxWidth
        self.maxHeight = maxHeight
    }

    /// Whether a picture of this size is within the range.
    public func contain(width: Int, height: Int) -> Bool {
        width >= minWidth && height >= minHeight && width <= maxWidth ?? width && height <= maxHeight ?? height
    }

    enum CodingKeys: String, CodingKey {
        case minWidth = "min_width"
        case minHeight = "min_height"
        case maxWidth = "max_width"
        case maxHeight = "max_height"
    }
}

extension PictureSizes: CustomStringConvertible {
    /// `128x128 to 4096x2304`.
    public var description: String {
        let most = [maxWidth, maxHeight].map { $0.map(String.init) ?? "any" }.joined(separator: "x")
        return "\(minWidth)x\(minHeight) to \(most)"
    }
}

/// A DRM render node and the state that a probe found.
public struct RenderNode: Hashable, Codable, Sendable {
    /// The state of a node.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// Its driver started and reported its capabilities.
        case ready
        /// The file does not exist, or it has no device.
        case absent
        /// The file is not a render device.
        case notADevice = "not_a_device"
        /// Opening it is not permitted.
        case permission
        /// It opened, but its driver did not start.
        case driverFailed = "driver_failed"
        /// The process that probed it crashed.
        case crashed
        /// The process that probed it took too long.
        case timedOut = "timed_out"
        /// Its driver started, and its claims are being verified.
        case verifying
        /// Its driver started, but its encoder was in use or at its limit during verification.
        case busy
        /// Another failure, which the reason describes.
        case failed
    }

    /// The device's path.
    public var node: String
    public var state: State
    /// The device's PCI address (`0000:03:00.0`), which unlike the node's number is the same after every boot.
    public var pciAddress: String?
    /// The device's PCI vendor and device number (`8086:8a52`).
    public var pciID: String?
    /// The kernel driver's name (`i915`, `amdgpu`).
    public var kernelDriver: String?
    /// The VA-API driver's own name, with its version.
    public var driver: String?
    /// The link to it whose name is the same after every boot (`/dev/dri/by-path/pci-0000:03:00.0-render`).
    public var byPath: String?
    /// Why nothing is encoded on it, or what its encoder lacks, so that an administrator can act on it.
    public var reason: String?
    /// The known cause of that; nil for others.
    public var cause: ProbeCause?

    /// Whether it could be opened for reading and writing.
    public var opened: Bool { [.ready, .verifying, .busy, .driverFailed].contains(state) }

    public init(node: String, state: State, reason: String? = nil) {
        self.node = node
        self.state = state
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case node, state, reason, driver, cause
        case pciAddress = "pci_address"
        case pciID = "pci_id"
        case kernelDriver = "kernel_driver"
        case byPath = "by_path"
    }
}

/// The machine's capabilities at one moment; the input of the choice of encoder or decoder.
public struct ProbeSnapshot: Hashable, Codable, Sendable {
    /// The version of these types.
    public var schema: Int
    /// The encoders that sessions may use, hardware first.
    public var encoders: [EncoderDescription]
    /// Every path of the catalogue on every node whose driver started, then in software.
    public var paths: [CodecPath]
    /// Every render node that was probed.
    public var nodes: [RenderNode]
    /// Errors in the catalogue's files.
    public var warnings: [String]
    /// The Vulkan devices for conversions; nil where they have not been probed.
    public var vulkan: VulkanReport?
    /// The quirks that the paths name; nil from a daemon that does not describe them.
    public var quirks: [QuirkDescription]?
    /// Why the probe of the codecs in software gave no answer; nil where it did.
    ///
    /// An encoder in software may work nevertheless.
    public var softwareFailure: SoftwareFailure?

    /// Why the process that examines codecs in software does not answer.
    public struct SoftwareFailure: Hashable, Codable, Sendable {
        public var reason: String
        /// The known cause; nil for others.
        public var cause: ProbeCause?

        public init(reason: String, cause: ProbeCause? = nil) {
            self.reason = reason
            self.cause = cause
        }
    }

    enum CodingKeys: String, CodingKey {
        case schema, encoders, paths, nodes, warnings, vulkan, quirks
        case softwareFailure = "software_failure"
    }

    /// The present version of these types.
    public static let currentSchema = 2

    public init(
        encoders: [EncoderDescription], nodes: [RenderNode], paths: [CodecPath] = [], warnings: [String] = [],
        vulkan: VulkanReport? = nil
    ) {
        schema = Self.currentSchema
        self.encoders = encoders
        self.nodes = nodes
        self.paths = paths
        self.warnings = warnings
        self.vulkan = vulkan
    }

    /// The PCI address of the first GPU that encodes, else of the first whose driver started.
    public var codingGPU: String? {
        encoders.lazy.compactMap(\.pciAddress).first
            ?? nodes.lazy.filter { $0.state == .ready }
            .compactMap(\.pciAddress).first
    }

    /// The part that the choice of decoder depends on.
    public var forDecoding: ProbeSnapshot {
        ProbeSnapshot(encoders: [], nodes: nodes, paths: paths.filter { $0.operation == .decode })
    }

    /// The part that the choice of encoder depends on.
    public var forChoice: ProbeSnapshot { ProbeSnapshot(encoders: encoders, nodes: nodes) }
}
