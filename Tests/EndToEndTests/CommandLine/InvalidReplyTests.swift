// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDSystem
import HWDTransport
import Testing

extension EndToEnd {
    /// A server whose replies are not those of the protocol.
    @Suite struct InvalidReplies {
        /// Runs commands against a server that sends the same reply to every call; `body` gets the folder and each one's end.
        private func run(_ reply: [UInt8], _ body: (Scratch, Finished) throws -> Void) throws {
            let folder = try Scratch()
            let y4m = try StandardStreams.y4m("yuv420p", in: folder)
            let listener = try UnixSocket.listen(path: folder.path("socket"))
            let number = listener.rawValue
            let isDone = Guarded(false)
            let thread = try HWDTransport.Thread.spawn(name: "server") {
                _ = eventually {
                    if isDone.value { return true }
                    guard let connection = try? UnixSocket.accept(number) else { return false }
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    _ = eventually { recv(connection.rawValue, &bytes, bytes.count, 0) >= 0 || errno != EAGAIN }
                    try? VarlinkConnection.send(
                        reply, to: connection.rawValue, deadline: MonotonicTime.now + hangLimit)
                    return false
                }
            }
            defer {
                isDone.change { $0 = true }
                thread.join()
            }
            for command in [["sessions"], ["probe"], ["encode", y4m, folder.path("out.mov")]] {
                try body(folder, Programs.hwctl(command, socket: folder.path("socket")))
            }
        }

        @Test(
            "A reply that is not valid is no fault of the command line",
            arguments: ["garbage", "{", #"{"parameters":5}"#, #"{"error":7}"#])
        func exitCode(_ reply: String) throws {
            try run(Array(reply.utf8)) { folder, run in
                #expect(run.status == HWDModel.ExitStatus.protocolError.rawValue, "\(run.errors)")
                #expect(run.complaints.count == 1 && run.errors.contains("is not valid"), "\(run.errors)")
                #expect(!folder.contents.contains("out.mov"))
            }
        }

        @Test("A reply without an end is a failure in one line", arguments: [5, 64])
        func endless(_ mebibytes: Int) throws {
            try run([UInt8](repeating: UInt8(ascii: "x"), count: mebibytes << 20)) { folder, run in
                #expect(run.status != nil && run.status != 0, "\(run.exit)")
                #expect(run.complaints.count == 1 && run.errors.contains("bytes before its NUL"), "\(run.errors)")
                #expect(!folder.contents.contains("out.mov"))
            }
        }
    }
}
