// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

extension EndToEndFaults.Segments {
    /// Whether GNU parallel is there; moreutils has another program of its name.
    static let hasParallel: Bool = {
        guard let parallel = try? Programs.required("parallel"),
            let run = try? Running(parallel, ["--version"]).wait()
        else { return false }
        return run.text.hasPrefix("GNU parallel")
    }()

    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("examples/farm").path

    @Test(
        "GNU parallel encodes every segment, although tasks are killed",
        .enabled(if: hasParallel, "needs GNU parallel"))
    func gnuParallel() throws {
        try clip("in.mp4", seconds: 6)
        let run = try Running(
            "\(Self.examples)/gnu-parallel",
            [path("in.mp4"), path("out.mov"), "6", "--preset", "slow"],
            environment: [
                "HWCTL": Programs.path("hwctl"), "HWDAEMON_SOCKET": server.socket, "PAUSE": "0.1", "JOBS": "2",
                "HOME": server.folder.root,
            ])
        // The script, GNU parallel, the task's script, hwctl.
        var killed: Set<UInt64> = []
        _ = try eventually {
            let tasks = Self.descendants(of: run.child.pid).filter { $0.name.hasPrefix("hwctl") && $0.state != "Z" }
            // A process that was killed may still be listed.
            if let task = tasks.first(where: { !killed.contains(Self.identity($0)) }) {
                kill(task.pid, SIGKILL)
                killed.insert(Self.identity(task))
            }
            return try killed.count == 3 || run.child.tryReap() != nil
        }
        let ended = try run.wait()
        try #require(ended.status == 0, "\(ended.errors)")
        #expect(killed.count == 3 && ended.errors.contains("status 137, try 2 of 5"), "\(killed): \(ended.errors)")
        #expect(!server.folder.contents.contains("out.mov.parts"))
        try hwctl("encode", "--preset", "slow", path("in.mp4"), path("whole.mov"))
        try expectEqual(path("out.mov"), path("whole.mov"), source: "in.mp4")
    }

    @Test(
        "A task that gives up ends the run of GNU parallel with its status, and nothing is joined",
        .enabled(if: hasParallel, "needs GNU parallel"))
    func gnuParallelGivesUp() throws {
        try clip("in.mp4")
        let run = try Running(
            "\(Self.examples)/gnu-parallel", [path("in.mp4"), path("out.mov"), "4", "--property", "Quality=2"],
            environment: [
                "HWCTL": Programs.path("hwctl"), "HWDAEMON_SOCKET": server.socket, "HOME": server.folder.root,
            ]
        ).wait()
        #expect(run.status != 0 && run.status != nil, "\(run.errors)")
        #expect(!run.errors.contains("try 2"), "\(run.errors)")
        #expect(!server.folder.contents.contains("out.mov"))
    }

    /// Distinguishes a process from all others, whatever it executes.
    private static func identity(_ process: ProcessEntry) -> UInt64 {
        process.started << 32 | UInt64(UInt32(bitPattern: process.pid))
    }

    private static func descendants(of pid: Int32) -> [ProcessEntry] {
        let children = ProcessEntry.children(of: pid)
        return children + children.flatMap { descendants(of: $0.pid) }
    }
}
