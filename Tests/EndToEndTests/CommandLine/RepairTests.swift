// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Recordings whose recorder died: `hwctl repair`, and the commands that read them without.
    @Suite struct Repairs {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            try Programs.hwctl(arguments, socket: server.socket)
        }

        /// A recording of 20 frames in two fragments, without its last bytes.
        private func recording(_ name: String, without count: Int = 0) throws -> String {
            let data = try Data(contentsOf: Clips.fixture("recorded/killed.mov"))
            try data.dropLast(count).write(to: URL(fileURLWithPath: path(name)))
            return path(name)
        }

        @Test("A recording is repaired in place, with the same pictures")
        func repairs() throws {
            let file = try recording("killed.mov")
            let unfinished = try hwctl("info", "--no-measure", file)
            #expect(unfinished.status == 0 && unfinished.complaints.count == 1, "\(unfinished.errors)")
            #expect(unfinished.complaints.first?.contains("if its recorder died") == true, "\(unfinished.errors)")
            // libavformat 5.1 decodes all fragments with the first sample entry: compared with the source.
            let before = try Probe(Clips.fixture("two_entries.mov").path).frameTimes()
            let run = try hwctl("repair", "--json", file)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(report["repaired"] as? Bool == true && report["packets"] as? Int == 20)
            #expect(try Probe(file).frameTimes() == before && Probe(file).decodingMessages() == "")
            let verified = try hwctl("verify", Clips.fixture("two_entries.mov").path, file)
            #expect(verified.status == 0, "\(verified.errors)")
            #expect(try hwctl("info", "--no-measure", file).errors.isEmpty)
            let again = try hwctl("repair", file)
            #expect(again.status == 0)
            #expect(String(decoding: again.output, as: UTF8.self).contains("is finished already"))
        }

        @Test("A recording that is cut off is read up to its last whole fragment", arguments: [10, 400])
        func cutOff(_ count: Int) throws {
            let file = try recording("cut.mov", without: count)
            let described = try hwctl("info", "--no-measure", file)
            #expect(described.status == 0)
            let warnings = described.complaints
            #expect(warnings.count == 1 && warnings[0].contains("hwctl repair"), "\(described.errors)")
            let output = path("out.mov")
            let run = try hwctl("encode", "--preset", "ultrafast", file, output)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.complaints.contains { $0.contains("hwctl repair") }, "\(run.errors)")
            let frames = try Probe(output).frameTimes().count
            #expect(frames > 0 && frames < 20)
            #expect(try hwctl("repair", file).status == 0)
            #expect(try Probe(file).frameTimes().count >= frames)
        }

        @Test("What cannot be repaired is refused and not changed")
        func refusals() throws {
            let none = try hwctl("repair", path("none.mov"))
            #expect(none.status == 66 && none.complaints.count == 1, "\(none.errors)")
            let text = path("text.mov")
            try Data("no movie at all".utf8).write(to: URL(fileURLWithPath: text))
            let other = try hwctl("repair", text)
            #expect(other.status == 65 && other.complaints.count == 1, "\(other.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: text)) == Data("no movie at all".utf8))
        }
    }
}
