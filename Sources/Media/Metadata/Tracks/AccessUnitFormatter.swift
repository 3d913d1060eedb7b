// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
package import HWDHEVC

/// Writes access units in the form of an output: behind start codes (H.265 Annex B) or lengths of four bytes, with parameter
/// sets where the output needs them.
package struct AccessUnitFormatter: Sendable {
    private let hasStartCodes: Bool
    private let repeatsUpperLayers: Bool
    private var parameterSets: [UInt8]
    /// The parameter sets of the layers above the base that the container's record does not have.
    private var upperSets: [UInt8] = []
    /// Whether the parameter sets precede the next access unit, even if decoding cannot start with it.
    private var isChanged = false
    package private(set) var bytes: [UInt8] = []

    /// - Parameter hasStartCodes: whether NAL units are behind start codes; parameter sets then precede each access unit with
    ///   which decoding can start. Elsewhere they are in the container's record until they change.
    /// - Parameter repeatsUpperLayers: whether the container's record has those of the base layer alone; the others then precede
    ///   their layers in access units with which decoding can start.
    package init(hasStartCodes: Bool, repeatsUpperLayers: Bool = false, _ record: DecoderConfigurationRecord) {
        self.hasStartCodes = hasStartCodes
        self.repeatsUpperLayers = repeatsUpperLayers && !hasStartCodes
        parameterSets = Self.parameterSets(record, hasStartCodes)
        if self.repeatsUpperLayers { upperSets = Self.upperSets(record) }
    }

    /// Changes the parameter sets from the next access unit on.
    package mutating func change(to record: DecoderConfigurationRecord) {
        parameterSets = Self.parameterSets(record, hasStartCodes)
        if repeatsUpperLayers { upperSets = Self.upperSets(record) }
        isChanged = true
    }

    /// The parameter sets behind start codes.
    package static func parameterSets(_ record: DecoderConfigurationRecord) -> [UInt8] {
        parameterSets(record, true)
    }

    private static func parameterSets(_ record: DecoderConfigurationRecord, _ hasStartCodes: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in record.nalUnits { append(unit[...], to: &bytes, hasStartCodes) }
        return bytes
    }

    private static func upperSets(_ record: DecoderConfigurationRecord) -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in record.nalUnits where (try? NALUnitHeader(nal: unit))?.nuhLayerId ?? 0 > 0 {
            append(unit[...], to: &bytes, false)
        }
        return bytes
    }

    private static func append(_ unit: ArraySlice<UInt8>, to bytes: inout [UInt8], _ hasStartCodes: Bool) {
        guard !hasStartCodes else { return AnnexB.append(unit, to: &bytes) }
        bytes.appendBigEndian(UInt32(clamping: unit.count))
        bytes += unit
    }

    /// Whether parameter sets of layers above the base are in samples.
    package var writesUpperSets: Bool { !upperSets.isEmpty }

    /// Whether an access unit's length-prefixed bytes can be written as they are.
    package func keepsBytes(isSync: Bool) -> Bool {
        !hasStartCodes && !isChanged && (upperSets.isEmpty || !isSync)
    }

    /// Puts one access unit, whose NAL units have 4-byte lengths, into `bytes`.
    /// - Throws: `usage` for lengths that do not match the access unit.
    package mutating func format(_ accessUnit: UnsafeRawBufferPointer, isSync: Bool) throws(MediaError) {
        bytes.removeAll(keepingCapacity: true)
        do throws(BitstreamError) {
            var needsSets = hasStartCodes && isSync || isChanged
            var needsUpperSets = isSync
            isChanged = false
            var units = try unsafe LengthPrefixedNALUnits(Array(accessUnit)[...])
            while let unit = try units.next() {
                let header = try NALUnitHeader(nal: unit)
                let type = header.nalUnitType
                // H.265 7.4.2.4.4: a delimiter precedes the parameter sets.
                if needsSets, type != .aud {
                    if type != .vps {
                        bytes += parameterSets
                        needsUpperSets = false
                    }
                    needsSets = false
                }
                if needsUpperSets, header.nuhLayerId > 0 {
                    if !type.isParameterSet { bytes += upperSets }
                    needsUpperSets = false
                }
                Self.append(unit, to: &bytes, hasStartCodes)
            }
        } catch {
            throw MediaError(.usage, "an access unit is damaged: \(error.reason)")
        }
    }
}
