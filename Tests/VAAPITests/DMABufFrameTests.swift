// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDVAAPI
import Testing

@Suite struct DMABufFrameTests {
    private let good = DMABufFrame(
        fourcc: PixelFormat.nv12.fourcc, width: 64, height: 48, modifier: 0,
        objects: [DMABufFrame.Object(file: 3, size: 64 * 72)],
        planes: [
            DMABufFrame.Plane(object: 0, offset: 0, pitch: 64),
            DMABufFrame.Plane(object: 0, offset: 64 * 48, pitch: 64),
        ])

    @Test func acceptsFramesThatFit() throws {
        try good.validate(.nv12, width: 64, height: 48)
        var tiled = good
        tiled.modifier = 0x0100_0000_0000_0002
        tiled.objects[0].size = 64 * 48 + 1
        try tiled.validate(.nv12, width: 64, height: 48)
    }

    static let faults: [(String, @Sendable (inout DMABufFrame) -> Void)] = [
        ("format", { $0.fourcc = PixelFormat.p010.fourcc }),
        ("format", { $0.fourcc = PixelFormat.yu12.fourcc }),
        ("format", { $0.fourcc = 0 }),
        ("in place", { $0.width = 62 }),
        ("in place", { $0.height = -48 }),
        ("modifier", { $0.modifier = 0x00FF_FFFF_FFFF_FFFF }),
        ("objects", { $0.objects = [] }),
        ("objects", { $0.objects = [DMABufFrame.Object](repeating: $0.objects[0], count: 5) }),
        ("descriptor", { $0.objects[0].file = -1 }),
        ("bytes", { $0.objects[0].size = 0 }),
        ("planes", { $0.planes.removeLast() }),
        ("planes", { $0.planes.append($0.planes[0]) }),
        ("does not exist", { $0.planes[1].object = 1 }),
        ("does not exist", { $0.planes[1].object = -1 }),
        ("pitch", { $0.planes[0].pitch = 63 }),
        ("past", { $0.planes[1].offset += 1 }),
        ("past", { $0.planes[1].offset = .max }),
        ("past", { $0.planes[0].pitch = .max }),
        ("past", { $0.objects[0].size -= 1 }),
    ]

    @Test(arguments: faults.indices)
    func errorNamesTheFault(index: Int) {
        var frame = good
        Self.faults[index].1(&frame)
        let error = #expect(throws: SessionError.self) { try frame.validate(.nv12, width: 64, height: 48) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains(Self.faults[index].0) == true, "\(error?.reason ?? "")")
    }
}
