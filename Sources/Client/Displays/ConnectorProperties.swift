// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDDRM
internal import Glibc

/// The properties of a connector that matter for HDR (the kernel's drm-kms documentation, "Standard Connector Properties").
public struct ConnectorProperties: Hashable, Sendable, Encodable {
    /// Whether there is `HDR_OUTPUT_METADATA`.
    public var hasHDRMetadata = false
    /// Whether `Colorspace` has a value for BT.2020.
    public var hasBT2020 = false
    /// The greatest value of `max bpc`; nil without this property.
    public var maxBitsPerComponent: Int?

    enum CodingKeys: String, CodingKey {
        case hasHDRMetadata = "hdr_output_metadata"
        case hasBT2020 = "colorspace_bt2020"
        case maxBitsPerComponent = "max_bpc"
    }

    public init() {}

    /// Adds a property: its name, its values, or the names of its values for an enumeration.
    mutating func add(name: String, values: [UInt64], enumerated: [String]) {
        switch name {
        case "HDR_OUTPUT_METADATA": hasHDRMetadata = true
        case "Colorspace": hasBT2020 = enumerated.contains { $0.hasPrefix("BT2020") }
        // A range: the least and the greatest value.
        case "max bpc": maxBitsPerComponent = values.count > 1 ? Int(clamping: values[1]) : nil
        default: break
        }
    }
}

/// Why a card's connectors cannot be read.
struct CardFailure: Error, Hashable {
    let reason: String
}

/// A card's node.
enum Card {
    private static let maxProperties = 1024

    /// The properties of a card's connectors, by their names (`HDMI-A-1`); nothing is changed or probed.
    static func properties(_ path: String) throws(CardFailure) -> [String: ConnectorProperties] {
        let file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw CardFailure(reason: "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        // The first to open a card without a master becomes it; a display server that starts now must be able to.
        _ = drmDropMaster(file)
        guard let resources = drmModeGetResources(file) else {
            throw CardFailure(reason: "\(path) has no connectors: \(String(cString: strerror(errno)))")
        }
        defer { drmModeFreeResources(resources) }
        var result: [String: ConnectorProperties] = [:]
        for index in 0..<Int(max(0, resources.pointee.count_connectors)) {
            // The current state: asking the display again would take a second.
            guard let identifier = resources.pointee.connectors?[index],
                let connector = drmModeGetConnectorCurrent(file, identifier)
            else { continue }
            defer { drmModeFreeConnector(connector) }
            guard let type = drmModeGetConnectorTypeName(connector.pointee.connector_type) else { continue }
            let name = "\(String(cString: type))-\(connector.pointee.connector_type_id)"
            result[name] = properties(file, connector.pointee)
        }
        return result
    }

    private static func properties(_ file: Int32, _ connector: drmModeConnector) -> ConnectorProperties {
        var properties = ConnectorProperties()
        for index in 0..<min(Int(max(0, connector.count_props)), maxProperties) {
            guard let identifier = connector.props?[index], let property = drmModeGetProperty(file, identifier)
            else { continue }
            defer { drmModeFreeProperty(property) }
            let values = UnsafeBufferPointer(
                start: property.pointee.values, count: Int(max(0, property.pointee.count_values)))
            let enumerated = UnsafeBufferPointer(
                start: property.pointee.enums, count: Int(max(0, property.pointee.count_enums)))
            properties.add(
                name: text(property.pointee.name), values: Array(values),
                enumerated: enumerated.map { text($0.name) })
        }
        return properties
    }

    /// The text of an array of characters, which a zero ends.
    private static func text<Characters>(_ characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
