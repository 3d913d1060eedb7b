// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy

/// The properties of a compression session that describe color, as far as the user set them.
struct ColorProperties {
    /// Their keys.
    static let keys: [PropertyKey] = [
        .colorPrimaries, .transferFunction, .yCbCrMatrix, .fullRangeVideo, .chromaLocation,
    ]

    private let primaries: UInt8?
    private let transfer: UInt8?
    private let matrix: UInt8?
    private let isFullRange: Bool?
    private let chromaLocation: UInt8?

    /// Values that the session will refuse count as not set.
    init(_ properties: [PropertyKey: PropertyValue]) {
        func code(_ key: PropertyKey, _ names: [String: UInt8] = [:]) -> UInt8? {
            switch properties[key] {
            case .int(let code)?: UInt8(exactly: code)
            case .string(let name)?: names[name]
            default: nil
            }
        }
        primaries = code(.colorPrimaries, ColorNames.primaries)
        transfer = code(.transferFunction, ColorNames.transfer)
        matrix = code(.yCbCrMatrix, ColorNames.matrix)
        chromaLocation = code(.chromaLocation)
        if case .bool(let value)? = properties[.fullRangeVideo] { isFullRange = value } else { isFullRange = nil }
    }

    /// A color with the properties' values instead of its own.
    func applied(to color: ColorDescription) -> ColorDescription {
        ColorDescription(
            primaries: primaries ?? color.primaries, transfer: transfer ?? color.transfer,
            matrix: matrix ?? color.matrix, isFullRange: isFullRange ?? color.isFullRange,
            chromaLocation: chromaLocation ?? color.chromaLocation)
    }

    /// A source's color, of which the properties describe what it leaves unspecified: there is nothing to convert from.
    func describing(_ color: ColorDescription) -> ColorDescription {
        var described = color
        let unspecified = ColorDescription.unspecified
        if color.primaries == unspecified { described.primaries = primaries ?? unspecified }
        if color.transfer == unspecified { described.transfer = transfer ?? unspecified }
        if color.matrix == unspecified { described.matrix = matrix ?? unspecified }
        described.chromaLocation = color.chromaLocation ?? chromaLocation
        return described
    }
}
