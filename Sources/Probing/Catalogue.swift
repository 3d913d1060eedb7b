// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions
internal import HWDSystem
internal import HWDWire

/// The catalogue as this machine has it: the file of this version, with the admin's overrides laid over it.
struct Catalogue {
    /// What to look for and to work around.
    private(set) var capabilities: Capabilities
    /// What is wrong with which file; a sentence each.
    private(set) var warnings: [String] = []
    /// A digest of every text it was made of, to tell whether what was remembered still holds.
    var digest: String { hash.text }

    private var hash = FNV1a()
    /// What overrides are laid over; nil for the document this program was built with.
    private var document: PropertyValue?

    /// Where an admin's overrides lie.
    static let overrides = "/etc/hwdaemon/capabilities.d"

    private static let maxFiles = 64

    /// Reads the files; one that cannot be used is told of and left out.
    ///
    /// - Throws: when not even the catalogue that this program was built with can be read.
    init() throws(SessionError) {
        let own = Array(Capabilities.embeddedDocument.utf8)
        // The document of this version has been checked by tests: read straight, which every look at a node waits for.
        capabilities = try JSON.decode(Capabilities.self, from: own)
        hash.add(own)
        let named = Environment.value("HWDAEMON_CAPABILITIES") != nil
        if let path = Self.basePaths.first(where: { named || access($0, F_OK) == 0 }) {
            replace(by: path, unless: own)
        }
        for path in Self.overridePaths { merge(path) }
    }

    /// The file of `$HWDAEMON_CAPABILITIES`, or those beside this program or where it was installed to.
    private static var basePaths: [String] {
        if let path = Environment.value("HWDAEMON_CAPABILITIES") { return [path] }
        let folders = ["", "/../share/hwdaemon", "/../../share/hwdaemon"].map { Program.folder + $0 }
        return folders.map { "\($0)/capabilities.json" }
    }

    /// Every file and folder that it is made of, or would be if it were there.
    static var paths: [String] { basePaths + [overridesFolder] + overridePaths }

    private static var overridesFolder: String { Environment.value("HWDAEMON_CAPABILITIES_DIR") ?? overrides }

    /// The overrides, by name.
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
            let text = try BoundedFile.read(path)
            if text == known { return }
            let document = try merged(JSON.decode(PropertyValue.self, from: text))
            capabilities = try Self.decode(document)
            self.document = document
            hash.add(text)
        } catch {
            warnings.append("\(path) is left out: \(error.reason)")
        }
    }

    private static func decode(_ document: PropertyValue) throws(SessionError) -> Capabilities {
        let capabilities = try JSON.decode(Capabilities.self, from: JSON.encode(document))
        try capabilities.validate()
        return capabilities
    }
}
