// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import Testing

/// Values that the standards publish.
@Suite struct PublishedPointsTests {
    func isClose(_ a: Double, _ b: Double, _ tolerance: Double) -> Bool { abs(a - b) <= tolerance }

    @Test("PQ (BT.2100, BT.2408)", arguments: [(100.0, 0.508078421), (203, 0.5807), (1000, 0.751827), (10000, 1)])
    func pq(nits: Double, value: Double) {
        let pq = TransferFunction.pq
        #expect(isClose(pq.encode(nits / 10000), value, nits == 203 ? 5e-4 : 1e-6))
        #expect(isClose(pq.decode(pq.encode(nits / 10000)) * 10000, nits, nits * 1e-9))
    }

    @Test func pqOfBlackIsNotZero() {
        #expect(isClose(TransferFunction.pq.encode(0), 7.3e-7, 1e-8))
        #expect(TransferFunction.pq.decode(0) == 0)
    }

    @Test func pqIsClampedBeforeItsPole() {
        for value in [1, 1.5, 1.9921, 1.9922, 3] { #expect(TransferFunction.pq.decode(value) == 1) }
        #expect(TransferFunction.pq.decode(-2) == -1)
    }

    @Test func hlg() {
        let hlg = TransferFunction.hlg
        #expect(isClose(hlg.decode(0.5), 1.0 / 12, 1e-12))
        #expect(isClose(hlg.decode(1), 1, 1e-7))
        #expect(isClose(TransferFunction.hlgApple12.decode(0.5), 1, 1e-12))
        // 75 % is 203.152 cd/m² on a 1000 cd/m² display, which BT.2408 calls 203.
        #expect(HLG.gamma(peak: 1000) == 1.2)
        let scene = hlg.decode(0.75)
        let grey = 1000 * Glibc.pow(scene, 0.2) * scene
        #expect(isClose(grey, 203.152, 1e-3))
        // The two models of gamma meet badly at 400 cd/m²: .011 apart.
        #expect(isClose(HLG.gamma(peak: 399.999) - HLG.gamma(peak: 400), 0.011, 5e-4))
    }

    @Test(
        "What .1 of SDR is",
        arguments: [
            (TransferFunction.bt1886, 0.0040), (.bt709OETF, 0.02249), (.apple709, 0.0109), (.sRGB, 0.0100),
        ])
    func readingsOfSDR(transfer: TransferFunction, light: Double) {
        #expect(isClose(transfer.decode(0.1), light, 5e-5))
        #expect(isClose(transfer.decode(1), 1, 1e-12))
    }

    @Test("curves are inverted and mirrored", arguments: TransferFunction.allCases)
    func curvesGoBack(transfer: TransferFunction) {
        for step in 0...1000 {
            let value = Double(step) / 1000
            #expect(isClose(transfer.encode(transfer.decode(value)), value, transfer == .pq ? 1e-6 : 1e-7))
            #expect(transfer.decode(-value) == -transfer.decode(value))
        }
    }

    @Test(
        "Matrices (H.273, BT.2020)",
        arguments: [
            (YCbCrMatrix.bt2020, [1.4746, -0.16455313, -0.57135313, 1.8814]),
            (.bt709, [1.5748, -0.18732427, -0.46812427, 1.8556]),
            (.bt601, [1.402, -0.34413629, -0.71413629, 1.772]),
        ])
    func matrices(matrix: YCbCrMatrix, numbers: [Double]) {
        let (red, green, blue) = matrix.toRGB.rows
        #expect(zip([red.z, green.y, green.z, blue.y], numbers).allSatisfy { isClose($0, $1, 6e-9) })
        let back = (matrix.fromRGB * matrix.toRGB).rows
        for (row, unit) in zip([back.0, back.1, back.2], [Triple(1, 0, 0), [0, 1, 0], [0, 0, 1]]) {
            #expect((row - unit).max() < 1e-14 && (row - unit).min() > -1e-14)
        }
    }

    @Test(
        "Primaries, unrounded (BT.2087 prints 4 digits)",
        arguments: [
            (
                Primaries.bt2020, Primaries.displayP3,
                [
                    1.3435782526, -0.2821796705, -0.0613985821, -0.0652974528, 1.0757879158, -0.0104904631,
                    0.0028217873,
                    -0.0195984945, 1.0167767073,
                ]
            ),
            (
                .bt2020, .bt709,
                [
                    1.6604910021, -0.5876411388, -0.0728498633, -0.1245504745, 1.1328998971, -0.0083494226,
                    -0.0181507634,
                    -0.1005788980, 1.1187296614,
                ]
            ),
            (
                .displayP3, .bt2020,
                [
                    0.7538330344, 0.1985973691, 0.0475695966, 0.0457438490, 0.9417772198, 0.0124789312,
                    -0.0012103404,
                    0.0176017173, 0.9836086231,
                ]
            ),
            (
                .bt709, .displayP3,
                [
                    0.8224619687, 0.1775380313, 0, 0.0331941989, 0.9668058011, 0, 0.0170826307, 0.0723974407,
                    0.9105199286,
                ]
            ),
            (
                .bt709, .bt2020,
                [
                    0.6274038959, 0.3292830384, 0.0433130657, 0.0690972894, 0.9195403951, 0.0113623156,
                    0.0163914389,
                    0.0880133079, 0.8955952532,
                ]
            ),
        ])
    func primaries(from: Primaries, to: Primaries, numbers: [Double]) {
        let rows = from.conversion(to: to).rows
        let ours = [rows.0, rows.1, rows.2].flatMap { [$0.x, $0.y, $0.z] }
        #expect(zip(ours, numbers).allSatisfy { isClose($0, $1, 6e-11) })
    }
}
