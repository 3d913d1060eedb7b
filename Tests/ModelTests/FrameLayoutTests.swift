// SPDX-License-Identifier: MIT
import HWDModel
import Testing

@Suite struct FrameLayoutTests {
    @Test(arguments: PixelFormat.allCases, [(1, 1), (2, 2), (64, 2), (853, 480), (1920, 1080)])
    func packedLayoutsNeedExactlyTheirSize(format: PixelFormat, size: (Int, Int)) throws {
        let (width, height) = size
        let packed = FrameLayout.packed(format, width: width, height: height)
        try packed.layout.validate(format, width: width, height: height, poolSize: UInt64(packed.size))
        // The last row needs only its samples, so the smallest pool ends with them.
        let last = format.planeCount - 1
        let slack = Int(packed.layout.planes[last].stride) - format.rowBytes(plane: last, width: width)
        let smallest = UInt64(packed.size - slack)
        try packed.layout.validate(format, width: width, height: height, poolSize: smallest)
        #expect(throws: SessionError.self) {
            try packed.layout.validate(format, width: width, height: height, poolSize: smallest - 1)
        }
    }

    @Test func baseOffsetsEveryPlane() {
        let at0 = FrameLayout.packed(.nv12, width: 640, height: 360)
        let at4096 = FrameLayout.packed(.nv12, width: 640, height: 360, base: 4096)
        #expect(at0.size == at4096.size)
        #expect(zip(at0.layout.planes, at4096.layout.planes).allSatisfy { $0.offset + 4096 == $1.offset })
    }

    /// NV12 of 640x360 is 640*360*3/2 bytes (drm_fourcc.h: 2x2 subsampled Cr:Cb plane).
    @Test func sizesMatchDRM() {
        #expect(FrameLayout.packed(.nv12, width: 640, height: 360).size == 640 * 360 * 3 / 2)
        #expect(FrameLayout.packed(.p010, width: 640, height: 360).size == 640 * 360 * 3)
    }

    @Test(
        arguments: [
            ("too few planes", [(0, 64)]),
            ("stride below the row", [(0, 63), (4096, 64)]),
            ("offset past the end", [(0, 64), (1 << 40, 64)]),
            ("offset that overflows", [(UInt64.max - 8, 64), (4096, 64)]),
            ("stride that leaves the pool", [(0, UInt32.max), (4096, 64)]),
        ] as [(String, [(UInt64, UInt32)])])
    func refusesLayoutsOutsideThePool(fault: String, planes: [(UInt64, UInt32)]) {
        let layout = FrameLayout(planes: planes.map { .init(offset: $0.0, stride: $0.1) })
        #expect(throws: SessionError.self, "\(fault)") {
            try layout.validate(.nv12, width: 64, height: 64, poolSize: 8192)
        }
    }

    @Test func refusesUnalignedSixteenBitSamples() {
        let layout = FrameLayout(planes: [.init(offset: 1, stride: 128), .init(offset: 16384, stride: 128)])
        #expect(throws: SessionError.self) { try layout.validate(.p010, width: 64, height: 64, poolSize: 1 << 20) }
    }

    @Test("a pixel of a word is one sample", arguments: [PixelFormat.bgra10, .rgba10, .bgrx10, .rgbx10])
    func wordsAreAligned(format: PixelFormat) throws {
        func validate(_ offset: UInt64, _ stride: UInt32, _ size: UInt64) throws {
            try FrameLayout(planes: [.init(offset: offset, stride: stride)]).validate(
                format, width: 7, height: 5, poolSize: size)
        }
        try validate(4, 28, 144)
        for (offset, stride, size) in [(4, 28, 143), (2, 28, 144), (0, 30, 256), (0, 24, 256), (0, 29, 256)]
            as [(UInt64, UInt32, UInt64)]
        {
            #expect(throws: SessionError.self) { try validate(offset, stride, size) }
        }
    }
}
