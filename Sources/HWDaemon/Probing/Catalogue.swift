// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDSystem
internal import HWDWire

/// The catalogue of this machine: that of this version, with the administrator's overrides applied.
struct Catalogue {
    /// The paths to probe and the quirks to work around.
    private(set) var capabilities: Capabilities
    /// Files that were left out, with the reasons.
    private(set) var warnings: [String] = []
    /// A digest of every file's text: results that were verified with another catalogue do not count.
    var digest: String { hash.text }

    /// Every file and directory that the catalogue depends on, whether it exists or not.
    let files: [String]

    /// The enabled quirks that loosen the sandbox, as in the files.
    var sandboxQuirks: [PropertyValue] {
        capabilities.quirks.filter { $0.enabled && $0.sandbox != nil }.compactMap {
            try? JSON.decode(PropertyValue.self, from: JSON.encode($0))
        }
    }

    private var hash = FNV1a()
    /// The document to which overrides apply; nil for the built-in one, which is parsed only when needed.
    private var document: PropertyValue?

    /// The directory of the administrator's overrides.
    static let overrides = "/etc/hwdaemon/capabilities.d"

    private static let maxFiles = 64

    /// Reads the files; those that cannot be used are left out with a warning.
    ///
    /// - Throws: if the built-in catalogue cannot be parsed.
    init() throws(SessionError) {
        let own = Array(Capabilities.embeddedDocument.utf8)
        let overrides = Self.overridePaths
        files = Self.basePaths + [Self.overridesFolder] + overrides
        // Decoded without validation, which the tests do, because every probe of a node waits for it.
        capabilities = try JSON.decode(Capabilities.self, from: own)
        hash.add(own)
        let named = Environment.value("HWDAEMON_CAPABILITIES") != nil
        if let path = Self.basePaths.first(where: { named || access($0, F_OK) == 0 }) {
            replace(by: path, unless: own)
        }
        for path in overrides { merge(path) }
    }

    /// The file of `HWDAEMON_CAPABILITIES`, or those beside this program and in the installation's share directory.
    private static var basePaths: [String] {
        if let path = Environment.value("HWDAEMON_CAPABILITIES") { return [path] }
        let folders = ["", "/../share/hwdaemon", "/../../share/hwdaemon"].map { Program.folder + $0 }
        return folders.map { "\($0)/capabilities.json" }
    }

    private static var overridesFolder: String { Environment.value("HWDAEMON_CAPABILITIES_DIR") ?? overrides }

    /// The overrides' paths, by name.
    private static var overridePaths: [String] {
        let folder = overridesFolder
        let names = (try? Directory.names(in: folder)) ?? []
        let own = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
        return own.prefix(maxFiles).map { "\(folder)/\($0)" }
    }

    private mutating func replace(by path: String, unless own: [UInt8]) {
        attempt(path, unless: own) { (value) throws(SessionError) in
            try Capabilities.merge(value, over: Capabilities.emptyDocument)
        }
    }

    private mutating func merge(_ path: String) {
        let document = document
        attempt(path, unless: nil) { (value) throws(SessionError) in
            guard let document else {
                let own = try JSON.decode(PropertyValue.self, from: Array(Capabilities.embeddedDocument.utf8))
                return try Capabilities.merge(value, over: own)
            }
            return try Capabilities.merge(value, over: document)
        }
    }

    private mutating func attempt(
        _ path: String, unless known: [UInt8]?, _ merged: (PropertyValue) throws(SessionError) -> PropertyValue
    ) {
        do throws(SessionError) {
            let text = try Self.read(path)
            if text == known { return }
            let document = try merged(JSON.decode(PropertyValue.self, from: text))
            capabilities = try Self.decode(document)
            self.document = document
            hash.add(text)
        } catch {
            warnings.append("\(path) is left out: \(error.reason)")
        }
    }

    private static func read(_ path: String) throws(SessionError) -> [UInt8] {
        do { return try BoundedFile.read(path, limit: 1 << 20) } catch {
            throw SessionError(.parameter, error.reason)
        }
    }

    /// The catalogue of a merged document.
    ///
    /// - Throws: `Parameter`, naming the entry by its id: its number in the document is not that in a file.
    static func decode(_ document: PropertyValue) throws(SessionError) -> Capabilities {
        let capabilities: Capabilities
        do throws(SessionError) {
            capabilities = try JSON.decode(Capabilities.self, from: JSON.encode(document))
        } catch {
            guard case .object(let fields) = document else { throw error }
            try check(fields["paths"], Capabilities.Path.self)
            try check(fields["quirks"], Capabilities.Quirk.self)
            throw error
        }
        try capabilities.validate()
        return capabilities
    }

    private static func check<Entry: Decodable>(_ list: PropertyValue?, _ type: Entry.Type) throws(SessionError) {
        guard case .array(let entries)? = list else { return }
        for entry in entries {
            guard case .object(let fields) = entry, case .string(let id)? = fields["id"] else { continue }
            do throws(SessionError) {
                _ = try JSON.decode(type, from: JSON.encode(entry))
            } catch { throw SessionError(error.status, "\(id): \(error.reason)") }
        }
    }
}
