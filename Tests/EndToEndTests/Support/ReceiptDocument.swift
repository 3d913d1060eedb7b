// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// The JSON document of `hwctl verify`.
struct ReceiptDocument: Decodable {
    struct Item: Decodable {
        var name: String
        var verdict: String
        var sentence: String
        var expected: String?
        var details: [String]
        var number: Int?

        var isFault: Bool { verdict == "lost" && expected == nil }
    }

    struct Quality: Decodable {
        var pictures: Int
        var exact: Bool
        var psnr_y, psnr_cb, psnr_cr, ssim_y, ssim_cb, ssim_cr: Double?
    }

    var schema: Int
    var faults: Int
    var asked: [String]
    var items: [Item]
    var quality: Quality?

    /// The names of the items that were lost without being asked for.
    var lost: [String] { items.filter(\.isFault).map(\.name) }

    /// The only item of a name.
    func item(_ name: String) throws -> Item {
        let found = items.filter { $0.name == name }
        try #require(found.count == 1, "\(name): \(items.map(\.name))")
        return found[0]
    }

    /// Runs `hwctl verify` and checks that the exit code agrees with the document.
    init(_ arguments: String..., socket: String = "") throws { try self.init(arguments, socket: socket) }

    init(_ arguments: [String], socket: String = "") throws {
        let run = try Programs.hwctl(["verify", "--json"] + arguments, socket: socket)
        try #require(run.status == 0 || run.status == 1, "\(arguments): \(run.errors)")
        self = try JSONDecoder().decode(Self.self, from: Data(run.output))
        #expect(schema == 1)
        #expect(faults == lost.count)
        #expect(run.status == (lost.isEmpty ? 0 : 1))
    }
}
