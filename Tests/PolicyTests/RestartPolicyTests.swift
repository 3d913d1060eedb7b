// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDPolicy

@Suite("Restart policy")
struct RestartPolicyTests {
    private static func failure(_ id: String?, hardware: Bool = true) -> RestartPolicy.Failure {
        RestartPolicy.Failure(codecID: id, isHardware: hardware, reason: "\(id ?? "it") crashed")
    }

    private static func surroundings(
        required: Bool = false, _ hardware: Set<String> = ["a"], neighbors: Int = 0
    ) -> RestartPolicy.Surroundings {
        RestartPolicy.Surroundings(requiresHardware: required, hardware: hardware, neighbors: neighbors)
    }

    /// The ids of the hardware that is avoided, and the longest delay; nil for a session that ends.
    private static func decide(
        _ failures: [RestartPolicy.Failure], _ surroundings: RestartPolicy.Surroundings
    ) -> (avoided: [String], delay: Int)? {
        guard case .restart(let avoiding, let delay) = RestartPolicy.decide(failures, surroundings) else {
            return nil
        }
        #expect(avoiding.allSatisfy { $0.reason == "\($0.codecID) crashed" && !$0.isTransient })
        return (avoiding.map(\.codecID), delay)
    }

    @Test("The first restart is on the same hardware, the second is not")
    func avoids() throws {
        let first = try #require(Self.decide([Self.failure("a")], Self.surroundings()))
        #expect(first.avoided == [] && first.delay == 0)
        let second = try #require(Self.decide([Self.failure("a"), Self.failure("a")], Self.surroundings()))
        #expect(second.avoided == ["a"] && second.delay == 0)
        let other = try #require(
            Self.decide(
                [Self.failure("a"), Self.failure("a"), Self.failure("b")], Self.surroundings(["a", "b"])))
        #expect(other.avoided == ["a"])
    }

    @Test("Where hardware is required, it is avoided only for other hardware")
    func required() throws {
        let twice = [Self.failure("a"), Self.failure("a")]
        #expect(try #require(Self.decide(twice, Self.surroundings(required: true))).avoided == [])
        #expect(try #require(Self.decide(twice, Self.surroundings(required: true, ["a", "b"]))).avoided == ["a"])
    }

    @Test("Software starts again at once; a session has three restarts")
    func bounded() throws {
        let software = Self.failure("x265", hardware: false)
        let again = try #require(Self.decide([software, software], Self.surroundings(neighbors: 9)))
        #expect(again.avoided == [] && again.delay == 0)
        #expect(Self.decide([software, software, software], Self.surroundings()) != nil)
        #expect(Self.decide([software, software, software, software], Self.surroundings()) == nil)
    }

    @Test("The more sessions lose their hardware at once, the longer each may wait, up to half a second")
    func delays() throws {
        let delays = try [0, 1, 3, 4, 60].map { neighbors in
            try #require(Self.decide([Self.failure("a")], Self.surroundings(neighbors: neighbors))).delay
        }
        #expect(delays == [0, 125, 375, 500, 500])
    }
}
