// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import HWDWire
import Testing

/// The messages that docs/protocol.md lists.
private struct ProtocolPage {
    struct Row: Hashable {
        var opcode: UInt32
        var name: String
        var sender: Opcode.Sender
        var payload: String
        var answer: String
    }

    /// Rows of the tables, by the kind of session whose section they are in.
    private(set) var rows: [SessionKind: [Row]] = [:]
    /// Opcodes that a section takes over from the first one.
    private(set) var inherited: [SessionKind: Set<UInt32>] = [.compression: []]

    init() throws {
        let text = try ProtocolDocument().text
        var (kind, sender): (SessionKind?, Opcode.Sender?) = (nil, nil)
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                let title = line.lowercased()
                sender = title.contains("client to worker") ? .client : .worker
                kind =
                    title.contains("client to worker") || title.contains("worker to client")
                    ? .compression
                    : title.contains("decompression")
                        ? .decompression
                        : title.contains("pixel-transfer") ? .transfer : nil
            }
            guard let kind else { continue }
            if line.hasPrefix("Opcodes ") { inherited[kind] = Self.numbers(line) }
            guard line.hasPrefix("|") else { continue }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if cells.contains("client to worker") { sender = .client }
            if cells.contains("worker to client") { sender = .worker }
            guard cells.count >= 3, let opcode = UInt32(cells[0]), let sender else { continue }
            rows[kind, default: []].append(
                Row(
                    opcode: opcode, name: cells[1], sender: sender, payload: cells[2],
                    answer: cells.count > 3 ? cells[3] : ""))
        }
    }

    /// The numbers of "Opcodes 1–4, 9 and 64 are …".
    private static func numbers(_ line: Substring) -> Set<UInt32> {
        guard let end = line.range(of: " are ")?.lowerBound else { return [] }
        let parts = line[..<end].dropFirst("Opcodes ".count).split { ", and".contains($0) }
        return parts.reduce(into: []) { numbers, part in
            let bounds = part.split(separator: "–").compactMap { UInt32($0) }
            if let first = bounds.first, let last = bounds.last { numbers.formUnion(first...last) }
        }
    }

    var all: [Row] { rows.values.flatMap { $0 } }
}

@Suite struct OpcodeTests {
    @Test func namesAndSendersMatchTheProtocolPage() throws {
        let rows = try ProtocolPage().all
        #expect(Set(rows.map(\.opcode)) == Set(Opcode.allCases.map(\.rawValue)))
        for row in rows {
            let opcode = try #require(Opcode(rawValue: row.opcode))
            #expect("\(opcode)" == row.name)
            #expect(opcode.sender == row.sender, "\(opcode)")
        }
    }

    @Test(arguments: SessionKind.allCases)
    func kindsMatchTheProtocolPage(kind: SessionKind) throws {
        let page = try ProtocolPage()
        let listed = Set((page.rows[kind] ?? []).map(\.opcode)).union(try #require(page.inherited[kind]))
        #expect(Set(Opcode.allCases.filter { $0.serves(kind) }.map(\.rawValue)) == listed)
    }

    @Test func descriptorsMatchTheProtocolPage() throws {
        for row in try ProtocolPage().all {
            let opcode = try #require(Opcode(rawValue: row.opcode))
            let bringsOne = ["memfd", "sync file"].contains { row.payload.contains($0) }
            #expect((opcode.fdCounts == 1...1) == bringsOne, "\(opcode)")
        }
        // Prose: a packet that is too large for the arena brings a memfd of its own.
        #expect(Opcode.packet.fdCounts == 0...1)
        #expect(Opcode.addPicture.fdCounts == 1...4)
    }

    @Test func answersFailuresOfMessagesWithAReply() throws {
        let answered = Opcode.allCases.filter { $0.failure == .isAnswered }
        #expect(
            answered == [
                .setProperties, .copyProperties, .removePool, .canAcceptFormat, .changeFormat, .addTable,
                .changeEffects, .addPicture, .addFence,
            ])
        for row in try ProtocolPage().all where answered.contains(where: { $0.rawValue == row.opcode }) {
            #expect(row.answer.hasPrefix("reply"), "\(row.name)")
        }
    }

    @Test func refusesMessagesOfTheOtherSide() {
        for opcode in Opcode.allCases {
            let other: Opcode.Sender = opcode.sender == .client ? .worker : .client
            for kind in SessionKind.allCases {
                let error = #expect(throws: SessionError.self) {
                    try opcode.validate(from: other, in: kind, fdCount: opcode.fdCounts.lowerBound)
                }
                #expect(error?.status == .parameter && error?.reason.contains("to send") == true)
            }
        }
    }

    @Test func refusesMessagesOfOtherKindsOfSession() {
        for opcode in Opcode.allCases {
            for kind in SessionKind.allCases {
                let count = opcode.fdCounts.lowerBound
                let error = Result { try opcode.validate(from: opcode.sender, in: kind, fdCount: count) }
                switch error {
                case .success: #expect(opcode.serves(kind), "\(opcode) in \(kind)")
                case .failure(let error):
                    #expect(!opcode.serves(kind), "\(opcode) in \(kind)")
                    #expect((error as? SessionError)?.status == .parameter)
                }
            }
        }
        let error = #expect(throws: SessionError.self) {
            try Opcode.encodeFrame.validate(from: .client, in: .transfer, fdCount: 0)
        }
        #expect(error?.reason == "message encodeFrame is for compression sessions")
    }

    @Test func refusesDescriptorsThatAMessageDoesNotCarry() {
        for opcode in Opcode.allCases {
            for count in 0...8 where !opcode.fdCounts.contains(count) {
                let error = #expect(throws: SessionError.self) {
                    try opcode.validate(from: opcode.sender, in: .compression, fdCount: count)
                }
                #expect(error?.reason.contains("\(count) file descriptors") == true)
            }
        }
    }
}
