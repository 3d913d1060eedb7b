// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

extension EndToEnd {
    /// The sessions that every client passes, over HWClient.
    @Suite struct ClientCases {
        @Test("Every session of the table")
        func table() throws {
            let table = try CaseTable()
            try #require(table.schema == 1)
            try #require(table.cases.count >= 14)
            let server = try TestDaemon()
            for entry in table.cases {
                #expect(!entry.steps.isEmpty, "\(entry.name)")
                let runner = CaseRunner(server: server)
                for (number, step) in entry.steps.enumerated() {
                    do { try runner.run(step) } catch {
                        Issue.record(error, "\(entry.name), step \(number + 1)")
                        break
                    }
                }
            }
        }

        @Test("A step or a member that the runner does not know is an error")
        func unknown() throws {
            let transfer: [String: PropertyValue] = [
                "width": .int(64), "height": .int(48), "source": .object(["pixel_format": .string("NV12")]),
                "target": .object(["pixel_format": .string("AB24")]),
            ]
            let create: [String: PropertyValue] = [
                "do": .string("create"), "method": .string("CreateTransferSession"),
                "parameters": .object(transfer),
            ]
            var unknownParameter = create
            unknownParameter["parameters"] = .object(transfer.merging(["depth": .int(3)]) { $1 })
            let runner = CaseRunner(server: try TestDaemon())
            try runner.run(create)
            for step in [["do": .string("fly")], ["do": .string("complete"), "speed": .int(2)], unknownParameter] {
                #expect(throws: CaseError.self, "\(step)") { try runner.run(step) }
            }
            // A daemon waits for its sessions before it ends.
            runner.client.close()
        }
    }
}
