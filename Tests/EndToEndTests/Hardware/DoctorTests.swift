// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

extension EndToEndFaults {
    /// `hwctl doctor` where hardware works, with the simulated driver.
    @Suite struct Doctors {
        private struct Document: Decodable {
            struct Ability: Decodable {
                var hardware: Bool
                var reason: String?
            }

            struct Problem: Decodable {
                var cause: String?
                var device: String?
                var problem: String
                var remedy: String?
                var command: String?
                var quirk: String?
                var lost: [String]?
                var link: String?
            }

            var encode: Ability
            var decode: Ability
            var problems: [Problem]
            var limits: [Problem]
        }

        private func doctor(_ personality: String) throws -> (Document, text: String, status: Int32?) {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(personality, state: state, ["FAKE_VA_PCI": "1002:73bf"])
            let json = try Programs.hwctl(["doctor", "--json"], socket: server.socket)
            let text = try Programs.hwctl(["doctor"], socket: server.socket)
            #expect(json.status == text.status)
            #expect(json.errors.isEmpty && text.errors.isEmpty, "\(json.errors) \(text.errors)")
            let document = try JSONDecoder().decode(Document.self, from: Data(json.output))
            #expect(document.encode.hardware && document.decode.hardware, "\(text.text)")
            #expect(text.text.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.contains("https:") })
            return (document, text.text.split(whereSeparator: \.isWhitespace).joined(separator: " "), text.status)
        }

        @Test("Hardware that works is no problem, and the exit code is 0")
        func healthy() throws {
            let (document, text, status) = try doctor("full")
            #expect(status == 0 && document.problems.isEmpty && document.limits.isEmpty, "\(text)")
            #expect(
                text.contains("Encoding in hardware: HEVC of 8 and 10 bits")
                    && text.hasSuffix("No problem was found."))
        }

        @Test("A driver that is too old has its version, what it lacks, the package and the quirk's link")
        func oldDriver() throws {
            let (document, text, status) = try doctor("radeonsi-22")
            #expect(status == 1 && document.problems.count == 1, "\(text)")
            let problem = try #require(document.problems.first)
            #expect(problem.cause == "quirk" && problem.quirk == "mesa-22-own-headers")
            #expect(
                problem.lost == ["temporal-layers", "alpha-layer", "b-frames"] && problem.device == "/dev/null")
            #expect(problem.problem.hasPrefix("Mesa Gallium driver 22.3.6 for AMD"))
            #expect(problem.problem.contains("is without temporal levels, alpha, B pictures: "))
            #expect(problem.remedy == "install version 23.0 or later of the driver")
            #expect(problem.command == "apt install -t bookworm-backports mesa-va-drivers")
            #expect(text.contains("More: https://gitlab.freedesktop.org/mesa/mesa (quirk mesa-22-own-headers)"))
        }

        @Test("What no later version of a driver has is a limit, and no problem")
        func limits() throws {
            let (document, text, status) = try doctor("radeonsi-25")
            #expect(status == 0 && document.problems.isEmpty, "\(text)")
            let limit = try #require(document.limits.first)
            #expect(document.limits.count == 1 && limit.quirk == "mesa-25-no-b" && limit.command == nil)
            #expect(limit.lost == ["b-frames", "temporal-layers"] && limit.link?.isEmpty == false)
            #expect(
                text.contains(
                    "No problem was found. Limits that no known later version of a driver lifts: - /dev/null: Mesa")
            )
        }
    }
}
