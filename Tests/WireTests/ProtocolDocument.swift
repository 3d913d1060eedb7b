// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import HWDWire

/// docs/protocol.md, and what it fixes for machines: layout tables and examples.
struct ProtocolDocument {
    /// A row of a message's layout table.
    struct Row: Hashable {
        /// An offset from the payload's start, such as `40 + 16 i`, or `then`.
        var offset: String
        var type: String
        var field: String
        var meaning: String

        /// The size of its type in bytes; nil where it varies.
        var size: Int? { ["u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8][type] }
    }

    /// A field of an example: where it begins in the message, its bytes, and what the document says it contains.
    struct Field: Hashable {
        var offset: Int
        var bytes: [UInt8]
        var name: String
        var value: String
    }

    /// A fenced block: the words behind its fence, and its lines.
    struct Block {
        var words: [String]
        var lines: [String]
    }

    struct MessageExample {
        var name: String
        var fields: [Field]
        var bytes: [UInt8] { fields.flatMap(\.bytes) }
        /// The fields behind the header, with offsets in the payload.
        var payload: [Field] {
            fields.filter { !$0.name.hasPrefix("header.") }.map { field in
                var moved = field
                moved.offset -= MessageHeader.size
                return moved
            }
        }
    }

    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    let text: String
    private(set) var blocks: [Block] = []
    /// Layout tables, by the message's name.
    private(set) var layouts: [String: [Row]] = [:]
    /// The opcode of each message's heading.
    private(set) var opcodes: [String: UInt32] = [:]

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        try self.init(text: String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8))
    }

    init(text: String) {
        self.text = text
        var (block, message): (Block?, String?) = (nil, nil)
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                if let ended = block {
                    blocks.append(ended)
                    block = nil
                } else {
                    block = Block(words: line.dropFirst(3).split(separator: " ").map(String.init), lines: [])
                }
            } else if block != nil {
                block?.lines.append(line)
            } else if line.hasPrefix("#") {
                message = nil
                if let heading = line.wholeMatch(of: #/#### (\w+) \((\d+)\)/#) {
                    message = String(heading.1)
                    opcodes[String(heading.1)] = UInt32(heading.2)
                }
            } else if let message, line.hasPrefix("|"), let row = Self.row(line) {
                layouts[message, default: []].append(row)
            }
        }
    }

    /// The cells of a table's line, without spaces around them.
    static func cells(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    private static func row(_ line: String) -> Row? {
        let cells = cells(line)
        guard cells.count == 4, cells[0] == "then" || cells[0].first?.isNumber == true else { return nil }
        return Row(offset: cells[0], type: cells[1], field: cells[2], meaning: cells[3])
    }

    /// The examples of messages: lines of bytes, then `name = value` where a field begins.
    func messageExamples() throws -> [MessageExample] {
        try blocks.filter { $0.words.first == "message" }.map { block in
            guard block.words.count == 2 else { throw Fault(description: "a message block names no message") }
            var example = MessageExample(name: block.words[1], fields: [])
            for line in block.lines { try Self.add(line, to: &example) }
            return example
        }
    }

    private static func add(_ line: String, to example: inout MessageExample) throws {
        guard let parts = line.wholeMatch(of: #/((?:[0-9a-f]{2} ?)+) *(?:([\w.\[\]]+) = (.*))?/#) else {
            throw Fault(description: "\(example.name): '\(line)' is not bytes and a field")
        }
        let bytes = parts.1.split(separator: " ").compactMap { UInt8($0, radix: 16) }
        if let name = parts.2 {
            example.fields.append(
                Field(
                    offset: example.bytes.count, bytes: bytes, name: String(name), value: String(parts.3 ?? "")))
        } else if example.fields.isEmpty {
            throw Fault(description: "\(example.name): the first line names no field")
        } else {
            example.fields[example.fields.count - 1].bytes += bytes
        }
    }
}
