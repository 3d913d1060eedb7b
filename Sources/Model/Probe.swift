// SPDX-License-Identifier: MIT

/// An encoder this machine can run, as `Probe` and `ListEncoders` tell it.
public struct EncoderDescription: Hashable, Codable, Sendable {
    /// The value of `EncoderID`, stable over versions.
    public var id: String
    /// What a person calls it, with its version.
    public var name: String
    /// `hevc`.
    public var codec: String
    /// Whether it is hardware.
    public var hardware: Bool
    /// The library's or driver's own version string.
    public var version: String
    /// Bits of a coded sample it can write.
    public var bitDepths: [Int]
    /// DRM fourccs of the frames it takes.
    public var pixelFormats: [String]
    /// The node it runs on; nil in software.
    public var device: String?
    /// That node's PCI address, where it has one.
    public var pciAddress: String?
    /// The pictures it takes; nil where nothing bounds them but the standard.
    public var sizes: PictureSizes?

    /// An encoder by all it can say about itself.
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

    /// Whether it runs on a GPU, named by its PCI address, its node, or the link to that by its path on the bus.
    public func isOn(gpu name: String) -> Bool {
        if let pciAddress, name == pciAddress || name == "/dev/dri/by-path/pci-\(pciAddress)-render" { return true }
        return name == device
    }
}

/// The least and the most luma samples of a picture.
public struct PictureSizes: Hashable, Codable, Sendable {
    /// Samples a row, at least.
    public var minWidth: Int
    /// Rows, at least.
    public var minHeight: Int
    /// Samples a row, at most; nil where nothing is told.
    public var maxWidth: Int?
    /// Rows, at most; nil where nothing is told.
    public var maxHeight: Int?

    /// Bounds by their numbers.
    public init(minWidth: Int = 1, minHeight: Int = 1, maxWidth: Int? = nil, maxHeight: Int? = nil) {
        self.minWidth = minWidth
        self.minHeight = minHeight
        self.maxWidth = maxWidth
        self.maxHeight = maxHeight
    }

    /// Whether a picture is within them.
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

/// A DRM render node and what came of opening it.
public struct RenderNode: Hashable, Codable, Sendable {
    /// How far one gets with a node.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// Its driver started and told what it can do.
        case ready
        /// There is no such file, or no device behind it.
        case absent
        /// A file, but not a device for rendering.
        case notADevice = "not_a_device"
        /// It may not be opened.
        case permission
        /// It opened, but its driver did not start.
        case driverFailed = "driver_failed"
        /// The process that looked at it crashed.
        case crashed
        /// The process that looked at it took too long.
        case timedOut = "timed_out"
        /// Its driver started, and frames are being sent through what it claims.
        case verifying
        /// Its driver started, but its encoder was in use or at its limit when frames were sent through it.
        case busy
        /// Something else went wrong, of which the reason tells.
        case failed
    }

    /// The device's path.
    public var node: String
    /// How far one got.
    public var state: State
    /// Where the device sits on the PCI bus (`0000:03:00.0`); stable over boots where the node's number is not.
    public var pciAddress: String?
    /// The device's PCI vendor and device number (`8086:8a52`).
    public var pciID: String?
    /// The kernel driver's name (`i915`, `amdgpu`).
    public var kernelDriver: String?
    /// What the VA-API driver calls itself, with its version.
    public var driver: String?
    /// The link to it that keeps its name over boots (`/dev/dri/by-path/pci-0000:03:00.0-render`).
    public var byPath: String?
    /// Why nothing is encoded on it, a sentence an admin can act on.
    public var reason: String?

    /// Whether it could be opened for reading and writing.
    public var opened: Bool { [.ready, .verifying, .busy, .driverFailed].contains(state) }

    /// A node by what came of opening it.
    public init(node: String, state: State, reason: String? = nil) {
        self.node = node
        self.state = state
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case node, state, reason, driver
        case pciAddress = "pci_address"
        case pciID = "pci_id"
        case kernelDriver = "kernel_driver"
        case byPath = "by_path"
    }
}

/// What the machine can do, at one moment: the input of the choice of encoder.
public struct ProbeSnapshot: Hashable, Codable, Sendable {
    /// The version of this vocabulary.
    public var schema: Int
    /// Every encoder that sessions may use, hardware first.
    public var encoders: [EncoderDescription]
    /// Every path of the catalogue on every node whose driver started, then in software.
    public var paths: [CodecPath]
    /// Every render node looked at.
    public var nodes: [RenderNode]
    /// What is wrong with the catalogue's files; a sentence each.
    public var warnings: [String]
    /// What Vulkan offers for conversions of colour; nil where nobody has looked.
    public var vulkan: VulkanReport?

    /// The vocabulary's version at present.
    public static let currentSchema = 2

    /// A snapshot of these encoders and nodes.
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

    /// The PCI address of the GPU that codes here: of the first that encodes, else of the first whose driver started.
    public var codingGPU: String? {
        encoders.lazy.compactMap(\.pciAddress).first
            ?? nodes.lazy.filter { $0.state == .ready }
            .compactMap(\.pciAddress).first
    }

    /// The part that the choice of decoder reads.
    public var forDecoding: ProbeSnapshot {
        ProbeSnapshot(encoders: [], nodes: nodes, paths: paths.filter { $0.operation == .decode })
    }

    /// The part that the choice of encoder reads.
    public var forChoice: ProbeSnapshot { ProbeSnapshot(encoders: encoders, nodes: nodes) }
}
