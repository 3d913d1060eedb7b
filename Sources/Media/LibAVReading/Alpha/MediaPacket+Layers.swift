// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

extension MediaPacket {
    /// Whether a packet of a byte stream begins with a layer above the base.
    ///
    /// Demuxers without support for layers split access units there.
    public var beginsInUpperLayer: Bool {
        withBytes { bytes in
            var units = AnnexB.NALUnits(Array(bytes.prefix(64)))
            guard let nal = units.next(), let header = try? NALUnitHeader(nal: nal) else { return false }
            return header.nuhLayerId > 0
        }
    }

    /// Whether a packet of a byte stream has a layer above the base.
    var hasUpperLayers: Bool {
        withBytes { bytes in
            AnnexB.NALUnits(Array(bytes)).contains { (try? NALUnitHeader(nal: $0))?.nuhLayerId ?? 0 > 0 }
        }
    }
}
