// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.cos
import func Glibc.pow

/// A function as polynomials over segments of its argument, for loops that keep all coefficients in registers.
///
/// y = scale · x + offset, clamped to `low` … `high`, or with `isRooted` the square root of that. Each octave of y has 2^`octaveBits`
/// equal segments; the segment's number is the upper bits of y as a float, modulo the number of segments. t is the position within
/// the segment as a fraction of the octave, 0 … 2^−`octaveBits`, plus 1 − `origin`. The polynomial's value is squared `Form.squares`
/// times: a root of a steep function is less steep and easier to fit.
public struct CurveFit: Sendable {
    /// The shape of a fit.
    public struct Form: Hashable, Sendable {
        /// Segments, a power of two.
        public var segments: Int
        /// Bits of the number of segments in an octave.
        public var octaveBits: Int
        /// The polynomials' degree.
        public var degree: Int
        /// Whether t is above 1, which saves a subtraction and is precise enough for short segments.
        public var isShifted: Bool
        /// How the polynomial's value is squared; nil where it is not.
        public var squaring: Squaring?

        /// Squarings of the polynomial's value, and numbers tuned for PQ, by which the errors of all segments are about equal.
        public struct Squaring: Hashable, Sendable {
            /// How often the value is squared, 1 or 2.
            public var count: Int
            /// The part of the first segment that is before the least argument.
            var unusedStart: Double
            /// The part of the last segment that is up to the largest argument.
            var usedEnd: Double
            /// Moves the nodes of the interpolation towards a segment's beginning (above 1) or end (below 1).
            var nodeExponent: Double
        }

        /// Creates a form.
        public init(segments: Int, octaveBits: Int, degree: Int, isShifted: Bool, squaring: Squaring? = nil) {
            self.segments = segments
            self.octaveBits = octaveBits
            self.degree = degree
            self.isShifted = isShifted
            self.squaring = squaring
        }

        /// How often the polynomial's value is squared.
        public var squares: Int { squaring?.count ?? 0 }

        /// The root of a value that the polynomial approximates.
        fileprivate func root(_ value: Double) -> Double {
            squares == 0 ? value : pow(value, 1 / Double(1 << squares))
        }

        /// Moves the nodes towards a segment's beginning: the allowed error is relative, so it is smallest there.
        fileprivate var nodeExponent: Double { squaring?.nodeExponent ?? 1.2 }

        /// Where segment `index` begins if segment 0 begins at 1.
        fileprivate func edge(_ index: Int) -> Double {
            let step = Double(index & (1 << octaveBits - 1)) / Double(1 << octaveBits)
            return Double(sign: .plus, exponent: index >> octaveBits, significand: 1 + step)
        }
    }

    /// How x becomes y.
    struct Argument {
        var scale = 1.0
        var offset = 0.0
        var isRooted = false

        /// x of y.
        func inverse(_ y: Double) -> Double { max(((isRooted ? y * y : y) - offset) / scale, 0) }
    }

    /// The shape.
    public let form: Form
    /// A row of a coefficient for each segment, by power, the constants first.
    public let factors: [Float]
    /// The factor on x.
    public let scale: Float
    /// What is added to it.
    public let offset: Float
    /// The least value of scale · x + offset.
    public let low: Float
    /// The largest.
    public let high: Float
    /// Whether y is a square root.
    public let isRooted: Bool
    /// The largest measured error in multiples of what is allowed.
    public let error: Double

    /// What is subtracted from t, 0 or 1.
    public var origin: Float { form.isShifted ? 0 : 1 }
    /// Bits of y below a segment's number.
    public var shift: Int { 23 - form.octaveBits }

    /// Fits a function of x ≥ 0 by interpolation at Chebyshev nodes, and measures the error between them in fp32.
    ///
    /// - Parameter first: The number of the first segment, 0 for one that begins at y = 1.
    /// - Parameter limit: The largest x.
    /// - Parameter allowed: The error that is allowed at a value.
    init(
        _ form: Form, first: Int, _ argument: Argument, limit: Double, allowed: (Double) -> Double,
        _ function: (Double) -> Double
    ) {
        self.form = form
        (scale, offset, isRooted) = (Float(argument.scale), Float(argument.offset), argument.isRooted)
        // The argument as fp32 has it.
        let own = Argument(scale: Double(scale), offset: Double(offset), isRooted: isRooted)
        let (start, end) = (form.edge(first), form.edge(first + form.segments))
        let begin = max(start, isRooted ? 0 : own.offset)
        let top = isRooted ? end * end : end
        low = Float(isRooted ? begin * begin : begin)
        high = min(Float(top).nextDown, Float(own.scale * limit + own.offset))
        // As loops compute it.
        let last = Double(isRooted ? high.squareRoot() : high)
        var factors = [Float](repeating: 0, count: (form.degree + 1) * form.segments)
        var worst = 0.0
        for index in first..<first + form.segments {
            let (edge, next) = (form.edge(index), form.edge(index + 1))
            guard next > begin, edge <= last else { continue }
            // A segment that begins at the last argument holds only that point; its whole length is fitted, because interpolation
            // needs an interval.
            let segment = Segment(
                edge: edge, from: max(edge, begin), to: edge < last ? min(next, last) : next,
                origin: form.isShifted ? 0 : 1)
            let numbers = segment.interpolate(form) { form.root(function(own.inverse($0))) }
            // 127 is the exponent's bias.
            let column = (index + (127 << form.octaveBits)) & (form.segments - 1)
            for power in numbers.indices { factors[power * form.segments + column] = numbers[power] }
            let largest = Double(high)
            worst = max(
                worst,
                segment.error(of: numbers, points: 6 * form.degree + 1, squares: form.squares) { y in
                    guard (own.isRooted ? y * y : y) <= largest else { return nil }
                    let value = function(own.inverse(y))
                    return (value, allowed(value))
                })
        }
        self.factors = factors
        error = worst
    }
}

/// A segment of y and the polynomial's variable on it.
private struct Segment {
    /// The segment's beginning, and the part of it that is used.
    let edge, from, to: Double
    let origin: Double

    /// The power of two below `edge`.
    private var octave: Double { Double(sign: .plus, exponent: edge.exponent, significand: 1) }

    private func variable(_ y: Double) -> Double { (y - edge) / octave + 1 - origin }

    /// The coefficients of the polynomial through the Chebyshev nodes.
    func interpolate(_ form: CurveFit.Form, _ function: (Double) -> Double) -> [Float] {
        let nodes = CurveFit.nodes(form.degree + 1).map { node in
            let y = from + (to - from) * pow(node, form.nodeExponent)
            return (place: variable(y), value: function(y))
        }
        return CurveFit.polynomial(through: nodes).map { Float($0) }
    }

    /// The largest error at points that are closer together where the segment begins, in multiples of what is allowed there.
    ///
    /// - Parameter wanted: The value and the allowed error at y; nil outside of the arguments.
    func error(
        of factors: [Float], points: Int, squares: Int, _ wanted: (Double) -> (value: Double, allowed: Double)?
    ) -> Double {
        var worst = 0.0
        for point in 0..<points {
            let part = Double(point) / Double(points - 1)
            let y = Double(Float(from + (to - from) * part * part))
            guard let (exact, allowed) = wanted(y) else { continue }
            let place = Float(variable(y))
            var value = factors.dropLast().reversed().reduce(factors[factors.count - 1]) {
                $1.addingProduct($0, place)
            }
            for _ in 0..<squares { value *= value }
            let error = abs(Double(value) - exact) / allowed
            guard error.isFinite else { return .infinity }
            worst = max(worst, error)
        }
        return worst
    }
}

extension CurveFit {
    /// Chebyshev nodes of the interval 0 … 1.
    fileprivate static func nodes(_ count: Int) -> [Double] {
        (0..<count).map { 0.5 - 0.5 * cos(.pi * (Double($0) + 0.5) / Double(count)) }
    }

    /// The coefficients of the polynomial through some points, constants first.
    fileprivate static func polynomial(through nodes: [(place: Double, value: Double)]) -> [Double] {
        let (count, places) = (nodes.count, nodes.map(\.place))
        var values = nodes.map(\.value)
        // Newton's divided differences, then powers of the variable.
        for order in 1..<count {
            for index in stride(from: count - 1, through: order, by: -1) {
                values[index] = (values[index] - values[index - 1]) / (places[index] - places[index - order])
            }
        }
        var factors = [Double](repeating: 0, count: count)
        for index in stride(from: count - 1, through: 0, by: -1) {
            for power in stride(from: count - 1, to: 0, by: -1) {
                factors[power] = factors[power - 1] - places[index] * factors[power]
            }
            factors[0] = values[index] - places[index] * factors[0]
        }
        return factors
    }

    /// The coefficients of a polynomial that interpolates a function at the interval's Chebyshev nodes, constants first.
    public static func polynomial(
        degree: Int, from: Double, to: Double, _ function: (Double) -> Double
    ) -> [Double] {
        polynomial(
            through: nodes(degree + 1).map { node in
                let place = from + (to - from) * node
                return (place, function(place))
            })
    }

    /// The first of some forms by which PQ's light can be fitted to a tenth of a half float's unit; nil if there is none.
    ///
    /// - Parameter scale: the factor on light before PQ.
    public static func lightOfPQ(scale: Double, _ forms: [Form]) -> CurveFit? {
        for form in forms {
            let fit = CurveFit(form, limit: 1, kink: nil, allowed: { 0.1 * max($0 * 0x1p-11, 0x1p-26) }) {
                TransferFunction.pq.decode($0) / scale
            }
            if fit.error <= 1 { return fit }
        }
        return nil
    }

    /// Fits a function on 0…`limit` by the segments of a few octaves, which are shorter towards 0.
    ///
    /// - Parameter kink: Where pieces of the function meet: a segment's edge is moved there.
    init(
        _ form: Form, limit: Double, kink: Double?, allowed: (Double) -> Double, _ function: (Double) -> Double
    ) {
        // The last segment of an octave comes first: the least segment at 0 for the same at the limit.
        let first = 1 << form.octaveBits - 1
        var (start, end) = (form.edge(first), form.edge(first + form.segments))
        if let squaring = form.squaring {
            start += squaring.unusedStart * (form.edge(first + 1) - start)
            end -= (1 - squaring.usedEnd) * (end - form.edge(first + form.segments - 1))
        }
        var offset = start
        if let kink {
            let part = kink / limit
            let offsets = (1..<form.segments).map { (form.edge(first + $0) - part * end) / (1 - part) }
            offset = offsets.first { $0 >= start } ?? start
        }
        self.init(
            form, first: first, Argument(scale: (end - offset) / limit, offset: offset), limit: limit,
            allowed: allowed, function)
    }

    /// Fits a function by octaves of its argument's square root, down from `limit`.
    ///
    /// - Parameter kink: Where pieces of the function meet: an octave begins there.
    init(
        rootOf form: Form, limit: Double, kink: Double?, allowed: (Double) -> Double,
        _ function: (Double) -> Double
    ) {
        var scale = 1.0
        if let kink {
            let root = kink.squareRoot()
            scale = pow(Double(sign: .plus, exponent: root.exponent + 1, significand: 1) / root, 2)
        }
        let octaves = Int((scale * limit).squareRoot().exponent) + 1
        self.init(
            form, first: octaves << form.octaveBits - form.segments, Argument(scale: scale, isRooted: true),
            limit: limit, allowed: allowed, function)
    }

    /// The least argument that is not clamped, where y is not offset.
    var lowest: Double { Double(low) / Double(scale) }
}
