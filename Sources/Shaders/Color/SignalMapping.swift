// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A nonlinear mapping of Y'CbCr codes to PQ, and of its light to BT.2020: the composer of a Dolby Vision RPU without an
/// enhancement layer, and the RPU's color metadata (ETSI GS CCM 001).
///
/// Each component is mapped by its own curve. R'G'B' (L'M'S' in profile 5) is an affine function of the three mapped
/// values; after the EOTF of PQ a matrix converts light to BT.2020.
public struct SignalMapping: Hashable, Sendable {
    /// The function of a component between two pivots; x and the results are codes divided by the largest code.
    public enum Piece: Hashable, Sendable {
        /// c0 + c1 x + c2 x²; two or three coefficients.
        case polynomial([Double])
        /// constant + Σ (y, u, v, yu, yv, uv, yuv)^order · coefficients; one to three orders of seven coefficients.
        case regression(constant: Double, orders: [[Double]])
    }

    /// The curve of a component.
    public struct Curve: Hashable, Sendable {
        /// The codes where pieces begin, and where the last one ends; one more than pieces.
        ///
        /// Codes outside are mapped like the nearest pivot.
        public var pivots: [Int]
        /// One to eight pieces.
        public var pieces: [Piece]

        /// Creates a curve, which `SignalMapping` checks.
        public init(pivots: [Int], pieces: [Piece]) {
            self.pivots = pivots
            self.pieces = pieces
        }
    }

    /// Bits of a source's sample.
    public let bitDepth: Int
    /// The curves of Y', Cb and Cr.
    public let curves: [Curve]
    /// Mapped values of 0…1 to nonlinear R'G'B' or L'M'S'.
    public let toRGB: Affine
    /// Light of that to light of BT.2020.
    public let light: Matrix3
    /// The peak of the mapped picture in cd/m², 1…10000; nil where it is not known.
    public let peak: Double?

    /// The most pieces of a curve.
    public static let maxPieces = 8
    /// The most orders of a regression.
    public static let maxOrders = 3
    /// Terms of an order of a regression.
    static let termCount = 7
    /// The bound of coefficients, which keeps all sums finite in fp32.
    private static let maxCoefficient = 0x1p31

    /// Checks and creates a mapping.
    ///
    /// - Throws: `PixelTransferNotSupported` for pivots, pieces or coefficients that are impossible.
    public init(
        bitDepth: Int, curves: [Curve], toRGB: Affine, light: Matrix3, peak: Double? = nil
    ) throws(SessionError) {
        guard bitDepth == 8 || bitDepth == 10 else {
            throw Self.refusal("it is for samples of \(bitDepth) bits; 8 and 10 are supported")
        }
        guard curves.count == 3 else { throw Self.refusal("it has \(curves.count) curves, not 3") }
        for curve in curves { try Self.check(curve, top: 1 << bitDepth - 1) }
        self.bitDepth = bitDepth
        self.curves = curves
        self.toRGB = toRGB
        self.light = light
        self.peak = peak.flatMap { (1...10000).contains($0) ? $0 : nil }
    }

    private static func check(_ curve: Curve, top: Int) throws(SessionError) {
        guard (1...maxPieces).contains(curve.pieces.count), curve.pivots.count == curve.pieces.count + 1 else {
            throw refusal("a curve has \(curve.pieces.count) pieces and \(curve.pivots.count) pivots")
        }
        guard zip(curve.pivots, curve.pivots.dropFirst()).allSatisfy(<=),
            let first = curve.pivots.first, let last = curve.pivots.last, first >= 0, last <= top
        else { throw refusal("the pivots \(curve.pivots) do not rise from 0 to \(top) at most") }
        for piece in curve.pieces {
            let coefficients: [Double]
            switch piece {
            case .polynomial(let values):
                guard (2...3).contains(values.count) else {
                    throw refusal("a polynomial has \(values.count) coefficients")
                }
                coefficients = values
            case .regression(let constant, let orders):
                guard (1...maxOrders).contains(orders.count), orders.allSatisfy({ $0.count == termCount }) else {
                    throw refusal("a regression has \(orders.map(\.count)) coefficients")
                }
                coefficients = [constant] + orders.joined()
            }
            guard coefficients.allSatisfy({ $0.magnitude <= maxCoefficient }) else {
                throw refusal("a coefficient is out of range")
            }
        }
    }

    /// Checks that the mapping is for samples of a format.
    ///
    /// - Throws: `PixelTransferNotSupported` for RGB and for another depth.
    public func check(_ format: PixelFormat) throws(SessionError) {
        guard format.isYCbCr, format.bitDepth == bitDepth else {
            throw Self.refusal("it is for Y'CbCr of \(bitDepth) bits, not for \(format.rawValue)")
        }
    }

    static func refusal(_ reason: String) -> SessionError {
        SessionError(.pixelTransferNotSupported, "the mapping is not applied: \(reason)")
    }

    /// The largest code.
    var top: Double { Double(1 << bitDepth) - 1 }

    /// The mapped values of a pixel's codes, 0…1.
    public func map(_ codes: Triple) -> Triple {
        let signal = (codes / top).clamped(lowerBound: .zero, upperBound: .one)
        let products: [Double] = [
            signal.x, signal.y, signal.z, signal.x * signal.y, signal.x * signal.z, signal.y * signal.z,
            signal.x * signal.y * signal.z,
        ]
        var mapped = Triple.zero
        for component in 0..<3 {
            let curve = curves[component]
            let (first, last) = (Double(curve.pivots.first ?? 0), Double(curve.pivots.last ?? 0))
            let code = min(max(codes[component], first), last)
            let index = curve.pieces.indices.last { code >= Double(curve.pivots[$0]) } ?? 0
            let value = curve.pieces[index].value(code / top, products)
            mapped[component] = min(max(value, 0), 1)
        }
        return mapped
    }
}

extension SignalMapping.Piece {
    fileprivate func value(_ x: Double, _ products: [Double]) -> Double {
        switch self {
        case .polynomial(let values): return values.reversed().reduce(0) { $0 * x + $1 }
        case .regression(let constant, let orders):
            var (sum, powers) = (constant, products)
            for coefficients in orders {
                for index in powers.indices { sum += coefficients[index] * powers[index] }
                powers = zip(powers, products).map { $0 * $1 }
            }
            return sum
        }
    }
}

extension SignalMapping {
    /// Numbers of a piece in `table`: where it begins in codes, its number of orders (0 for a polynomial), its constant, a 0,
    /// then for each of three orders the coefficients of y, u, v, a 0, and those of yu, yv, uv, yuv.
    ///
    /// The first two of a polynomial are the coefficients of x and x².
    static let pieceSize = 28
    /// Numbers of a curve: its number of pieces, its first and last pivot, a 0, and eight pieces.
    static let curveSize = 4 + maxPieces * pieceSize
    /// Numbers of `table`.
    public static let tableSize = 3 * curveSize + 12

    /// The mapping for loops and shaders: the three curves, then the rows of `light`, each followed by a 0.
    ///
    /// `toRGB` is the plan's `decode`.
    public var table: [Float] {
        var table: [Float] = []
        table.reserveCapacity(Self.tableSize)
        for curve in curves {
            table += [Float(curve.pieces.count), Float(curve.pivots.first ?? 0), Float(curve.pivots.last ?? 0), 0]
            for index in 0..<Self.maxPieces {
                var numbers: [Double] = []
                if index < curve.pieces.count {
                    switch curve.pieces[index] {
                    case .polynomial(let values):
                        numbers = [Double(curve.pivots[index]), 0, values[0], 0] + values.dropFirst()
                    case .regression(let constant, let orders):
                        numbers = [Double(curve.pivots[index]), Double(orders.count), constant, 0]
                        for order in orders { numbers += order[..<3] + [0] + order[3...] }
                    }
                }
                table += numbers.map { Float($0) } + [Float](repeating: 0, count: Self.pieceSize - numbers.count)
            }
        }
        let rows = light.rows
        for row in [rows.0, rows.1, rows.2] { table += [Float(row.x), Float(row.y), Float(row.z), 0] }
        return table
    }
}
