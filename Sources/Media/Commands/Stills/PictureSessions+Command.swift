// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDWire
internal import HWImages

extension PictureSessions {
    /// Sessions as the options of this command say, until a signal arrives.
    init(_ interruption: Interruption, daemon: @escaping () throws -> Daemon) {
        self.init(daemon: daemon) { interruption.isSet }
        (properties, maxSilence) = (SessionRequest.properties, SessionTimeout.limit)
    }
}

extension StillTiles.Local {
    /// What no session decodes, libavcodec decodes in this process.
    static let hwctl = StillTiles.Local(name: "hwctl") { try StillItemDecoder($0, path: $1) }
}
