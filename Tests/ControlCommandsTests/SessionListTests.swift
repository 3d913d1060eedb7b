// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDWire
import Testing

@testable import HWDControlCommands

@Suite("The table of hwctl sessions")
struct SessionListTests {
    private static func session(
        _ id: String = "a", uid: UInt32 = 0, hardware: Bool? = false, frames: UInt64 = 0, bytes: UInt64 = 0,
        ageMs: UInt64 = 1000, memory: UInt64? = nil
    ) -> SessionInfo {
        var info = SessionInfo(session: id, kind: .compression, pid: 4243, uid: uid, codec: "hevc")
        (info.width, info.height, info.pixelFormat) = (1280, 720, "NV12")
        (info.codecID, info.usingHardware) = (hardware.map { _ in "x265" }, hardware)
        (info.framesIn, info.framesOut, info.bytesOut) = (frames + 2, frames, bytes)
        (info.pendingFrames, info.ageMs, info.memoryBytes) = (2, ageMs, memory)
        return info
    }

    /// The cells of each session, by their titles; two spaces stand between two cells, and none is empty here.
    private static func rows(_ table: String) -> [[String: String]] {
        let lines = table.split(separator: "\n").map { line in
            line.split(separator: "  ", omittingEmptySubsequences: true).map {
                String($0.drop { $0 == " " })
            }
        }
        return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(lines[0], $0)) }
    }

    @Test("Each session has its user, rate, hardware, memory and age")
    func columns() throws {
        var list = SessionList(isLong: true)
        let rows = Self.rows(
            list.table([
                Self.session(frames: 60, bytes: 250_000, ageMs: 2000, memory: 96 << 20),
                Self.session("b", uid: 4_000_000_000, hardware: true, ageMs: 200_000),
                Self.session("c", hardware: nil, ageMs: 7_500_000),
            ]))
        try #require(rows.count == 3)
        #expect(rows[0]["USER"] == "root" && rows[0]["PID"] == "4243" && rows[0]["SIZE"] == "1280x720")
        #expect(rows[0]["FPS"] == "30.0" && rows[0]["MBIT/S"] == "1.0" && rows[0]["HARDWARE"] == "no")
        #expect(rows[0]["IN"] == "62" && rows[0]["OUT"] == "60" && rows[0]["MEMORY"] == "96 MiB")
        #expect(rows[0]["AGE"] == "2 s" && rows[0]["SESSION"] == "a")
        // A user without a name, and what is not known yet.
        #expect(rows[1]["USER"] == "4000000000" && rows[1]["HARDWARE"] == "yes" && rows[1]["AGE"] == "3m 20s")
        #expect(rows[2]["HARDWARE"] == "-" && rows[2]["BY"] == "-" && rows[2]["MEMORY"] == "-")
        #expect(rows[2]["AGE"] == "2h 5m")
    }

    @Test("The table fits 80 columns")
    func narrow() {
        var list = SessionList()
        var info = Self.session(
            "0123456789abcdef0123456789abcdef", uid: 4_000_000_000, frames: 7_200_000, bytes: 9_000_000_000,
            ageMs: 60_000_000,
            memory: 9999 << 20)
        info.codecID = "org.hwdaemon.encoder.vaapi.renderD128"
        let table = list.table([info, Self.session(hardware: nil)])
        #expect(table.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(table)")
        let rows = Self.rows(table)
        #expect(rows[0]["BY"] == "renderD128" && rows[0]["KIND"] == "encode" && rows[0]["AGE"] == "16h 40m")
        #expect(rows[1]["BY"] == "-" && rows[1]["USER"] == "root")
    }

    @Test("With --watch the rates are those since the list before")
    func watch() {
        var list = SessionList()
        _ = list.table([Self.session(frames: 300, bytes: 1_000_000, ageMs: 10_000)])
        let next = Self.rows(list.table([Self.session(frames: 310, bytes: 1_250_000, ageMs: 12_000)]))
        #expect(next[0]["FPS"] == "5.0" && next[0]["MBIT/S"] == "1.0")
        // Nothing has passed, and a session of another process starts over.
        let same = Self.rows(list.table([Self.session(frames: 310, bytes: 1_250_000, ageMs: 12_000)]))
        #expect(same[0]["FPS"] == "-" && same[0]["MBIT/S"] == "-")
        let restarted = Self.rows(list.table([Self.session(frames: 3, bytes: 100, ageMs: 13_000)]))
        #expect(restarted[0]["FPS"] == "-")
        #expect(list.table([]) == "no sessions")
        let new = Self.rows(list.table([Self.session(frames: 30, ageMs: 1000)]))
        #expect(new[0]["FPS"] == "30.0")
    }
}
