// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDSystem

/// A connector of a graphics card, and the display on it.
public struct Connector: Hashable, Sendable, Encodable {
    /// The kernel's name of the card (`card0`).
    public var card: String
    /// The kernel's name of the connector (`HDMI-A-1`).
    public var name: String
    /// Whether a display is connected.
    public var isConnected: Bool
    /// The display's EDID; nil without a display, and where the EDID cannot be read.
    public var edid: EDID?
    /// The connector's properties; nil where the card cannot be opened.
    public var properties: ConnectorProperties?
    /// What could not be read.
    public var faults: [String] = []

    enum CodingKeys: String, CodingKey {
        case card, name, edid, properties, faults
        case isConnected = "connected"
    }

    /// cd/m² of reference white (BT.2408).
    public static let referenceWhite = 203.0

    /// Whether HDR can be shown: the display takes PQ or HLG, and the connector can announce it; nil when the connector's
    /// properties are not known and the display takes HDR.
    public var isEligible: Bool? {
        guard isConnected, let hdr = edid?.hdr, hdr.supportsPQ || hdr.supportsHLG else { return false }
        guard let properties else { return nil }
        return properties.hasHDRMetadata && properties.hasBT2020 && (properties.maxBitsPerComponent ?? 8) >= 10
    }

    /// Why HDR cannot be shown, or why that is not known; nil where it can.
    public var reason: String? {
        if !isConnected { return "no display is connected" }
        guard let edid else { return faults.first ?? "the display has no EDID" }
        guard let hdr = edid.hdr else { return "the EDID has no HDR static metadata data block" }
        guard hdr.supportsPQ || hdr.supportsHLG else { return "the display takes neither PQ nor HLG" }
        guard let properties else { return faults.first ?? "the connector's properties cannot be read" }
        if !properties.hasHDRMetadata { return "the connector has no property HDR_OUTPUT_METADATA" }
        if !properties.hasBT2020 { return "the connector's property Colorspace has no BT.2020" }
        return properties.maxBitsPerComponent ?? 8 < 10 ? "the connector sends less than 10 bits" : nil
    }

    /// The display's peak over reference white; 1 when the peak is not known.
    public var headroom: Double { max(1, (edid?.hdr?.maxLuminance ?? 0) / Self.referenceWhite) }
}

/// Where the kernel describes connectors.
public struct ConnectorSource: Sendable {
    /// sysfs' folder of the DRM's devices.
    public var sysfs: String
    /// The folder of device nodes.
    public var nodes: String

    /// The most entries of `sysfs` that are read, and the most connectors.
    private static let maxEntries = 4096

    public init(sysfs: String = "/sys/class/drm", nodes: String = "/dev/dri") {
        self.sysfs = sysfs
        self.nodes = nodes
    }

    /// All connectors, sorted by card and name; none where there is no graphics card.
    public func connectors() -> [Connector] {
        let names = (try? Directory.names(in: sysfs, limit: Self.maxEntries)) ?? []
        // `card0-HDMI-A-1` is a connector of `card0`.
        let parts = names.sorted().compactMap { name -> (String, String)? in
            guard name.hasPrefix("card"), let dash = name.firstIndex(of: "-") else { return nil }
            return (String(name[..<dash]), String(name[name.index(after: dash)...]))
        }
        var cards: [String: Result<[String: ConnectorProperties], CardFailure>] = [:]
        return parts.map { card, name in
            // Opening a card wakes its GPU: without a display there is nothing to ask.
            if cards[card] == nil, isConnected(card, name) {
                cards[card] = Result { () throws(CardFailure) in try Card.properties("\(nodes)/\(card)") }
            }
            return connector(card, name, cards[card])
        }
    }

    private func isConnected(_ card: String, _ name: String) -> Bool {
        let status = (try? BoundedFile.read("\(sysfs)/\(card)-\(name)/status", limit: 64)) ?? []
        return status.starts(with: Array("connected".utf8))
    }

    private func connector(
        _ card: String, _ name: String, _ properties: Result<[String: ConnectorProperties], CardFailure>?
    ) -> Connector {
        let folder = "\(sysfs)/\(card)-\(name)"
        var connector = Connector(card: card, name: name, isConnected: isConnected(card, name))
        guard connector.isConnected else { return connector }
        do throws(BoundedFile.Failure) {
            let bytes = try BoundedFile.read("\(folder)/edid", limit: EDID.maxSize)
            if bytes.isEmpty {
                connector.faults.append("the display has no EDID")
            } else {
                connector.add(bytes)
            }
        } catch {
            connector.faults.append("the EDID cannot be read: \(error.reason)")
        }
        switch properties {
        case .success(let known)?: connector.properties = known[name]
        case .failure(let failure)?: connector.faults.append(failure.reason)
        case nil: break
        }
        return connector
    }
}

extension Connector {
    fileprivate mutating func add(_ bytes: [UInt8]) {
        do throws(EDID.Failure) { edid = try EDID(bytes) } catch { faults.append(error.reason) }
    }
}
