// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

// A probe's process runs drivers, so what it reports is untrusted. It is bounded before it reaches clients and workers.

/// The bounds of what is kept of one answer.
enum ProbeBounds {
    /// Encoders, devices, and items of any other list.
    static let maxList = 16
    /// Codec paths.
    static let maxPaths = 64
    /// Bytes of a text.
    static let maxText = 512
}

extension String {
    /// One line of at most `ProbeBounds.maxText` bytes.
    var bounded: String { printable(maxBytes: ProbeBounds.maxText) }
}

extension ProbeRecord {
    /// The record with bounded texts and lists.
    var bounded: ProbeRecord {
        var record = self
        record.key.device = key.device.bounded
        record.key.driver = key.driver.bounded
        record.key.kernel = key.kernel.bounded
        record.key.libraries = key.libraries.bounded
        record.key.catalogue = key.catalogue.bounded
        record.reference = reference.map {
            Reference(name: $0.name.bounded, file: $0.file.bounded, stamp: $0.stamp.bounded)
        }
        record.results = results.prefix(ProbeBounds.maxPaths).map { result in
            var result = result
            (result.id, result.reason) = (result.id.bounded, result.reason?.bounded)
            return result
        }
        return record
    }
}

extension RenderNode {
    /// The node with bounded texts.
    var bounded: RenderNode {
        var node = self
        node.pciAddress = pciAddress?.bounded
        node.pciID = pciID?.bounded
        node.kernelDriver = kernelDriver?.bounded
        node.driver = driver?.bounded
        node.byPath = byPath?.bounded
        node.reason = reason?.bounded
        return node
    }
}

extension [CodecPath] {
    /// The paths of one device (nil in software), with bounded texts and lists.
    func bounded(device: String?) -> [CodecPath] {
        prefix(ProbeBounds.maxPaths).filter { $0.device == device }.map { path in
            var path = path
            path.id = path.id.bounded
            path.codec = path.codec.bounded
            path.profile = path.profile.bounded
            path.driver = path.driver.bounded
            path.reason = path.reason?.bounded
            path.quirks = path.quirks.bounded
            path.features = path.features.bounded
            path.hardware = path.hardware.map {
                HardwareLimits(
                    entrypoint: $0.entrypoint.bounded, maxWidth: $0.maxWidth, maxHeight: $0.maxHeight,
                    rateControl: $0.rateControl.bounded, packedHeaders: $0.packedHeaders.bounded)
            }
            return path
        }
    }
}

extension [String] {
    fileprivate var bounded: [String] { prefix(ProbeBounds.maxList).map(\.bounded) }
}

extension [CodecFeature] {
    fileprivate var bounded: [CodecFeature] {
        prefix(ProbeBounds.maxList).map { CodecFeature(rawValue: $0.rawValue.bounded) }
    }
}

extension [EncoderDescription] {
    /// The encoders of one kind, placed on the node that was probed, with bounded texts and lists.
    func bounded(hardware: Bool, node: String?) -> [EncoderDescription] {
        prefix(ProbeBounds.maxList).filter { $0.hardware == hardware }.map { encoder in
            var encoder = encoder
            encoder.device = node
            encoder.pciAddress = encoder.pciAddress?.bounded
            encoder.id = encoder.id.bounded
            encoder.name = encoder.name.bounded
            encoder.codec = encoder.codec.bounded
            encoder.version = encoder.version.bounded
            encoder.bitDepths = Array<Int>(encoder.bitDepths.prefix(ProbeBounds.maxList))
            encoder.pixelFormats = encoder.pixelFormats.bounded
            return encoder
        }
    }
}

extension [HardwareEncoder] {
    /// The encoders of the node that was probed, with bounded texts and lists.
    func bounded(node: String) -> [HardwareEncoder] {
        prefix(ProbeBounds.maxList).filter { $0.node == node }.map { encoder in
            HardwareEncoder(
                encoderID: encoder.encoderID.bounded, node: node,
                paths: encoder.paths.prefix(ProbeBounds.maxList).map(\.bounded))
        }
    }
}

extension [Capabilities.Quirk] {
    /// The quirks of an answer, with bounded texts; those that cannot be read are left out.
    init(bounding values: [PropertyValue]) {
        self = values.prefix(ProbeBounds.maxPaths).compactMap { value in
            guard var quirk = try? JSON.decode(Capabilities.Quirk.self, from: JSON.encode(value)) else {
                return nil
            }
            (quirk.id, quirk.why) = (quirk.id.bounded, quirk.why.bounded)
            return quirk
        }
    }
}

extension [QuirkDescription] {
    /// The descriptions of an answer, with bounded texts and lists.
    var bounded: [QuirkDescription] {
        prefix(ProbeBounds.maxPaths).map { quirk in
            QuirkDescription(
                id: quirk.id.bounded, why: quirk.why.bounded, disablesPath: quirk.disablesPath,
                disabledFeatures: quirk.disabledFeatures.bounded, fixedIn: quirk.fixedIn?.bounded,
                link: quirk.link?.bounded)
        }
    }
}

extension HardwareEncoder.Path {
    fileprivate var bounded: HardwareEncoder.Path {
        // Quirks of the catalogue hold few values.
        let values = adjustments.count > ProbeBounds.maxPaths ? [:] : adjustments.compactMapValues(\.bounded)
        return HardwareEncoder.Path(
            bitDepth: bitDepth, vaProfile: vaProfile.bounded, vaEntrypoint: vaEntrypoint.bounded,
            vaRTFormat: vaRTFormat.bounded, features: features.bounded, adjustments: values)
    }
}

extension PropertyValue {
    /// A scalar, or a short list of scalars, as quirks of the catalogue hold them; nil for anything else.
    fileprivate var bounded: PropertyValue? {
        guard case .array(let values) = self else { return scalar }
        return .array(values.prefix(ProbeBounds.maxList).compactMap(\.scalar))
    }

    private var scalar: PropertyValue? {
        switch self {
        case .null, .array, .object: nil
        case .string(let text): .string(text.bounded)
        case .bool, .int, .double: self
        }
    }
}

extension RefusedDriver {
    /// The driver with bounded texts.
    var bounded: RefusedDriver { RefusedDriver(driver: driver.bounded, path: path.bounded, reason: reason.bounded) }
}

extension VulkanReport {
    /// The report with bounded texts and lists, and without a choice of device, which is the broker's.
    var bounded: VulkanReport {
        var report = self
        report.loader = loader?.bounded
        report.reason = reason?.bounded
        report.devices = devices.prefix(ProbeBounds.maxList).map { device in
            var device = device
            device.id = device.id.bounded
            device.name = device.name.bounded
            device.driver = device.driver.bounded
            device.apiVersion = device.apiVersion.bounded
            device.pciAddress = device.pciAddress?.bounded
            device.reason = device.reason?.bounded
            (device.chosen, device.choice) = (false, "")
            return device
        }
        return report
    }
}
