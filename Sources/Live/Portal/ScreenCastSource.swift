// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDCapturing
package import HWDControlCommands
internal import HWDModel
internal import HWDPipeWireVideo
internal import HWDTransport

/// A screen or a window that a person chooses in the dialog of the desktop's portal.
package final class ScreenCastSource: CaptureSource {
    private let video: PipeWireSource
    /// Ends the thread that waits for the session's end.
    private let wake: EventFD
    private let watcher: Thread

    package var format: CaptureFormat { video.format }

    private init(_ kind: ScreenCast.Kind, _ request: CaptureRequest) throws(CommandFailure) {
        let cast = try ScreenCast()
        let kept = RestoreToken(kind.name)
        let token = request.choosesAgain ? nil : kept?.read()
        let stream = try cast.open(kind, cursor: request.cursor, token: token)
        // The one before was used.
        if let reason = kept?.write(stream.restoreToken) {
            Console.note("the choice of the \(kind.name) is not kept: \(reason)")
        }
        let video = try PipeWireSource(file: stream.file, nodeID: stream.node)
        do throws(SystemError) {
            let wake = try EventFD()
            // It has the session, which ends with this object.
            watcher = try Thread.spawn(name: "portal") {
                guard cast.waitForClose(wake: wake) else { return }
                video.end("the desktop has stopped sharing the \(kind.name)")
            }
            (self.video, self.wake) = (video, wake)
        } catch { throw CommandFailure(.software, "\(error)") }
    }

    deinit {
        wake.signal()
        watcher.join()
    }

    package func start(_ sink: any CaptureSink) throws(CommandFailure) { try video.start(sink) }

    package func stop() { video.stop() }
}

extension ScreenCastSource {
    /// Screens and windows as `hwctl capture` has them.
    package static var kinds: [CaptureKind] {
        ScreenCast.Kind.allCases.map { kind in
            CaptureKind(kind.name) { () throws(CommandFailure) in
                let cursors = try ScreenCast().cursors(kind).map(\.rawValue).joined(separator: ", ")
                return [
                    CaptureListing(
                        name: kind.name,
                        description: "a \(kind.name) that you choose in the desktop's dialog"
                            + (cursors.isEmpty ? "" : "; cursor: \(cursors)"),
                        formats: ["a picture when something changes"])
                ]
            } open: { request throws(CommandFailure) in
                try ScreenCastSource(kind, request)
            }
        }
    }
}
