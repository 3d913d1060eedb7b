// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel

/// Tests/Clients/cases.json, which the README beside it describes.
struct CaseTable: Decodable {
    struct Case: Decodable {
        var name: String
        var steps: [[String: PropertyValue]]
    }

    var schema: Int
    var cases: [Case]

    init() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try Data(contentsOf: tests.appendingPathComponent("Clients/cases.json"))
        self = try JSON.decode(CaseTable.self, from: [UInt8](text))
    }
}

/// A member of the table that the runner does not know or that has the wrong type.
struct CaseError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The members of an object of the table; what nothing has read when the step ends is unknown to the runner.
final class CaseMembers {
    private let values: [String: PropertyValue]
    private var unread: Set<String>

    init(_ values: [String: PropertyValue]) {
        self.values = values
        unread = Set(values.keys)
    }

    convenience init(_ value: PropertyValue) throws {
        guard case .object(let values) = value else { throw CaseError("\(value) is no object") }
        self.init(values)
    }

    /// - Throws: an error that names the members that nothing has read.
    func checkAllRead() throws {
        guard unread.isEmpty else { throw CaseError("no handler for \(unread.sorted().joined(separator: ", "))") }
    }

    subscript(name: String) -> PropertyValue? {
        unread.remove(name)
        return values[name]
    }

    func int(_ name: String) throws -> Int? {
        guard let value = self[name] else { return nil }
        guard case .int(let number) = value else { throw CaseError("\(name) is no integer") }
        return Int(number)
    }

    func required(_ name: String) throws -> Int {
        guard let number = try int(name) else { throw CaseError("\(name) is missing") }
        return number
    }

    func bool(_ name: String) throws -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let truth) = value else { throw CaseError("\(name) is no truth value") }
        return truth
    }

    func string(_ name: String) throws -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw CaseError("\(name) is no string") }
        return text
    }

    func list(_ name: String) throws -> [PropertyValue]? {
        guard let value = self[name] else { return nil }
        guard case .array(let elements) = value else { throw CaseError("\(name) is no list") }
        return elements
    }

    func ints(_ name: String) throws -> [Int]? {
        try list(name)?.map { value in
            guard case .int(let number) = value else { throw CaseError("\(name) holds more than integers") }
            return Int(number)
        }
    }

    /// Calls `body` with each object of a list.
    func each(_ name: String, _ body: (CaseMembers) throws -> Void) throws {
        for value in try list(name) ?? [] {
            let members = try CaseMembers(value)
            try body(members)
            try members.checkAllRead()
        }
    }

    func object(_ name: String) throws -> [String: PropertyValue]? {
        guard let value = self[name] else { return nil }
        guard case .object(let members) = value else { throw CaseError("\(name) is no object") }
        return members
    }

    func bytes(_ name: String) throws -> [UInt8] {
        guard let text = try string(name), let bytes = Hexadecimal.bytes(text) else {
            throw CaseError("\(name) is not hexadecimal")
        }
        return bytes
    }

    /// `color`; nil if there is none.
    func color() throws -> ColorDescription? {
        guard let values = try object("color") else { return nil }
        let members = CaseMembers(values)
        func point(_ name: String) throws -> UInt8 { UInt8(clamping: try members.required(name)) }
        let location = try point("chroma_location")
        let color = ColorDescription(
            primaries: try point("primaries"), transfer: try point("transfer"), matrix: try point("matrix"),
            isFullRange: try point("full_range") != 0, chromaLocation: location == 255 ? nil : location)
        try members.checkAllRead()
        return color
    }

    /// `kind` and `bytes`.
    func sideData() throws -> FrameSideData {
        guard let kind = FrameSideData.Kind(rawValue: UInt32(clamping: try required("kind"))) else {
            throw CaseError("kind is unknown")
        }
        return FrameSideData(kind, try bytes("bytes"))
    }
}
