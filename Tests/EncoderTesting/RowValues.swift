// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy

/// Values for the rows of the property table.
public enum RowValues {
    /// Values that a row must accept: the ends of its range, every choice, forms of structured values.
    public static func samples(_ kind: PropertySpec.Kind) -> [PropertyValue] {
        switch kind {
        case .boolean: [.bool(true), .bool(false)]
        case .integer(let range): [.int(range.lowerBound), .int(range.upperBound)]
        case .number(let range): [.double(range.lowerBound), .double(range.upperBound)]
        case .frameRate: [.int(1), .double(29.97), .string("30000/1001"), .int(240)]
        case .choice(let names): names.map(PropertyValue.string)
        case .codePoint(let names): names.keys.map(PropertyValue.string) + [.int(2)]
        case .dataRateLimits: [.array([.int(100_000), .int(1)]), .array([.int(1_000_000), .double(0.5)])]
        case .aspectRatio: [.string("1:1"), .string("4:3"), .string("65535:1")]
        case .aperture: [.string("64x64"), .string("10x12+3+4")]
        case .bytes(let count):
            [.string(String(repeating: "00", count: count)), .string(String(repeating: "1f", count: count))]
        case .text: [.string("")]
        }
    }

    /// Properties that a row's value requires.
    public static func companions(of key: String, _ value: PropertyValue) -> [String: PropertyValue] {
        if key == "BaseLayerBitRateFraction" {
            return [
                "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(60), "AverageBitRate": .int(200_000),
            ]
        }
        guard key == "BaseLayerFrameRate" else { return [:] }
        // The full rate is twice the base rate.
        switch value {
        case .int(let rate): return ["ExpectedFrameRate": .int(2 * rate)]
        case .double(let rate): return ["ExpectedFrameRate": .double(2 * rate)]
        default: return ["ExpectedFrameRate": .string("60000/1001")]
        }
    }

    /// Values that a row must refuse.
    public static func misfits(_ kind: PropertySpec.Kind) -> [PropertyValue] {
        let foreign: [PropertyValue] = [.array([]), .object([:])]
        switch kind {
        case .boolean: return foreign + [.int(1), .string("true")]
        case .integer(let range):
            let beyond = range.upperBound < .max ? [PropertyValue.int(range.upperBound + 1)] : []
            return foreign + beyond + [.int(range.lowerBound - 1), .double(0.5), .string("1")]
        case .number(let range):
            return foreign + [
                .double(range.lowerBound - 0.01), .double(range.upperBound + 0.01), .double(.nan), .string("1"),
            ]
        case .frameRate:
            return foreign + [.int(0), .int(-1), .double(.infinity), .int(1001), .string("x"), .string("1/0")]
        case .choice, .codePoint: return foreign + [.string("no such name"), .int(-1), .int(256)]
        case .dataRateLimits:
            return foreign + [.array([.int(1000)]), .array([.int(-1), .int(1)]), .array([.int(1000), .int(0)])]
        case .aspectRatio: return foreign + [.string("0:1"), .string("1"), .string("1:2:3"), .int(1)]
        case .aperture:
            return foreign + [.string("65x64"), .string("64x64+1+0"), .string("x"), .string("1x1+-1+0")]
        case .bytes(let count):
            return foreign + [.string(String(repeating: "00", count: count + 1)), .string("zz")]
        case .text: return foreign + [.int(1)]
        }
    }
}
