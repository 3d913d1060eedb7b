// SPDX-License-Identifier: GPL-2.0-or-later

/// Colors by a table.
public struct TableLookup: Sendable {
    public let table: CubeTable
    /// The coding of the table's values.
    public let coding: Coding
    /// Whether light above 1 is divided by its largest component before, and multiplied by it after.
    public let scalesHeadroom: Bool

    func apply(_ color: Triple) -> Triple {
        let headroom = scalesHeadroom ? max(1, color.max()) : 1
        var codes = table.value(coding.encode(color / headroom))
        // PQ and HLG have no codes below 0.
        if coding.hasNoNegativeCodes { codes = codes.mapped { max($0, 0) } }
        return coding.decode(codes) * headroom
    }
}

extension CubeTable {
    /// The table's value of a color: linear for each channel, or tetrahedral; colors outside the domain are those at its ends.
    func value(_ color: Triple) -> Triple {
        let scaled = ((color - low) / (high - low)).clamped(lowerBound: .zero, upperBound: .one)
        let position = scaled * Double(size - 1)
        var (base, part) = ((0, 0, 0), Triple.zero)
        func split(_ value: Double) -> (Int, Double) {
            let whole = min(Int(value), size - 2)
            return (whole, value - Double(whole))
        }
        (base.0, part.x) = split(position.x)
        (base.1, part.y) = split(position.y)
        (base.2, part.z) = split(position.z)
        guard isCube else {
            func line(_ index: Int, _ channel: Int) -> Double {
                let (a, b) = (entry(index)[channel], entry(index + 1)[channel])
                return a + part[channel] * (b - a)
            }
            return [line(base.0, 0), line(base.1, 1), line(base.2, 2)]
        }
        // From the corner along the axes, the largest part first.
        var corner = base.0 + size * (base.1 + size * base.2)
        let axes = [(part.x, 1), (part.y, size), (part.z, size * size)].sorted { $0.0 > $1.0 }
        var sum = entry(corner) * (1 - axes[0].0)
        for (index, axis) in axes.enumerated() {
            corner += axis.1
            sum += entry(corner) * (axis.0 - (index < 2 ? axes[index + 1].0 : 0))
        }
        return sum
    }

    private func entry(_ index: Int) -> Triple {
        [Double(values[3 * index]), Double(values[3 * index + 1]), Double(values[3 * index + 2])]
    }
}
