// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

@testable import HWDHEVC

/// RPUs whose mapping cannot be applied.
@Suite struct MappingRefusalTests {
    struct Refused: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: String
        var change: @Sendable (inout DolbyVisionRPU) -> Void

        init(_ name: String, _ reason: String, _ change: @escaping @Sendable (inout DolbyVisionRPU) -> Void) {
            (testDescription, self.reason, self.change) = (name, reason, change)
        }
    }

    private static func changeMapping(_ rpu: inout DolbyVisionRPU, _ body: (inout RPUMapping) -> Void) {
        guard case .coded(var mapping) = rpu.mapping else {
            Issue.record("the RPU refers to another one's mapping")
            return
        }
        body(&mapping)
        rpu.mapping = .coded(mapping)
    }

    static let refused: [Refused] = [
        Refused("profile 7", "enhancement layer") {
            $0.header.sequenceInfo?.depths?.elSpatialResamplingFilterFlag = true
            $0.header.sequenceInfo?.depths?.disableResidualFlag = false
            changeMapping(&$0) { $0.residual = RPUResidual() }
        },
        Refused("a residual in profile 8", "enhancement layer") {
            $0.header.sequenceInfo?.depths?.disableResidualFlag = false
            changeMapping(&$0) { $0.residual = RPUResidual() }
        },
        Refused("an unknown profile", "unknown profile") { $0.header.vdrRPUProfile = 9 },
        Refused("samples of 12 bits", "12 bits") { $0.header.sequenceInfo?.depths?.blBitDepthMinus8 = 4 },
        Refused("pivots beyond the last code", "pivots") {
            changeMapping(&$0) { $0.curves[1].pivots = [1000, 1000] }
        },
        Refused("an infinite coefficient", "out of range") {
            $0.header.sequenceInfo?.coefficients = .float
            changeMapping(&$0) { $0.curves[0].pieces = [.polynomial([0x7F80_0000, 0])] }
        },
        Refused("a coefficient that is no number", "out of range") {
            $0.header.sequenceInfo?.coefficients = .float
            changeMapping(&$0) { $0.curves[0].pieces = [.polynomial([0, 0x7FC0_0000])] }
        },
        Refused("partitions", "partitions") { changeMapping(&$0) { $0.numXPartitionsMinus1 = 1 } },
        Refused("an impossible id", "impossible id") { changeMapping(&$0) { $0.vdrRPUID = 1 << 20 } },
        Refused("another signal than PQ", "signal_eotf") { $0.displayManagement?.color?.signalEOTF = 39322 },
        Refused("no color metadata", "color metadata") { $0.displayManagement = nil },
        Refused("color metadata of an RPU that was not seen", "color metadata") {
            $0.header.sequenceInfo?.depths?.dmCompression = 1
            $0.displayManagement?.color = nil
        },
    ]

    @Test("An RPU that cannot be applied is refused with its reason", arguments: refused)
    func refuses(_ refused: Refused) throws {
        var rpu = try MappingTests.generated(.profile81)
        refused.change(&rpu)
        let nal = try rpu.nalUnit()
        var history = MappingHistory()
        let error = #expect(throws: SessionError.self) { try history.mapping(rpu: nal) }
        #expect(error?.status == .pixelTransferNotSupported && error?.reason.contains(refused.reason) ?? false)
    }

    @Test func damagedRPUsAreRefused() throws {
        let nal = try MappingTests.profile5().nalUnit()
        var history = MappingHistory()
        var refusals = 0
        for index in nal.indices.dropFirst(2) {
            var damaged = nal
            damaged[index] ^= 0x10
            #expect(throws: SessionError.self, "byte \(index)") { try history.mapping(rpu: damaged) }
            #expect(throws: SessionError.self) { try history.mapping(rpu: Array(nal.prefix(index))) }
            refusals += 1
        }
        #expect(refusals > 200)
        #expect(throws: SessionError.self) { try history.mapping(rpu: []) }
    }

    @Test func hostileRPUsWithAMatchingCRCGiveFiniteLightOrAReason() throws {
        let sound = try MappingTests.profile5().rbsp()
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var (applied, refused) = (0, 0)
        for _ in 0..<1500 {
            var rbsp = sound
            for _ in 0...random(4) { rbsp[1 + random(rbsp.count - 6)] ^= 1 << UInt8(random(8)) }
            let crc = CRC32.mpeg2(Array(rbsp[1..<rbsp.count - 5]))
            for index in 0..<4 { rbsp[rbsp.count - 5 + index] = UInt8(truncatingIfNeeded: crc >> (24 - 8 * index)) }
            var history = MappingHistory()
            let nal = try NALUnitHeader(.unspec62).nalUnit(rbsp: rbsp)
            guard let mapping = try? history.mapping(rpu: nal), mapping.bitDepth == 10 else {
                refused += 1
                continue
            }
            applied += 1
            let light = try MappingTests.light(
                Triple(Double(random(1024)), Double(random(1024)), Double(random(1024))), mapping)
            #expect(light.x.isFinite && light.y.isFinite && light.z.isFinite)
            let isFinite = mapping.table.allSatisfy { $0.isFinite }
            #expect(isFinite)
        }
        #expect(applied > 100 && refused > 100)
    }

    @Test("The largest coefficients give finite light", arguments: [false, true])
    func extremeCoefficients(isFloat: Bool) throws {
        var rpu = try MappingTests.profile5()
        let coefficient = isFloat ? Int(Float(0x1p30).bitPattern) : 0x7FFF_FFFF << 23
        rpu.header.sequenceInfo?.coefficients = isFloat ? .float : .fixed(log2Denominator: 23)
        Self.changeMapping(&rpu) { mapping in
            for index in 0..<3 {
                mapping.curves[index] = RPUCurve(
                    pivots: [0, 1023],
                    pieces: [
                        .regression(
                            constant: coefficient,
                            orders: [[Int]](repeating: [Int](repeating: coefficient, count: 7), count: 3))
                    ])
            }
        }
        let light = try MappingTests.light([1023, 1023, 1023], MappingTests.mapping(rpu))
        for component in 0..<3 { #expect(light[component].isFinite) }
    }

    @Test func aMappingNeedsTheDepthAndTheSignalThatItIsFor() throws {
        let mapping = try MappingTests.mapping(MappingTests.generated(.iPhone))
        for (format, signal) in [
            (PixelFormat.nv12, MappingTests.pq), (.rgba8, MappingTests.pq),
            (.i010, SignalDescription(primaries: .bt2020, transfer: .hlg)),
            (.i010, SignalDescription(transfer: .pq)),
        ] {
            let image = ImageDescription(format: format, width: 16, height: 16, signal: signal)
            #expect(throws: SessionError.self) {
                try ConversionPlan(
                    Conversion(source: image, target: image, options: ConversionOptions(mapping: mapping)))
            }
        }
    }
}
