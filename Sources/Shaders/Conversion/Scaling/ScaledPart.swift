// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

extension PixelFormat {
    /// The components of each plane in memory order: 0 is Y' or R, 1 Cb or G, 2 Cr or B, 3 alpha.
    var planeComponents: [[Int]] {
        switch self {
        case .nv12, .p010: [[0], [1, 2]]
        case .yu12, .i010: [[0], [1], [2]]
        case .yuva: [[0], [1], [2], [3]]
        case .rgba8, .rgba16f: [[0, 1, 2, 3]]
        case .bgra8: [[2, 1, 0, 3]]
        case .bgra10, .rgba10, .bgrx10, .rgbx10: []  // a ScalingPlan filters half floats instead
        }
    }

    /// Bits below the value of a sample in a 16-bit word.
    var sampleShift: Int { self == .p010 ? 6 : 0 }
}

/// Components of a scaling that pass from one plane of the source to one of the target.
struct ScaledPart {
    /// The components, in the target's order.
    let components: [Int]
    let sourcePlane: Int
    /// The components of the source's plane.
    let sourceChannels: Int
    /// The source's channel of each component.
    let order: [Int]
    let targetPlane: Int
    /// The components of the target's plane.
    let targetChannels: Int
    /// The target's channel of the first component; others follow.
    let channel: Int

    /// The parts of a scaling; a component that the source lacks, which is alpha, is in none.
    static func parts(of scaling: Scaling) -> [ScaledPart] {
        let from = scaling.source.format.planeComponents
        var parts: [ScaledPart] = []
        for (targetPlane, components) in scaling.target.format.planeComponents.enumerated() {
            if let plane = from.firstIndex(where: { Set($0) == Set(components) }) {
                parts.append(
                    ScaledPart(
                        components: components, sourcePlane: plane, sourceChannels: from[plane].count,
                        order: components.compactMap { from[plane].firstIndex(of: $0) }, targetPlane: targetPlane,
                        targetChannels: components.count, channel: 0))
                continue
            }
            for (channel, component) in components.enumerated() {
                for (plane, others) in from.enumerated() {
                    guard let place = others.firstIndex(of: component) else { continue }
                    parts.append(
                        ScaledPart(
                            components: [component], sourcePlane: plane, sourceChannels: others.count,
                            order: [place], targetPlane: targetPlane, targetChannels: components.count,
                            channel: channel))
                }
            }
        }
        return parts
    }
}

extension Scaling {
    /// Whether the target has samples that no part writes.
    var needsFill: Bool {
        let filled = geometry.filled(isChroma: false)
        return filled.x != 0..<target.width || filled.y != 0..<target.height
            || target.format.hasAlpha && !source.format.hasAlpha
    }

    /// A pixel of opaque black in a plane of the target, as it is in memory.
    func blackPixel(plane: Int) -> [UInt8] {
        target.format.planeComponents[plane].flatMap { component -> [UInt8] in
            let value = black(component)
            if target.format.bytesPerSample == 1 { return [UInt8(value)] }
            let bits =
                target.format == .rgba16f ? Half.bits(value) : UInt16(value) << UInt16(target.format.sampleShift)
            return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
        }
    }
}
