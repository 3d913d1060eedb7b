// SPDX-License-Identifier: GPL-2.0-or-later
import HWDLibAV
import Testing

@testable import HWDProbing

/// libavcodec, with changes to the stream before it and to the pictures after it.
private struct Reference: ReferenceCodec {
    var change: @Sendable ([DecodedTrialPicture]) -> [DecodedTrialPicture] = { $0 }
    var damage: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
    var name: String { "libavcodec" }
    var isAvailable: Bool { true }

    func decode(_ stream: CodedStream, node: String?) throws(ReferenceCodecError) -> [DecodedTrialPicture] {
        do throws(LibAVError) {
            let decoder = try ReferenceDecoder(record: stream.record)
            var pictures: [DecodedPicture] = []
            for unit in damage(stream.units) { pictures += try decoder.decode(unit) }
            pictures += try decoder.finish()
            return change(
                pictures.map {
                    DecodedTrialPicture(
                        width: $0.width, height: $0.height, bitDepth: $0.bitDepth, planes: $0.planes)
                })
        } catch { throw ReferenceCodecError(error.description) }
    }
}

extension DecodedTrialPicture {
    fileprivate func with(
        width: Int? = nil, bitDepth: Int? = nil, _ change: (UInt16) -> UInt16 = { $0 }
    ) -> DecodedTrialPicture {
        DecodedTrialPicture(
            width: width ?? self.width, height: height, bitDepth: bitDepth ?? self.bitDepth,
            planes: planes.map { $0.map(change) })
    }
}

@Suite struct SoftwareTrialTests {
    @Test(arguments: [8, 10])
    func passesWithX265AndLibavcodec(_ depth: Int) {
        let outcome = SoftwareTrial.run(bitDepth: depth, reference: Reference())
        #expect(outcome.encoderFault == nil && outcome.decoderFault == nil)
    }

    @Test func detectsAMissingFrame() {
        let outcome = SoftwareTrial.run(bitDepth: 8, reference: Reference(change: { Array($0.dropLast()) }))
        #expect(outcome.encoderFault == "8 frames were sent and 7 came back")
        #expect(outcome.decoderFault == outcome.encoderFault)
    }

    @Test func detectsFramesInTheWrongOrder() {
        let outcome = SoftwareTrial.run(bitDepth: 8, reference: Reference(change: { $0.reversed() }))
        #expect(outcome.encoderFault?.hasPrefix("frame 0 came back wrong: PSNR ") == true)
    }

    @Test func detectsTenBitFramesReducedToEight() {
        let flagged = Reference(change: { $0.map { $0.with(bitDepth: 8) } })
        #expect(
            SoftwareTrial.run(bitDepth: 10, reference: flagged).encoderFault
                == "10-bit frames came back with 8 bits")
        // The bit depth is right and the precision wrong, which no PSNR threshold detects.
        let coarse = Reference(change: { $0.map { $0.with { $0 & ~3 } } })
        #expect(
            SoftwareTrial.run(bitDepth: 10, reference: coarse).encoderFault
                == "10-bit frames came back with the precision of 8 bits")
    }

    @Test func detectsAnotherSizeAndOtherSamples() {
        let wide = Reference(change: { $0.map { $0.with(width: 144) } })
        #expect(
            SoftwareTrial.run(bitDepth: 8, reference: wide).encoderFault
                == "frames of 128x128 came back as 144x128")
        let green = Reference(change: { $0.map { $0.with { _ in 0 } } })
        #expect(SoftwareTrial.run(bitDepth: 8, reference: green).encoderFault?.contains("PSNR") == true)
    }

    @Test func reportsAStreamThatDoesNotDecode() {
        let damaged = Reference(damage: { units in units.map { Array($0.prefix($0.count / 2)) } })
        let outcome = SoftwareTrial.run(bitDepth: 8, reference: damaged)
        #expect(outcome.encoderFault?.hasPrefix("its stream did not decode: libavcodec ") == true)
        let empty = SoftwareTrial.run(bitDepth: 8, reference: Reference(damage: { _ in [] }))
        #expect(empty.encoderFault == "8 frames were sent and 0 came back")
    }
}
