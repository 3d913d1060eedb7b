// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

/// The samples in the documentation of the libraries are those that are compiled and run.
@Suite struct Documentation {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let catalogue = root.appendingPathComponent("Sources/Client/HWClient/HWClient.docc")
    private static let images = root.appendingPathComponent("Sources/Client/Images/HWImages.docc/HWImages.md")
    private static let output = root.appendingPathComponent("Sources/Client/HWOutput/HWOutput.docc/HWOutput.md")
    private static let capture = root.appendingPathComponent("Sources/Client/HWCapture/HWCapture.docc/HWCapture.md")

    private static func lines(_ file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    /// The lines between those that begin and end a part of a file, as texts.
    private static func parts(
        of file: URL, from isBegin: (String) -> Bool, to end: String
    ) throws -> [String] {
        var parts: [String] = []
        var part: [String]?
        for line in try lines(file) {
            if part != nil, line == end {
                parts.append((part ?? []).joined(separator: "\n"))
                part = nil
            } else if part != nil {
                part?.append(line)
            } else if isBegin(line) {
                part = []
            }
        }
        try #require(part == nil, "\(file.lastPathComponent) has a part without an end")
        return parts
    }

    /// The samples of a source file: what is between its markers.
    private static func samples(_ path: String) throws -> [String] {
        try parts(
            of: root.appendingPathComponent(path), from: { $0.hasPrefix("// sample: ") }, to: "// sample: end")
    }

    /// The Swift of a page.
    private static func shown(_ page: URL) throws -> [String] {
        try parts(of: page, from: { $0 == "```swift" }, to: "```")
    }

    @Test("Each sample of the catalogue and of clients.md is one that runs, and each that runs is shown")
    func samples() throws {
        let program = try Self.samples("Tests/SampleApp/Sources/FirstFrame/FirstFrame.swift")
        let functions = try Self.samples("Tests/EndToEndTests/Clients/DocumentationSamples.swift")
        #expect(program.count == 1 && functions.count >= 6)
        let pages = try FileManager.default.contentsOfDirectory(at: Self.catalogue, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        #expect(pages.count >= 4)
        let inCatalogue = try pages.flatMap(Self.shown)
        #expect(inCatalogue.sorted() == (program + functions).sorted())
        let photo = try Self.samples("Tests/SampleApp/Sources/FirstPhoto/FirstPhoto.swift")
        #expect(try photo.count == 1 && Self.shown(Self.images) == photo)
        let movie = try Self.samples("Tests/SampleApp/Sources/FirstMovie/FirstMovie.swift")
        let player = try Self.samples("Tests/SampleApp/Sources/FirstPlayer/FirstPlayer.swift")
        #expect(try player.count == 1 && Self.shown(Self.output) == player)
        let recorder = try Self.samples("Tests/SampleApp/Sources/FirstRecorder/FirstRecorder.swift")
        let recording = try Self.samples("Tests/SampleApp/Sources/FirstRecording/FirstRecording.swift")
        #expect(try recording.count == 1 && Self.shown(Self.capture) == recording)
        let clients = try Self.shown(Self.root.appendingPathComponent("docs/clients.md"))
        #expect(!clients.isEmpty)
        let app = try Self.samples("Tests/SampleApp/Sources/SampleApp/Encode.swift")
        #expect(
            app.count == 1
                && clients.allSatisfy {
                    (program + photo + movie + player + recorder + recording + functions + app).contains($0)
                })
        #expect(clients.contains(program.first ?? "") && clients.contains(photo.first ?? ""))
        #expect(clients.contains(movie.first ?? "") && clients.contains(player.first ?? ""))
        #expect(clients.contains(recorder.first ?? "") && clients.contains(recording.first ?? ""))
    }

    @Test("The statuses in the catalogue are those of the library")
    func statuses() throws {
        let table = try Self.lines(Self.catalogue.appendingPathComponent("ErrorsAndWaiting.md"))
            .filter { $0.hasPrefix("| `") }.map {
                $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        #expect(table.count >= 10)
        for row in table {
            let names = row[0].split(separator: ",").map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: " `"))
            }
            let numbers = row[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(names.count == numbers.count)
            for (name, number) in zip(names, numbers) {
                let status = Status(name: name.prefix(1).uppercased() + name.dropFirst())
                #expect(status?.rawValue == Int32(number.replacingOccurrences(of: "−", with: "-")), "\(name)")
            }
        }
    }
}
