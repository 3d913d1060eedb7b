// SPDX-License-Identifier: MIT
import HWDModel
import HWDWire
import Testing

/// Descriptions of pictures in dma-bufs against the buffers' sizes.
@Suite struct PictureTests {
    /// NV12 of 64x48, both planes in one dma-buf of exactly that size.
    static let good = AddPicture(
        poolID: 3, fourcc: PixelFormat.nv12.fourcc, width: 64, height: 48, uses: .source,
        planes: [
            AddPicture.Plane(object: 0, offset: 0, stride: 64),
            AddPicture.Plane(object: 0, offset: 3072, stride: 64),
        ])

    @Test func acceptsPicturesThatFit() throws {
        #expect(try Self.good.validate(sizes: [4608]) == .nv12)
        var split = Self.good
        split.planes[1] = AddPicture.Plane(object: 1, offset: 64, stride: 128)
        // The last row has no padding.
        #expect(try split.validate(sizes: [3072, 64 + 23 * 128 + 64]) == .nv12)
    }

    @Test("DRM's formats among ours are accepted", arguments: PixelFormat.allCases)
    func acceptsFormats(_ format: PixelFormat) throws {
        let packed = FrameLayout.packed(format, width: 64, height: 48)
        let picture = AddPicture(
            poolID: 3, fourcc: format.fourcc, width: 64, height: 48, uses: .target,
            planes: packed.layout.planes.map { AddPicture.Plane(object: 0, offset: $0.offset, stride: $0.stride) })
        if [.i010, .yuva].contains(format) {
            #expect(throws: SessionError.self) { try picture.validate(sizes: [packed.size]) }
        } else {
            #expect(try picture.validate(sizes: [packed.size]) == format)
        }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: String
        var status = Status.parameter
        var sizes = [4608]
        var change: @Sendable (inout AddPicture) -> Void = { _ in }
    }

    static let faults = [
        Fault(
            testDescription: "a buffer that is one byte too small", reason: "plane 1 ends past its dma-buf's 4607",
            sizes: [4607]),
        Fault(testDescription: "an offset that overflows", reason: "plane 1") { $0.planes[1].offset = .max - 63 },
        Fault(testDescription: "the largest stride", reason: "stride") { $0.planes[0].stride = .max },
        Fault(testDescription: "a large stride and offset", reason: "ends past") {
            $0.planes[0] = AddPicture.Plane(object: 0, offset: 1 << 62, stride: 0x7fff_ffff)
        },
        Fault(testDescription: "a stride below a row", reason: "stride of 63") { $0.planes[0].stride = 63 },
        Fault(testDescription: "a stride of 0", reason: "stride of 0") { $0.planes[0].stride = 0 },
        Fault(testDescription: "too few planes", reason: "2 planes, the frame names 1") { $0.planes.removeLast() },
        Fault(testDescription: "too many planes", reason: "2 planes, the frame names 3") {
            $0.planes.append($0.planes[1])
        },
        Fault(testDescription: "no width", reason: "0x48 is not possible") { $0.width = 0 },
        Fault(testDescription: "the largest size", reason: "is not possible") {
            ($0.width, $0.height) = (.max, .max)
        },
        Fault(testDescription: "no use", reason: "uses are 0") { $0.uses = [] },
        Fault(testDescription: "an unknown use", reason: "uses are 5") { $0.uses = .init(rawValue: 5) },
        Fault(testDescription: "no dma-buf", reason: "0 dma-bufs", sizes: []),
        Fault(
            testDescription: "too many dma-bufs", reason: "5 dma-bufs", sizes: [4608, 4608, 4608, 4608, 4608]),
        Fault(
            testDescription: "a dma-buf that no plane uses", reason: "no plane is in dma-buf 1",
            sizes: [4608, 4608]),
        Fault(testDescription: "a dma-buf that did not come", reason: "plane 1 is in dma-buf 1 of 1") {
            $0.planes[1].object = 1
        },
        Fault(testDescription: "the largest index", reason: "plane 0 is in dma-buf 4294967295 of 1") {
            $0.planes[0].object = .max
        },
        Fault(
            testDescription: "a tiled picture",
            reason: "the modifier 0x100000000000001 is not imported; formats are NV12",
            status: .pixelTransferNotSupported
        ) { $0.modifier = 0x0100_0000_0000_0001 },
        Fault(
            testDescription: "an implicit layout", reason: "the modifier 0x0 (linear)",
            status: .pixelTransferNotSupported
        ) { $0.modifier = 0x00ff_ffff_ffff_ffff },
        Fault(
            testDescription: "a format of ours that is not DRM's", reason: "the format I010 is not imported",
            status: .pixelTransferNotSupported
        ) { $0.fourcc = PixelFormat.i010.fourcc },
        Fault(
            testDescription: "an unknown format", reason: "the format 0x1020304 is not imported",
            status: .pixelTransferNotSupported
        ) { $0.fourcc = 0x0102_0304 },
    ]

    @Test(arguments: faults) func refuses(_ fault: Fault) throws {
        var picture = Self.good
        fault.change(&picture)
        let error = #expect(throws: SessionError.self) { try picture.validate(sizes: fault.sizes) }
        #expect(error?.status == fault.status)
        #expect(error?.reason.contains(fault.reason) == true, "\(error?.reason ?? "")")
    }

    @Test func refusesMessagesThatAreCutShortOrTooLong() throws {
        var writer = ByteWriter()
        Self.good.encode(into: &writer)
        #expect(try AddPicture(decoding: writer.bytes.span.bytes) == Self.good)
        for count in 0..<writer.bytes.count {
            #expect(throws: SessionError.self) {
                try AddPicture(decoding: Array(writer.bytes.prefix(count)).span.bytes)
            }
        }
        #expect(throws: SessionError.self) { try AddPicture(decoding: (writer.bytes + [0]).span.bytes) }
        // Five planes, of which none is read.
        var many = writer.bytes
        many[20] = 5
        let error = #expect(throws: SessionError.self) { try AddPicture(decoding: many.span.bytes) }
        #expect(error?.reason == "a picture has 5 planes")
    }
}
