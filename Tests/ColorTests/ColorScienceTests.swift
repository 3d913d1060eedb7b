// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

/// Values of colour-science 0.4.7 (https://www.colour-science.org, BSD-3-Clause): `eotf_ST2084` over 10000,
/// `oetf_inverse_BT2100_HLG`, `eotf_BT1886` with black level 0, `eotf_sRGB`, RGB color spaces with derived matrices,
/// `RGB_to_YCbCr` (whose full-range chroma has no offset), and `ootf_BT2100_HLG`.
@Suite struct ColorScienceTests {
    func isClose(_ a: Double, _ b: Double, _ tolerance: Double) -> Bool { abs(a - b) <= tolerance }

    static let values = [0.0, 0.02, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0]

    @Test(
        "Curves",
        arguments: [
            (
                TransferFunction.pq,
                [
                    0.0, 8.671547742179229e-07, 6.000163552794195e-06, 3.245655914644875e-05, 0.0005154176009833007,
                    0.0032447917853800383, 0.009224570899406526, 0.024400519233637025, 0.09833778555870275,
                    0.39056446528344224, 1.0,
                ]
            ),
            (
                .hlg,
                [
                    0.0, 0.00013333333333333334, 0.0008333333333333335, 0.003333333333333334, 0.020833333333333332,
                    0.053333333333333344, 0.08333333333333333, 0.12799624479311988, 0.26496256042100724,
                    0.5818375909618693,
                    1.0000000269348075,
                ]
            ),
            (
                .bt1886,
                [
                    0.0, 8.365116420730189e-05, 0.0007542720420681457, 0.003981071705534973, 0.03589682359365735,
                    0.11090317490482345, 0.18946457081379978, 0.29346951945813216, 0.5013569413029384,
                    0.7765725275664881,
                    1.0,
                ]
            ),
            (
                .sRGB,
                [
                    0.0, 0.0015479876160990713, 0.003935939504088967, 0.010022825574869039, 0.05087608817155679,
                    0.13286832155381798, 0.21404114048223255, 0.31854677812509186, 0.522521553968392,
                    0.7874122893956174,
                    1.0,
                ]
            ),
        ])
    func curves(transfer: TransferFunction, light: [Double]) {
        for (value, light) in zip(Self.values, light) {
            #expect(isClose(transfer.decode(value), light, light * 1e-9), "\(value)")
        }
    }

    @Test(
        "Primaries of (0.2, 0.5, 0.8)",
        arguments: [
            (Primaries.bt709, Primaries.bt2020, Triple(0.3247727509258155, 0.482679507862423, 0.7637611443117421)),
            (.bt709, .displayP3, Triple(0.25326140938569147, 0.4900417403447113, 0.7680311893681391)),
            (.bt2020, .bt709, Triple(-0.020002259628495795, 0.5348603155751666, 0.8410641274153455)),
            (.bt2020, .displayP3, Triple(0.0785069496072416, 0.5164420969188993, 0.8041864760003277)),
            (.displayP3, .bt709, Triple(0.13251794711583187, 0.5126170864129066, 0.8353733464193903)),
            (.displayP3, .bt2020, Triple(0.2881209686671821, 0.49002052467727697, 0.7954456890223839)),
        ])
    func primaries(from: Primaries, to: Primaries, expected: Triple) {
        let color = from.conversion(to: to) * Triple(0.2, 0.5, 0.8)
        for index in 0..<3 { #expect(isClose(color[index], expected[index], 1e-9)) }
    }

    @Test(
        "Y'CbCr codes of (0.2, 0.5, 0.8)",
        arguments: [
            (YCbCrMatrix.bt601, 8, false, Triple(113.3455, 172.93905191873588, 88.9358059914408)),
            (.bt601, 10, false, Triple(453.382, 691.7562076749435, 355.74322396576315)),
            (.bt601, 10, true, Triple(454.7235, 205.23504514672686, -178.40477888730385)),
            (.bt709, 8, false, Triple(116.27572, 169.29924552705324, 91.31907543815088)),
            (.bt709, 10, false, Triple(465.10288, 677.196982108213, 365.27630175260356)),
            (.bt709, 8, true, Triple(116.7594, 47.01476611338652, -41.75730251460502)),
            (.bt2020, 8, false, Triple(112.13662, 170.98314021473374, 91.69759934897601)),
            (.bt2020, 10, false, Triple(448.54648, 683.932560858935, 366.790397395904)),
            (.bt2020, 10, true, Triple(449.07654, 196.30246624853837, -165.79176725891762)),
        ])
    func matrices(matrix: YCbCrMatrix, bits: Int, isFullRange: Bool, expected: Triple) throws {
        let size = (width: 2, height: 2)
        let signal = SignalDescription(transfer: .sRGB, matrix: matrix, isFullRange: isFullRange)
        let conversion = Conversion(
            source: ImageDescription(
                format: .rgba8, width: size.width, height: size.height, signal: SignalDescription(transfer: .sRGB)),
            target: ImageDescription(
                format: bits == 8 ? .nv12 : .p010, width: size.width, height: size.height, signal: signal))
        let codes = try ConversionPlan(conversion).convert(Triple(51, 127.5, 204), alpha: 1).codes
        let zero: Double = isFullRange ? Double(1 << (bits - 1)) : 0
        for index in 0..<3 {
            #expect(isClose(codes[index], expected[index] + (index > 0 ? zero : 0), 1e-6))
        }
    }

    static let ootfs: [(Triple, Double, Triple)] = [
        (Triple(0.1, 0.3, 0.05), 1000.0, Triple(74.70247846675872, 224.10743540027613, 37.35123923337936)),
        (Triple(0.1, 0.3, 0.05), 400, Triple(38.12814201863934, 114.384426055918, 19.06407100931967)),
        (Triple(0.5, 0.5, 0.5), 2000, Triple(797.5060684020323, 797.5060684020323, 797.5060684020323)),
        (Triple(0.9, 0.1, 0.4), 1000, Triple(720.1186132564652, 80.01317925071835, 320.0527170028734)),
    ]

    @Test("HLG's OOTF, cd/m²", arguments: ootfs)
    func ootf(scene: Triple, peak: Double, expected: Triple) throws {
        let hlg = SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020)
        let conversion = Conversion(
            source: ImageDescription(format: .p010, width: 2, height: 2, signal: hlg),
            target: ImageDescription(format: .rgba16f, width: 2, height: 2, signal: hlg),
            options: ConversionOptions(referenceWhite: 100, hlgPeak: peak))
        let transfer = TransferFunction.hlg
        let values = Triple(transfer.encode(scene.x), transfer.encode(scene.y), transfer.encode(scene.z))
        let light = try ConversionPlan(conversion).lightOfSource(values) * 100
        for index in 0..<3 { #expect(isClose(light[index], expected[index], expected[index] * 2e-6)) }
    }
}
