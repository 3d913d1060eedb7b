// SPDX-License-Identifier: GPL-2.0-or-later
import HWDLibAV
import Testing

@testable import HWDProbing

/// libavcodec, with changes to the stream before it and to the pictures after it.
private struct Judge: StreamJudge {
    var change: @Sendable ([JudgedPicture]) -> [JudgedPicture] = { $0 }
    var damage: @Sendable ([[UInt8]]) -> [[UInt8]] = { $0 }
    var name: String { "libavcodec" }
    var isAvailable: Bool { true }

    func decode(_ stream: CodedStream, node: String?) throws(JudgeError) -> [JudgedPicture] {
        do throws(LibAVError) {
            let decoder = try ReferenceDecoder(record: stream.record)
            var pictures: [DecodedPicture] = []
            for unit in damage(stream.units) { pictures += try decoder.decode(unit) }
            pictures += try decoder.finish()
            return change(
                pictures.map {
                    JudgedPicture(width: $0.width, height: $0.height, bitDepth: $0.bitDepth, planes: $0.planes)
                })
        } catch { throw JudgeError(error.description) }
    }
}

extension JudgedPicture {
    fileprivate func with(
        width: Int? = nil, bitDepth: Int? = nil, _ change: (UInt16) -> UInt16 = { $0 }
    ) -> JudgedPicture {
        JudgedPicture(
            width: width ?? self.width, height: height, bitDepth: bitDepth ?? self.bitDepth,
            planes: planes.map { $0.map(change) })
    }
}

@Suite struct SoftwareTrialTests {
    @Test(arguments: [8, 10])
    func passesWithX265AndLibavcodec(_ depth: Int) {
        let outcome = SoftwareTrial.run(bitDepth: depth, judge: Judge())
        #expect(outcome.encoderFault == nil && outcome.decoderFault == nil)
    }

    @Test func detectsAMissingFrame() {
        let outcome = SoftwareTrial.run(bitDepth: 8, judge: Judge(change: { Array($0.dropLast()) }))
        #expect(outcome.encoderFault == "8 frames were sent and 7 came back")
        #expect(outcome.decoderFault == outcome.encoderFault)
    }

    @Test func detectsFramesInTheWrongOrder() {
        let outcome = SoftwareTrial.run(bitDepth: 8, judge: Judge(change: { $0.reversed() }))
        #expect(outcome.encoderFault?.hasPrefix("frame 0 came back wrong: PSNR ") == true)
    }

    @Test func detectsTenBitFramesReducedToEight() {
        let flagged = Judge(change: { $0.map { $0.with(bitDepth: 8) } })
        #expect(
            SoftwareTrial.run(bitDepth: 10, judge: flagged).encoderFault == "10-bit frames came back with 8 bits")
        // The bit depth is right and the precision wrong, which no PSNR threshold detects.
        let coarse = Judge(change: { $0.map { $0.with { $0 & ~3 } } })
        #expect(
            SoftwareTrial.run(bitDepth: 10, judge: coarse).encoderFault
                == "10-bit frames came back with the precision of 8 bits")
    }

    @Test func detectsAnotherSizeAndOtherSamples() {
        let wide = Judge(change: { $0.map { $0.with(width: 144) } })
        #expect(
            SoftwareTrial.run(bitDepth: 8, judge: wide).encoderFault
                == "frames of 128x128 came back as 144x128")
        let green = Judge(change: { $0.map { $0.with { _ in 0 } } })
        #expect(SoftwareTrial.run(bitDepth: 8, judge: green).encoderFault?.contains("PSNR") == true)
    }

    @Test func reportsAStreamThatDoesNotDecode() {
        let damaged = Judge(damage: { units in units.map { Array($0.prefix($0.count / 2)) } })
        let outcome = SoftwareTrial.run(bitDepth: 8, judge: damaged)
        #expect(outcome.encoderFault?.hasPrefix("its stream did not decode: libavcodec ") == true)
        let empty = SoftwareTrial.run(bitDepth: 8, judge: Judge(damage: { _ in [] }))
        #expect(empty.encoderFault == "8 frames were sent and 0 came back")
    }
}
