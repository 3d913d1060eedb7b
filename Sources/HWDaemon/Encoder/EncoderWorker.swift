// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
internal import HWDWire
internal import HWDWorker

/// A process that serves one compression session, from the broker's start packet to the session's end.
///
/// Programs differ in the hardware that they can open besides VA-API's.
public enum EncoderWorker {
    /// How devices of each interface are opened.
    typealias Devices = [CodecInterface: OpenDevice]

    /// Serves a session, and exits.
    ///
    /// - Parameter devices: opens devices of interfaces other than VA-API.
    public static func run(_ devices: [CodecInterface: OpenDevice] = [:]) {
        let all = devices.merging([.vaapi: VAAPIDevice.open]) { own, _ in own }
        WorkerStartup.run(.compression, CreateCompressionSession.self, rehearse: SessionSetup.rehearse) {
            try CompressionWorker($0, $1, all).run()
        }
    }
}
