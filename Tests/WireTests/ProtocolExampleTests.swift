// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import HWDWire
import Testing

/// The examples and tables of docs/protocol.md against the code that encodes and decodes messages.
@Suite struct ProtocolExampleTests {
    /// The format description in the example of a call, which those of messages repeat.
    private let record: [UInt8]

    init() throws {
        let calls = try ProtocolDocument().blocks.filter { $0.words == ["call"] }
            .map { try VarlinkCall(decoding: Array($0.lines.joined(separator: "\n").utf8)) }
        let call = try #require(calls.first { $0.method == CreateDecompressionSession.method })
        let text = try call.checkedParameters(CreateDecompressionSession.Parameters.self).formatDescription
        record = try #require(Hexadecimal.bytes(text))
    }

    /// The faults of a document's examples of messages; none where they agree with the code.
    private func faults(_ document: ProtocolDocument) throws -> [String] {
        var faults: [String] = []
        let examples = try document.messageExamples()
        for opcode in Opcode.allCases {
            let name = "\(opcode)"
            if document.opcodes[name] != opcode.rawValue { faults.append("\(name) has no heading with its opcode") }
            let ofMessage = examples.filter { $0.name == name }
            if ofMessage.isEmpty { faults.append("\(name) has no example") }
            for example in ofMessage {
                do {
                    faults += try check(example, opcode).map { "\(name): \($0)" }
                } catch {
                    faults.append("\(name): \(error)")
                }
            }
            faults += LayoutCheck(rows: document.layouts[name] ?? [], examples: ofMessage).faults
                .map { "\(name): \($0)" }
        }
        return faults
            + examples.filter { example in !Opcode.allCases.contains { "\($0)" == example.name } }
            .map { "there is no message \($0.name)" }
    }

    private func check(_ example: ProtocolDocument.MessageExample, _ opcode: Opcode) throws -> [String] {
        var faults: [String] = []
        let header = try MessageHeader(decoding: example.bytes.span.bytes)
        let payload = Array(example.bytes.dropFirst(MessageHeader.size))
        if header.opcode != opcode.rawValue { faults.append("its header has opcode \(header.opcode)") }
        if header.length != payload.count { faults.append("its header announces \(header.length) bytes") }
        if !opcode.fdCounts.contains(header.fdCount) { faults.append("it carries \(header.fdCount) descriptors") }
        let decoded = try DecodedPayload(opcode, payload, record: record)
        var encoded = [UInt8](repeating: 0, count: MessageHeader.size)
        var span = encoded.mutableSpan
        var bytes = span.mutableBytes
        header.encode(into: &bytes)
        if encoded + decoded.encoded != example.bytes { faults.append("its bytes are not what the code writes") }
        let values =
            [
                NamedValue("header.length", header.length), NamedValue("header.opcode", header.opcode),
                NamedValue("header.descriptors", header.fdCount), NamedValue("header.sequence", header.sequence),
            ] + decoded.fields
        let stated = example.fields.map { NamedValue($0.name, $0.value) }
        for (stated, value) in zip(stated, values) where stated != value {
            faults.append("\(stated.name) = \(stated.value), but the code reads \(value.name) = \(value.value)")
        }
        if stated.count != values.count { faults.append("\(stated.count) fields instead of \(values.count)") }
        return faults
    }

    @Test func everyMessageHasAnExampleThatTheCodeReadsAndWrites() throws {
        let found = try faults(try ProtocolDocument())
        #expect(found == [])
    }

    /// Each byte of each example counts, and each stated value.
    @Test func aChangedByteOrValueIsFound() throws {
        let document = try ProtocolDocument()
        for example in try document.messageExamples() {
            let opcode = try #require(Opcode.allCases.first { "\($0)" == example.name })
            for index in example.fields.indices {
                for byte in example.fields[index].bytes.indices {
                    var changed = example
                    // Bit 0, so that text remains UTF-8.
                    changed.fields[index].bytes[byte] ^= 1
                    #expect(
                        isFaulty(changed, opcode), "\(example.name): byte \(example.fields[index].offset + byte)")
                }
                var changed = example
                changed.fields[index].value += "1"
                #expect(isFaulty(changed, opcode), "\(example.name): \(example.fields[index].name)")
            }
        }
    }

    private func isFaulty(_ example: ProtocolDocument.MessageExample, _ opcode: Opcode) -> Bool {
        guard let faults = try? check(example, opcode) else { return true }
        return !faults.isEmpty
    }

    /// The columns × rows of a 7x5 picture that the table of pixel formats lists.
    @Test func planeSizesMatchTheCode() throws {
        var listed: [String] = []
        for line in try ProtocolDocument().text.components(separatedBy: "\n") {
            let cells = ProtocolDocument.cells(line)
            guard cells.count == 6, PixelFormat(rawValue: cells[0]) != nil else { continue }
            listed.append("\(cells[0]) \(cells[1]): \(cells[5])")
        }
        let expected = PixelFormat.allCases.flatMap { format in
            (0..<format.planeCount).map { plane in
                "\(format.rawValue) \(plane): \(format.rowBytes(plane: plane, width: 7)) × \(format.rows(plane: plane, height: 5))"
            }
        }
        #expect(listed.sorted() == expected.sorted())
    }
}

/// Compares a message's layout table with its examples.
private struct LayoutCheck {
    let rows: [ProtocolDocument.Row]
    let examples: [ProtocolDocument.MessageExample]

    var faults: [String] {
        var faults: [String] = []
        var used: Set<ProtocolDocument.Row> = []
        for example in examples {
            let counts = Dictionary(example.payload.map { ($0.name, Int($0.value) ?? 0) }) { first, _ in first }
            for field in example.payload {
                guard let row = rows.first(where: { fits($0, field, counts) }) else {
                    faults.append(
                        "the table has no field \(field.name) of \(field.bytes.count) bytes at \(field.offset)")
                    continue
                }
                used.insert(row)
            }
        }
        faults += rows.filter { !used.contains($0) }.map { "no example has \($0.field) at \($0.offset)" }
        return faults
    }

    /// Whether a field of an example is one that the row describes.
    private func fits(
        _ row: ProtocolDocument.Row, _ field: ProtocolDocument.Field, _ counts: [String: Int]
    ) -> Bool {
        func withoutIndex(_ name: String) -> String { name.replacing(#/\[\w+\]/#, with: "[]") }
        guard withoutIndex(row.field) == withoutIndex(field.name),
            row.size ?? field.bytes.count == field.bytes.count
        else { return false }
        if row.offset == "then" { return true }
        guard let parts = row.offset.wholeMatch(of: #/(\d+)( \+ 16 n)?( \+ 16 [ij])?/#), let first = Int(parts.1)
        else { return false }
        var offset = field.offset - first
        if parts.2 != nil {
            guard let row = rows.first(where: { $0.meaning.hasPrefix("n, ") }), let count = counts[row.field]
            else { return false }
            offset -= 16 * count
        }
        if parts.3 == nil { return offset == 0 }
        return field.name.firstMatch(of: #/\[(\d+)\]/#).flatMap { Int($0.1) }.map { offset == 16 * $0 } ?? false
    }
}
