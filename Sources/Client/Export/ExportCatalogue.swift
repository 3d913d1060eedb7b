// SPDX-License-Identifier: MIT
internal import HWDModel

/// The presets and the rates of `presets.json`, and what files of an administrator add.
public struct ExportCatalogue: Hashable, Sendable {
    /// The version of the format.
    public static let currentSchema = 1
    /// The limit of presets.
    static let maxPresets = 256

    /// In the order of the documents.
    public private(set) var presets: [ExportPreset]
    public private(set) var rates: RateTable

    /// Why a document is not used.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private struct Document: Decodable {
        var schema: Int
        var presets: [ExportPreset]?
        var rates: RateTable?

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case schema, presets, rates
            case format = "$schema"
        }

        init(from decoder: any Decoder) throws {
            try MemberNames(CodingKeys.self, ["rates": MemberNames(RateTable.CodingKeys.self)]).check(decoder)
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            schema = try fields.decode(Int.self, forKey: .schema)
            presets = try fields.decodeIfPresent([ExportPreset].self, forKey: .presets)
            rates = try fields.decodeIfPresent(RateTable.self, forKey: .rates)
        }
    }

    /// The presets of this version.
    public static let builtIn: ExportCatalogue = {
        do throws(Fault) { return try ExportCatalogue(document: Array(text.utf8)) } catch {
            // The document is part of the program, and a test reads it.
            fatalError("presets.json: \(error)")
        }
    }()

    init(document: [UInt8]) throws(Fault) {
        let read = try Self.read(document)
        guard let rates = read.rates else { throw Fault(description: "it has no rates") }
        (presets, self.rates) = (read.presets ?? [], rates)
    }

    /// Adds the presets of a document; one with a name that is known replaces that preset.
    /// - Throws: why the document is not used; the catalogue is then unchanged.
    public mutating func merge(_ document: [UInt8]) throws(Fault) {
        let read = try Self.read(document)
        var merged = presets
        for preset in read.presets ?? [] {
            if let index = merged.firstIndex(where: { $0.name == preset.name }) {
                merged[index] = preset
            } else {
                merged.append(preset)
            }
        }
        guard merged.count <= Self.maxPresets else {
            throw Fault(description: "there are more than \(Self.maxPresets) presets")
        }
        (presets, rates) = (merged, read.rates ?? rates)
    }

    private static func read(_ bytes: [UInt8]) throws(Fault) -> Document {
        let document: Document
        do throws(SessionError) {
            document = try JSON.decode(Document.self, from: bytes)
        } catch {
            throw Fault(description: error.reason)
        }
        guard document.schema == currentSchema else {
            throw Fault(description: "its schema is \(document.schema), not \(currentSchema)")
        }
        for preset in document.presets ?? [] {
            for name in [preset.name, preset.short].compactMap({ $0 }) where !isName(name) {
                throw Fault(
                    description: "'\(name.prefix(64))' is no preset's name: letters, digits and hyphens, at most 64"
                )
            }
            if let size = preset.maxSize,
                !(16...16_384).contains(size.width) || !(16...16_384).contains(size.height)
            {
                throw Fault(description: "\(preset.name): max_size is two numbers from 16 to 16384")
            }
        }
        if let fault = document.rates?.fault { throw Fault(description: fault) }
        return document
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The preset of a name, also a short one or AVFoundation's with its prefix; capitals do not matter.
    public func preset(_ name: String) -> ExportPreset? {
        let prefix = "avassetexportpreset"
        var wanted = name.lowercased()
        if wanted.hasPrefix(prefix) { wanted = String(wanted.dropFirst(prefix.count)) }
        return presets.first { $0.name.lowercased() == wanted || $0.short?.lowercased() == wanted }
    }
}
