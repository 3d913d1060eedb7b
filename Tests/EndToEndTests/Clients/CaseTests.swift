// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

extension EndToEnd {
    /// The sessions that every client passes, over HWClient.
    @Suite struct ClientCases {
        @Test("The table of sessions can be read")
        func theTable() throws {
            let table = try CaseTable()
            #expect(table.schema == 1)
            #expect(table.cases.count >= 14)
            #expect(table.cases.allSatisfy { !$0.steps.isEmpty })
        }

        @Test("A session of the table", arguments: CaseTable.cases)
        func session(_ entry: CaseTable.Case) throws {
            let runner = CaseRunner(server: try TestDaemon())
            for (number, step) in entry.steps.enumerated() {
                do { try runner.run(step) } catch {
                    Issue.record(error, "step \(number + 1)")
                    return
                }
            }
        }

        @Test(
            "A step or a member that the runner does not know is an error",
            arguments: [
                ["do": .string("fly")], ["do": .string("complete"), "speed": .int(2)],
                [
                    "do": .string("create"), "method": .string("CreateTransferSession"),
                    "parameters": .object([
                        "width": .int(64), "height": .int(48), "depth": .int(3),
                        "source": .object(["pixel_format": .string("NV12")]),
                        "target": .object(["pixel_format": .string("AB24")]),
                    ]),
                ],
            ] as [[String: PropertyValue]])
        func unknown(_ step: [String: PropertyValue]) throws {
            let runner = CaseRunner(server: try TestDaemon())
            try runner.run([
                "do": .string("create"), "method": .string("CreateTransferSession"),
                "parameters": .object([
                    "width": .int(64), "height": .int(48), "source": .object(["pixel_format": .string("NV12")]),
                    "target": .object(["pixel_format": .string("AB24")]),
                ]),
            ])
            #expect(throws: CaseError.self) { try runner.run(step) }
        }
    }
}
