// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

// The catalogue as a JSON document: optional fields, merging and validation.

extension Capabilities.Path {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, enabled, codec, operation, profile, software, features
        case bitDepth = "bit_depth"
        case vaProfile = "va_profile"
        case vaEntrypoints = "va_entrypoints"
        case vaRTFormat = "va_rt_format"
        case pixelFormats = "pixel_formats"
    }

    /// Reads a path; `enabled`, `software` and `features` are optional.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        enabled = try fields.decodeIfPresent(Bool.self, forKey: .enabled) ?? true
        codec = try fields.decode(String.self, forKey: .codec)
        operation = try fields.decode(CodecOperation.self, forKey: .operation)
        profile = try fields.decode(String.self, forKey: .profile)
        bitDepth = try fields.decode(Int.self, forKey: .bitDepth)
        vaProfile = try fields.decode(String.self, forKey: .vaProfile)
        vaEntrypoints = try fields.decode([String].self, forKey: .vaEntrypoints)
        vaRTFormat = try fields.decode(String.self, forKey: .vaRTFormat)
        software = try fields.decodeIfPresent(String.self, forKey: .software)
        pixelFormats = try fields.decode([String].self, forKey: .pixelFormats)
        features = try fields.decodeIfPresent([CodecFeature].self, forKey: .features) ?? []
    }
}

extension Capabilities.Quirk {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, enabled, driver, versions, paths, adjust, sandbox, why, link
        case pciIDs = "pci_ids"
        case disablePath = "disable_path"
        case disableFeatures = "disable_features"
    }

    /// Reads a quirk; only `id`, `driver` and `why` are mandatory.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        enabled = try fields.decodeIfPresent(Bool.self, forKey: .enabled) ?? true
        driver = try fields.decode(String.self, forKey: .driver)
        versions = try fields.decodeIfPresent(Capabilities.Versions.self, forKey: .versions)
        pciIDs = try fields.decodeIfPresent([String].self, forKey: .pciIDs) ?? []
        paths = try fields.decodeIfPresent([String].self, forKey: .paths) ?? ["*"]
        disablePath = try fields.decodeIfPresent(Bool.self, forKey: .disablePath) ?? false
        disableFeatures = try fields.decodeIfPresent([CodecFeature].self, forKey: .disableFeatures) ?? []
        adjust = try fields.decodeIfPresent([String: PropertyValue].self, forKey: .adjust) ?? [:]
        sandbox = try fields.decodeIfPresent(Capabilities.Sandbox.self, forKey: .sandbox)
        why = try fields.decode(String.self, forKey: .why)
        link = try fields.decodeIfPresent(String.self, forKey: .link)
    }
}

extension Capabilities {
    /// Applies an override to a catalogue: matches entries by `id` and replaces their fields one by one.
    ///
    /// - Throws: `Parameter` when the override is not a catalogue; the reason names the place.
    public static func merge(
        _ override: PropertyValue, over base: PropertyValue
    ) throws(SessionError) -> PropertyValue {
        guard case .object(var merged) = base, case .object(let fields) = override else {
            throw SessionError(.parameter, "the catalogue is not a JSON object")
        }
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "$schema": continue
            case "schema":
                guard value == .int(Int64(currentSchema)) else {
                    throw SessionError(.parameter, "schema is \(value), not \(currentSchema)")
                }
            case "paths": merged[name] = try mergeLists(value, over: merged[name], name, Path.CodingKeys.names)
            case "quirks": merged[name] = try mergeLists(value, over: merged[name], name, Quirk.CodingKeys.names)
            default: throw SessionError(.parameter, "\(name) is not a field of a catalogue")
            }
        }
        guard fields["schema"] != nil else { throw SessionError(.parameter, "schema is missing") }
        return .object(merged)
    }

    /// A catalogue without entries, which the first file is merged into.
    public static let emptyDocument = PropertyValue.object([
        "schema": .int(Int64(currentSchema)), "paths": .array([]), "quirks": .array([]),
    ])

    private static func mergeLists(
        _ override: PropertyValue, over base: PropertyValue?, _ name: String, _ known: Set<String>
    ) throws(SessionError) -> PropertyValue {
        guard case .array(let changes) = override, case .array(var entries)? = base else {
            throw SessionError(.parameter, "\(name) is not a list")
        }
        var seen: Set<String> = []
        for (index, change) in changes.enumerated() {
            guard case .object(let fields) = change, case .string(let id)? = fields["id"], !id.isEmpty else {
                throw SessionError(.parameter, "\(name)[\(index)] has no id")
            }
            if let field = fields.keys.sorted().first(where: { !known.contains($0) }) {
                throw SessionError(.parameter, "\(id): \(field) is not a field of \(name)")
            }
            guard seen.insert(id).inserted else { throw SessionError(.parameter, "\(id) is in \(name) twice") }
            let old = entries.firstIndex { entry in
                if case .object(let other) = entry { other["id"] == .string(id) } else { false }
            }
            if let old, case .object(let earlier) = entries[old] {
                entries[old] = .object(earlier.merging(fields) { $1 })
            } else {
                entries.append(change)
            }
        }
        guard entries.count <= maxEntries else {
            throw SessionError(.parameter, "\(name) has more than \(maxEntries) entries")
        }
        return .array(entries)
    }

    /// Checks constraints that the types do not express.
    ///
    /// - Throws: `Parameter`, naming the entry.
    public func validate() throws(SessionError) {
        for path in paths {
            guard [8, 10].contains(path.bitDepth) else {
                throw SessionError(.parameter, "\(path.id): bit_depth is \(path.bitDepth), not 8 or 10")
            }
            if let format = path.pixelFormats.first(where: { PixelFormat(rawValue: $0)?.isYCbCr != true }) {
                throw SessionError(.parameter, "\(path.id): there is no pixel format \(format)")
            }
            guard path.servesSessions || path.operation == .decode else {
                throw SessionError(.parameter, "\(path.id): encoders of \(path.codec) are not supported")
            }
            guard !path.vaEntrypoints.isEmpty else {
                throw SessionError(.parameter, "\(path.id): va_entrypoints is empty")
            }
        }
        for quirk in quirks {
            guard DriverPattern(quirk.driver) != nil else {
                throw SessionError(.parameter, "\(quirk.id): driver is not a pattern: \(quirk.driver)")
            }
            for version in [quirk.versions?.from, quirk.versions?.before].compactMap(\.self)
            where DriverVersion(version) == nil {
                throw SessionError(.parameter, "\(quirk.id): \(version) is not a version")
            }
            guard quirk.versions == nil || quirk.driver.contains("{version}") else {
                throw SessionError(.parameter, "\(quirk.id): versions needs {version} in driver")
            }
        }
    }
}

extension CaseIterable where Self: CodingKey {
    fileprivate static var names: Set<String> { Set(allCases.map(\.stringValue)) }
}
