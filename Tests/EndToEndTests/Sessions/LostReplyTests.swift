// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// A server that closes the connections of Create calls without a reply.
    @Suite struct LostReplies {
        /// Accepts connections, reads a call from each, closes the first `lost` and answers the others with an error.
        ///
        /// - Returns: the client's error, and how many calls came.
        private func create(losing lost: Int) throws -> (error: ClientError?, calls: Int) {
            let folder = try Scratch()
            let listener = try UnixSocket.listen(path: folder.path("socket"))
            let number = listener.rawValue
            let calls = Guarded(0)
            let thread = try Thread.spawn(name: "server") {
                let hasAnswered = eventually {
                    guard let connection = try? UnixSocket.accept(number) else { return false }
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    let hasCall = eventually {
                        recv(connection.rawValue, &bytes, bytes.count, 0) >= 0 || errno != EAGAIN
                    }
                    if !hasCall { Issue.record("no call came on a connection") }
                    calls.change { $0 += 1 }
                    guard calls.value > lost else { return false }
                    let refusal = SessionError(.parameter, "this is the answer")
                    try? VarlinkConnection.send(
                        VarlinkReply.encode(VarlinkError(refusal)), to: connection.rawValue,
                        deadline: MonotonicTime.now + hangLimit)
                    return true
                }
                if !hasAnswered { Issue.record("\(calls.value) calls came, and \(lost + 1) should") }
            }
            let parameters = CreateCompressionSession.Parameters(
                width: 64, height: 64, pixelFormat: .nv12, timeBase: Rational(1))
            var failure: ClientError?
            do {
                _ = try CompressionSession(Daemon(address: folder.path("socket")), parameters)
            } catch { failure = error }
            let seen = calls.value
            if seen <= lost {
                // Ends the server.
                _ = try? UnixSocket.connect(to: folder.path("socket"))
            }
            thread.join()
            return (failure, seen)
        }

        @Test("A session is asked for again where the connection closes without a reply", arguments: [0, 1, 2])
        func repeated(lost: Int) throws {
            let (error, calls) = try create(losing: lost)
            #expect(error?.reason == "this is the answer" && calls == lost + 1)
        }

        @Test("But three times at most")
        func bounded() throws {
            let (error, calls) = try create(losing: 3)
            #expect(error?.reason.contains("without a reply") == true && calls == 3)
        }

        @Test("An older daemon that replaced the one that was asked is called without what it does not know")
        func olderDaemon() throws {
            let folder = try Scratch()
            let listener = try UnixSocket.listen(path: folder.path("socket"))
            let number = listener.rawValue
            let limits = GetFeatures.Limits(
                maxCallBytes: 1, maxPayloadBytes: 1, maxFileDescriptors: 1, maxPacketBytes: 1, timestampBound: 1,
                maxDimension: 1)
            let answers = [
                try VarlinkReply.encode(GetFeatures.Reply(features: ["frame-counts"], limits: limits)),
                VarlinkReply.encode(VarlinkError.invalidParameter("frames")),
                try VarlinkReply.encode(GetFeatures.Reply(features: [], limits: limits)),
                VarlinkReply.encode(VarlinkError(SessionError(.parameter, "this is the answer"))),
            ]
            let calls = Guarded<[String]>([])
            let thread = try Thread.spawn(name: "server") {
                for answer in answers {
                    let hasAnswered = eventually {
                        guard let connection = try? UnixSocket.accept(number) else { return false }
                        var bytes = [UInt8](repeating: 0, count: 4096)
                        var count = 0
                        _ = eventually {
                            count = recv(connection.rawValue, &bytes, bytes.count, 0)
                            return count > 0
                        }
                        let call = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                        calls.change { $0.append(call) }
                        try? VarlinkConnection.send(
                            answer, to: connection.rawValue, deadline: MonotonicTime.now + hangLimit)
                        return true
                    }
                    guard hasAnswered else {
                        Issue.record("only \(calls.value) came")
                        return
                    }
                }
            }
            // Only sessions that convert frames have a count.
            var parameters = CreateCompressionSession.Parameters(
                width: 64, height: 64, pixelFormat: .bgra8, timeBase: Rational(1))
            parameters.frames = 7
            let daemon = Daemon(address: folder.path("socket"))
            let error = #expect(throws: ClientError.self) { try CompressionSession(daemon, parameters) }
            thread.join()
            #expect(error?.reason == "this is the answer")
            let seen = calls.value
            try #require(seen.count == 4)
            #expect(seen[1].contains("\"frames\"") && !seen[3].contains("\"frames\""), "\(seen)")
        }

        @Test("What the daemon's protocol offers is asked once")
        func features() throws {
            let folder = try Scratch()
            let listener = try UnixSocket.listen(path: folder.path("socket"))
            let number = listener.rawValue
            let thread = try Thread.spawn(name: "server") {
                let hasAnswered = eventually {
                    guard let connection = try? UnixSocket.accept(number) else { return false }
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    _ = eventually { recv(connection.rawValue, &bytes, bytes.count, 0) > 0 }
                    let limits = GetFeatures.Limits(
                        maxCallBytes: 1, maxPayloadBytes: 1, maxFileDescriptors: 1, maxPacketBytes: 1,
                        timestampBound: 1, maxDimension: 1)
                    try? VarlinkConnection.send(
                        VarlinkReply.encode(GetFeatures.Reply(features: ["frame-counts"], limits: limits)),
                        to: connection.rawValue, deadline: MonotonicTime.now + hangLimit)
                    return true
                }
                if !hasAnswered { Issue.record("no call came") }
            }
            let daemon = Daemon(address: folder.path("socket"))
            #expect(daemon.offers("frame-counts"))
            thread.join()
            // Nobody answers a second call.
            #expect(daemon.offers("frame-counts") && !daemon.offers("effects"))
        }
    }
}
