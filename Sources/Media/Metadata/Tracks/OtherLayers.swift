// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Layers of an HEVC stream that no decoder of this project returns.
package enum OtherLayers {
    /// What the layers are, for a message; nil where there is none beside the base and an alpha layer.
    ///
    /// - Parameters:
    ///   - nalUnits: of the format description.
    ///   - hasLayeredRecord: whether the sample entry has `lhvC`, the record of further layers (ISO/IEC 14496-15 9.5.3).
    package static func name(_ nalUnits: [[UInt8]], hasLayeredRecord: Bool) -> String? {
        let layers = nalUnits.lazy.compactMap { try? VideoParameterSet(nal: $0) }
            .compactMap { try? $0.multilayerExtension() }.first
        guard let layers else { return hasLayeredRecord ? "second view or layer (lhvC)" : nil }
        let others = layers.layers.indices.dropFirst().filter {
            layers.scalabilityId(.auxiliary, ofLayer: $0) != VPSExtension.alphaAuxId
        }
        if others.contains(where: { layers.scalabilityId(.view, ofLayer: $0) != 0 }) {
            return "second view (MV-HEVC)"
        }
        return others.isEmpty ? nil : "second layer (scalable or 3D HEVC)"
    }
}
