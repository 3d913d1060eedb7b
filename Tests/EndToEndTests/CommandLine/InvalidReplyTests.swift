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
        @Test(
            "A reply that is not valid is no fault of the command line",
            arguments: ["garbage", "{", #"{"parameters":5}"#, #"{"error":7}"#])
        func exitCode(_ reply: String) throws {
            let folder = try Scratch()
            let y4m = try StandardStreams.y4m("yuv420p", in: folder)
            let listener = try UnixSocket.listen(path: folder.path("socket"))
            let number = listener.rawValue
            let isDone = Guarded(false)
            let thread = try Thread.spawn(name: "server") {
                _ = eventually {
                    if isDone.value { return true }
                    guard let connection = try? UnixSocket.accept(number) else { return false }
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    _ = eventually { recv(connection.rawValue, &bytes, bytes.count, 0) >= 0 || errno != EAGAIN }
                    try? VarlinkConnection.send(
                        Array(reply.utf8), to: connection.rawValue, deadline: MonotonicTime.now + hangLimit)
                    return false
                }
            }
            defer {
                isDone.change { $0 = true }
                thread.join()
            }
            for command in [["sessions"], ["probe"], ["encode", y4m, folder.path("out.mov")]] {
                let run = try Programs.hwctl(command, socket: folder.path("socket"))
                #expect(run.status == HWDModel.ExitStatus.protocolError.rawValue, "\(command): \(run.errors)")
                #expect(run.complaints.count == 1 && run.errors.contains("is not valid"), "\(run.errors)")
                #expect(!folder.contents.contains("out.mov"))
            }
        }
    }
}
