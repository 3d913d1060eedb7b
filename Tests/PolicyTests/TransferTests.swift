// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDPolicy

/// Which frames of a pixel-transfer session may be converted concurrently.
@Suite struct TransferOrderTests {
    static let side = TransferSide(format: .bgra8, width: 16, height: 4)
    /// Bytes of a frame.
    static let size: UInt64 = 16 * 4 * 4

    static func frame(from: (UInt32, UInt64), to: (UInt32, UInt64)) -> TransferFrame {
        func place(_ pool: UInt32, _ offset: UInt64) -> TransferFrame.Place {
            TransferFrame.Place(
                poolID: pool, layout: FrameLayout(planes: [FrameLayout.Plane(offset: offset, stride: 64)]))
        }
        return TransferFrame(
            frameID: 1, source: place(from.0, from.1), target: place(to.0, to.1), color: nil)
    }

    @Test func requiresOrderWhenAFrameWritesWhatAnotherTouches() {
        let first = Self.frame(from: (1, 0), to: (2, 0))
        let cases: [(TransferFrame, Bool)] = [
            (Self.frame(from: (1, 0), to: (2, Self.size)), false),  // the same source
            (Self.frame(from: (1, Self.size), to: (2, Self.size)), false),
            (Self.frame(from: (1, Self.size), to: (2, Self.size - 1)), true),  // over the last byte
            (Self.frame(from: (2, 0), to: (3, 0)), true),  // reads the first's target
            (Self.frame(from: (3, 0), to: (1, 0)), true),  // over its source
            (Self.frame(from: (3, 0), to: (4, 0)), false),
        ]
        for (second, touches) in cases {
            #expect(second.touches(first, (Self.side, Self.side)) == touches, "\(second)")
            #expect(first.touches(second, (Self.side, Self.side)) == touches, "\(second)")
        }
    }
}
