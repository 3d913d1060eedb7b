// SPDX-License-Identifier: MIT

/// Where a picture's mapping is.
public enum RPUMappingSource: Hashable, Sendable {
    /// In an earlier RPU: the last mapping with this `prev_vdr_rpu_id`.
    case previous(id: Int)
    /// In this RPU.
    case coded(RPUMapping)

    mutating func code(_ c: inout some SyntaxCoder, _ header: RPUHeader) throws(BitstreamError) {
        var (id, mapping) = (0, RPUMapping())
        var usesPrevious = false
        switch self {
        case .previous(let previous): (usesPrevious, id) = (true, previous)
        case .coded(let coded): mapping = coded
        }
        try c.flag("use_prev_vdr_rpu_flag", &usesPrevious)
        if usesPrevious {
            try c.ue("prev_vdr_rpu_id", &id)
            self = .previous(id: id)
        } else {
            guard let info = header.sequenceInfo, let depths = info.depths else {
                throw BitstreamError(.unsupported, "an RPU's mapping without bit depths is not interpreted")
            }
            try mapping.code(&c, info.coefficients, depths)
            self = .coded(mapping)
        }
    }
}

/// `vdr_rpu_data_payload()`: how base layer code values become PQ code values, one curve for each component.
public struct RPUMapping: Hashable, Sendable {
    public var vdrRPUID = 0
    public var mappingColorSpace = 0
    public var mappingChromaFormatIdc = 0
    /// Y, Cb, Cr.
    public var curves = [RPUCurve](repeating: RPUCurve(), count: 3)
    public var numXPartitionsMinus1 = 0
    public var numYPartitionsMinus1 = 0
    /// The enhancement layer's dequantization; nil without a residual.
    public var residual: RPUResidual?

    public init() {}

    mutating func code(
        _ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat, _ depths: RPUDepths
    ) throws(BitstreamError) {
        try c.ue("vdr_rpu_id", &vdrRPUID)
        try c.ue("mapping_color_space", &mappingColorSpace)
        try c.ue("mapping_chroma_format_idc", &mappingChromaFormatIdc)
        let depth = depths.blBitDepthMinus8 + 8
        try c.size("curves", &curves, 3, RPUCurve())
        for index in curves.indices { try curves[index].codePivots(&c, depth) }
        if c.isReading { residual = depths.disableResidualFlag ? nil : RPUResidual() }
        guard (residual == nil) == depths.disableResidualFlag else {
            throw BitstreamError(.malformed, "the mapping's residual contradicts disable_residual_flag")
        }
        try residual?.codePivots(&c, depth)
        try c.ue("num_x_partitions_minus1", &numXPartitionsMinus1)
        try c.ue("num_y_partitions_minus1", &numYPartitionsMinus1)
        for index in curves.indices { try curves[index].codePieces(&c, format) }
        try residual?.codeParameters(&c, format, depths.elBitDepthMinus8 + 8)
    }
}

/// The curve of one component: pieces between pivots.
public struct RPUCurve: Hashable, Sendable {
    /// The first pivot and the differences between each and the next, as base layer code values; one more than pieces, 2…9.
    public var pivots = [0, 1023]
    public var pieces = [RPUPiece.polynomial([0, 0])]

    public init() {}

    public init(pivots: [Int], pieces: [RPUPiece]) {
        self.pivots = pivots
        self.pieces = pieces
    }

    mutating func codePivots(_ c: inout some SyntaxCoder, _ depth: Int) throws(BitstreamError) {
        var count = pivots.count - 2
        try c.ue("num_pivots_minus2", &count, 0...7)
        try c.size("pred_pivot_value", &pivots, count + 2, 0)
        for index in pivots.indices { try c.u("pred_pivot_value", depth, &pivots[index]) }
    }

    mutating func codePieces(_ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat) throws(BitstreamError) {
        try c.size("pieces", &pieces, pivots.count - 1, .polynomial([0, 0]))
        for index in pieces.indices { try pieces[index].code(&c, format) }
    }
}

/// One piece of a curve; coefficients are in the header's format.
public enum RPUPiece: Hashable, Sendable {
    /// The coefficients of x⁰, x¹ and, in order 2, x².
    case polynomial([Int])
    /// Multivariate multiple regression: a constant, and 7 coefficients for each of 1 to 3 orders.
    case regression(constant: Int, orders: [[Int]])

    mutating func code(_ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat) throws(BitstreamError) {
        var method = 0
        if case .regression = self { method = 1 }
        try c.ue("mapping_idc", &method, 0...1)
        if method == 0 {
            try codePolynomial(&c, format)
        } else {
            try codeRegression(&c, format)
        }
    }

    private mutating func codePolynomial(
        _ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat
    ) throws(BitstreamError) {
        var coefficients = [0, 0]
        if case .polynomial(let values) = self { coefficients = values }
        var order = coefficients.count - 2
        try c.ue("poly_order_minus1", &order, 0...1)
        // A linear interpolation has another syntax, which no known RPU uses.
        if order == 0 { try c.constant("linear_interp_flag", 1, 0) }
        try c.size("poly_coef", &coefficients, order + 2, 0)
        for index in coefficients.indices { try format.code(&c, "poly_coef", &coefficients[index]) }
        self = .polynomial(coefficients)
    }

    private mutating func codeRegression(
        _ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat
    ) throws(BitstreamError) {
        var (constant, orders) = (0, [[Int]](repeating: [], count: 1))
        if case .regression(let value, let values) = self { (constant, orders) = (value, values) }
        var order = orders.count - 1
        try c.u("mmr_order_minus1", 2, &order, 0...2)
        try format.code(&c, "mmr_constant", &constant)
        try c.size("mmr_coef", &orders, order + 1, [])
        for index in orders.indices {
            try c.size("mmr_coef", &orders[index], 7, 0)
            for place in 0..<7 { try format.code(&c, "mmr_coef", &orders[index][place]) }
        }
        self = .regression(constant: constant, orders: orders)
    }
}

/// The non-linear dequantization of an enhancement layer (`nlq_…`), of method 0, linear with a dead zone.
public struct RPUResidual: Hashable, Sendable {
    /// Two, as base layer code values.
    public var pivots = [0, 0]
    /// One for each component.
    public var components = [Component](repeating: Component(), count: 3)

    /// One component's parameters.
    public struct Component: Hashable, Sendable {
        /// As an enhancement layer code value.
        public var offset = 0
        /// In the header's coefficient format, as the next two.
        public var vdrInMax = 0
        public var linearDeadzoneSlope = 0
        public var linearDeadzoneThreshold = 0
        public init() {}
    }

    public init() {}

    mutating func codePivots(_ c: inout some SyntaxCoder, _ depth: Int) throws(BitstreamError) {
        try c.constant("nlq_method_idc", 3, 0)
        try c.size("nlq_pred_pivot_value", &pivots, 2, 0)
        for index in pivots.indices { try c.u("nlq_pred_pivot_value", depth, &pivots[index]) }
    }

    mutating func codeParameters(
        _ c: inout some SyntaxCoder, _ format: RPUCoefficientFormat, _ depth: Int
    ) throws(BitstreamError) {
        try c.size("nlq components", &components, 3, Component())
        for index in components.indices {
            try c.u("nlq_offset", depth, &components[index].offset)
            try format.code(&c, "vdr_in_max", &components[index].vdrInMax, isSigned: false)
            try format.code(&c, "linear_deadzone_slope", &components[index].linearDeadzoneSlope, isSigned: false)
            try format.code(
                &c, "linear_deadzone_threshold", &components[index].linearDeadzoneThreshold, isSigned: false)
        }
    }
}
