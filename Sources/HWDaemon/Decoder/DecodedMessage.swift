// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDWire

extension FrameDecoded {
    /// Adds as much of the metadata as fits a message, and flags the loss of the rest.
    mutating func add(_ metadata: [FrameSideData]) {
        var room = Self.maxSideData
        for data in metadata {
            guard info.sideData.count < Self.maxEntries, data.bytes.count <= room else {
                flags.insert(.sideDataLost)
                continue
            }
            room -= data.bytes.count
            info.sideData.append(data)
        }
    }
}

extension FrameDecoded.Flags {
    /// The flags that describe a picture's alpha.
    init(_ alpha: PictureAlpha) {
        switch alpha {
        case .none: self = []
        case .present(.premultiplied): self = [.alpha, .premultiplied]
        case .present(.straight): self = .alpha
        case .missing: self = .alphaMissing
        }
    }
}
