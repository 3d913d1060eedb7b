// SPDX-License-Identifier: GPL-2.0-or-later
import HWDHEVC
import HWDModel
import Testing

@testable import HWDMetadata

/// Access units of streams with a layer above the base, in containers whose records have all parameter sets or the base's alone.
@Suite struct AccessUnitFormatterTests {
    private static func unit(_ type: NALUnitType, _ layer: Int, _ body: UInt8) -> [UInt8] {
        [type.rawValue << 1 | UInt8(layer >> 5), UInt8(layer << 3 & 255) | 1, body]
    }

    private static let sets = [unit(.vps, 0, 1), unit(.sps, 0, 2), unit(.pps, 0, 3)]
    private static let upper = [unit(.sps, 1, 4), unit(.pps, 1, 5)]
    private static let (base, alpha) = (unit(.idrNLP, 0, 6), unit(.idrNLP, 1, 7))
    private static let delimiter = unit(.aud, 0, 0x50)

    private static let record: DecoderConfigurationRecord = {
        var record = DecoderConfigurationRecord()
        let units: [(NALUnitType, [[UInt8]])] = [
            (.vps, [sets[0]]), (.sps, [sets[1], upper[0]]), (.pps, [sets[2], upper[1]]),
        ]
        record.arrays = units.map { type, units in
            DecoderConfigurationRecord.NALArray(arrayCompleteness: true, nalUnitType: type, nalUnits: units)
        }
        return record
    }()

    private static func joined(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, UInt8($0.count)] + $0 } }

    /// The access unit that a formatter makes.
    private func written(
        _ units: [[UInt8]], isSync: Bool = true, isChanged: Bool = false, repeatsUpperLayers: Bool = true
    ) throws -> [UInt8] {
        var formatter = AccessUnitFormatter(
            hasStartCodes: false, repeatsUpperLayers: repeatsUpperLayers, Self.record)
        if isChanged { formatter.change(to: Self.record) }
        let bytes = Self.joined(units)
        if formatter.keepsBytes(isSync: isSync) { return bytes }
        var failure: MediaError?
        bytes.withUnsafeBytes { unit in
            do throws(MediaError) { try formatter.format(unit, isSync: isSync) } catch { failure = error }
        }
        if let failure { throw failure }
        return formatter.bytes
    }

    @Test func upperSetsPrecedeTheirLayer() throws {
        let picture = [Self.delimiter, Self.base, Self.alpha]
        let expected = Self.joined([Self.delimiter, Self.base] + Self.upper + [Self.alpha])
        #expect(try written(picture) == expected)
        #expect(try written(picture, isSync: false) == Self.joined(picture))
        #expect(try written(picture, repeatsUpperLayers: false) == Self.joined(picture))
        // Without the layer they are not needed.
        #expect(try written([Self.delimiter, Self.base]) == Self.joined([Self.delimiter, Self.base]))
    }

    @Test func setsThatAreThereAreNotRepeated() throws {
        let own = [Self.delimiter] + Self.sets + [Self.base] + Self.upper + [Self.alpha]
        #expect(try written(own) == Self.joined(own))
        #expect(try written(own, isChanged: true) == Self.joined(own))
    }

    @Test func changedSetsPrecedeThePicture() throws {
        let picture = [Self.delimiter, Self.base, Self.alpha]
        let all = Self.record.nalUnits
        #expect(
            try written(picture, isChanged: true)
                == Self.joined([Self.delimiter] + all + [Self.base, Self.alpha]))
        // Sets of the base alone leave out those of the layer above.
        let half = [Self.delimiter] + Self.sets + [Self.base, Self.alpha]
        #expect(
            try written(half, isChanged: true)
                == Self.joined([Self.delimiter] + Self.sets + [Self.base] + Self.upper + [Self.alpha]))
    }
}
