// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDComparison

/// Which pictures of an output are those of their times.
@Suite struct PictureOrderTests {
    private static let (width, height) = (160, 48)

    /// A picture of a bar that moves by 6 samples a frame, with noise of some amplitude as coding makes it.
    private func picture(_ frame: Int, noise: Int = 0, level: Int = 200, moves: Bool = true) -> [UInt16] {
        // A linear congruential generator: the same noise in each run.
        var state = UInt32(frame + 1)
        let start = moves ? 20 + 6 * frame : 20
        return (0..<Self.width * Self.height).map { index in
            let x = index % Self.width
            state = state &* 1_664_525 &+ 1_013_904_223
            let value = (start..<start + 40).contains(x) ? level : 60 + index / Self.width / 4
            return UInt16(clamping: value + (noise > 0 ? Int(state >> 16) % (2 * noise + 1) - noise : 0))
        }
    }

    private func signature(_ samples: [UInt16]) -> PictureSignature {
        samples.withUnsafeBufferPointer { words in
            guard let start = words.baseAddress else { return PictureSignature([], (1, 1)) }
            let plane = PicturePlane(
                words: start, stride: Self.width, width: Self.width, height: Self.height, bitDepth: 8)
            return PictureSignature([plane], PictureSignature.grid(width: Self.width, height: Self.height))
        }
    }

    /// - Parameter converted: the first picture whose colors were converted.
    private func faults(
        _ input: [[UInt16]], _ output: [[UInt16]], isConverted: Bool = false, converted: Int = .max
    ) -> [PictureOrder.Fault] {
        var order = PictureOrder()
        for (number, pair) in zip(input, output).enumerated() {
            order.add(
                Double(number), input: signature(pair.0), output: signature(pair.1),
                isConverted: isConverted || number >= converted)
        }
        order.finish()
        #expect(order.count == order.faults.count)
        return order.faults
    }

    @Test func honestPicturesHaveNoFault() {
        let moving = (0..<12).map { picture($0) }
        let still = (0..<12).map { picture($0, moves: false) }
        let flat = [[UInt16]](repeating: [UInt16](repeating: 16, count: Self.width * Self.height), count: 12)
        let fade = (0..<12).map { frame in picture(0).map { $0 * UInt16(11 - frame) / 11 } }
        for noise in [0, 4, 40] {
            #expect(faults(moving, (0..<12).map { picture($0, noise: noise) }) == [])
            #expect(faults(still, (0..<12).map { picture($0, noise: noise, moves: false) }) == [])
        }
        #expect(faults(flat, flat.map { $0.map { $0 + 2 } }) == [])
        #expect(faults(fade, fade.map { $0.map { $0 + 1 } }) == [])
        // A picture that is coded as a copy of a neighbor from which it hardly differs.
        var copied = (0..<12).map { picture($0, noise: 2, moves: false) }
        copied[5] = copied[4]
        #expect(faults(still, copied) == [])
        // Colors that were converted: another curve, which keeps the order of values.
        let converted = moving.map { $0.map { UInt16(Double($0) * 0.6 + 30) } }
        #expect(faults(moving, converted, isConverted: true) == [])
        #expect(!faults(moving, converted).isEmpty)
    }

    @Test func wrongPicturesAreFound() {
        let input = (0..<12).map { picture($0) }
        let output = (0..<12).map { picture($0, noise: 3) }
        var changed = output
        changed.swapAt(4, 5)
        #expect(faults(input, changed) == [.exchanged(4, 5)])
        changed = output
        changed[4] = output[3]
        #expect(faults(input, changed) == [.repeated(4)])
        changed = output
        changed.remove(at: 4)
        #expect(faults(input, changed) == [.early(4, count: 7)])
        changed = output
        changed.insert(output[4], at: 4)
        #expect(faults(input, changed) == [.late(5, count: 7)])
        changed = output
        changed[4] = [UInt16](repeating: 128, count: Self.width * Self.height)
        #expect(faults(input, changed) == [.replaced(4, isBlank: true)])
        changed[4] = output[4].map { 255 - $0 }
        #expect(faults(input, changed) == [.replaced(4, isBlank: false)])
        // The only picture.
        #expect(faults([input[0]], [output[0].map { 255 - $0 }]) == [.replaced(0, isBlank: false)])
    }

    /// The input's color changes in mid-file: pictures from there on have other samples.
    @Test func convertedPartsOfAFile() {
        let input = (0..<12).map { picture($0) }
        var output = input
        for number in 6..<12 { output[number] = input[number].map { UInt16(Double($0) * 0.6 + 30) } }
        #expect(faults(input, output, converted: 6) == [])
        #expect(!faults(input, output).isEmpty)
        var changed = output
        changed[8] = [UInt16](repeating: 90, count: Self.width * Self.height)
        #expect(faults(input, changed, converted: 6) == [.replaced(8, isBlank: true)])
        changed = output
        changed.swapAt(8, 9)
        #expect(faults(input, changed, converted: 6) == [.exchanged(8, 9)])
        changed = output
        changed.remove(at: 3)
        #expect(faults(input, changed, converted: 5).contains { if case .early = $0 { true } else { false } })
    }

    /// Which pairs are converted, by the colors of both files.
    @Test func colorsThatChangeInMidFile() {
        let (pq, sdr) = (
            ColorDescription(primaries: 9, transfer: 16, matrix: 9),
            ColorDescription(primaries: 1, transfer: 1, matrix: 1)
        )
        func item(
            _ pairs: [(ColorDescription, ColorDescription)], _ output: (Int) -> [UInt16]
        ) -> (count: Int, item: ReceiptItem?) {
            var colors = ConvertedColors()
            for (number, pair) in pairs.enumerated() where colors.add(Double(number), pair.0, pair.1) {
                colors.addSamples(signature(picture(number)), signature(output(number)), pair.0, pair.1)
            }
            return (colors.count, colors.item)
        }
        let own = { (number: Int) in picture(number) }
        let other = { (number: Int) in picture(number).map { $0 / 2 + 20 } }
        #expect(item([(pq, pq), (pq, pq)], own).item == nil)
        #expect(item([(pq, pq), (sdr, sdr)], own).item == nil)
        // Tags that were changed for the whole file.
        #expect(item([(pq, sdr), (pq, sdr)], own).item == nil)
        let joined = item([(pq, pq), (sdr, pq), (sdr, pq)], other)
        #expect(joined.count == 2 && joined.item?.verdict == .changed)
        #expect(joined.item?.sentence.contains("2 pictures, the first at 1.000 s") == true)
        // Samples that were not converted.
        #expect(item([(pq, pq), (sdr, pq)], own).item?.verdict == .lost)
    }

    @Test func contrastOfComponents() {
        func fault(isConverted: Bool = false, _ change: (Int, UInt16) -> UInt16) -> String? {
            var contrast = ContrastComparison()
            for number in 0..<4 {
                let (old, noise) = (picture(number), picture(number, noise: 6))
                let new = noise.enumerated().map { change($0.offset, $0.element) }
                contrast.add(signature(old), signature(new), isConverted: isConverted)
            }
            return contrast.fault
        }
        #expect(fault { $1 } == nil)
        #expect(fault { $1 + 2 } == nil)
        #expect(fault { _, _ in 128 } == "Y has 0.00 of the input's contrast")
        // Full range squeezed into video range.
        #expect(fault { 16 + $1 * 219 / 255 } == "Y has 0.86 of the input's contrast")
        #expect(fault { $1 + 20 } == "Y is 20.0 of 255 higher")
        #expect(fault(isConverted: true) { $1 / 3 + 90 } == nil)
        #expect(fault(isConverted: true) { _, _ in 128 } == "Y has 0.00 of the input's contrast")
    }

    @Test func qualityOfKnownDifferences() throws {
        let first = picture(0)
        let second = first.map { $0 + 3 }
        var quality = PictureQuality()
        try first.withUnsafeBufferPointer { first in
            try second.withUnsafeBufferPointer { second in
                let planes = [first, second].compactMap(\.baseAddress).map {
                    PicturePlane(words: $0, stride: Self.width, width: Self.width, height: Self.height, bitDepth: 8)
                }
                try #require(planes.count == 2)
                try quality.add([(planes[0], planes[0])])
                #expect(quality.isExact && quality.psnrY == nil && quality.ssim(0) == 1)
                quality = PictureQuality()
                try quality.add([(planes[0], planes[1])])
            }
        }
        // 10 log10(255² / 3²).
        let psnr = try #require(quality.psnrY)
        #expect(abs(psnr - 38.588_378_7) < 1e-5)
        #expect(quality.psnr == psnr)
    }
}
