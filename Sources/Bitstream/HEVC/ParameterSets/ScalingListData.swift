// SPDX-License-Identifier: MIT

/// One scaling list as it is coded (7.3.4).
public struct ScalingList: Hashable, Sendable {
    /// `scaling_list_pred_matrix_id_delta`, 0 for the default list; nil when the list is coded explicitly.
    public var predMatrixIdDelta: Int? = 0
    /// `scaling_list_dc_coef_minus8`, −7…247, for 16×16 and 32×32.
    public var dcCoefMinus8 = 0
    /// −128…127 each: 16 of them for 4×4, otherwise 64.
    public var deltaCoef: [Int] = []

    /// The default list: predicted with delta 0.
    public init() {}
}

/// `scaling_list_data()` (7.3.4).
public struct ScalingListData: Hashable, Sendable {
    /// The lists by sizeId (4×4, 8×8, 16×16, 32×32) and matrixId: six each, but two (0 and 3) for 32×32.
    public var lists: [[ScalingList]] = (0..<4).map { Array(repeating: ScalingList(), count: $0 == 3 ? 2 : 6) }

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.size("scaling lists", &lists, 4, [])
        for sizeId in 0..<4 {
            let step = sizeId == 3 ? 3 : 1
            try c.size("scaling lists", &lists[sizeId], 6 / step, ScalingList())
            for index in lists[sizeId].indices {
                try lists[sizeId][index].code(&c, sizeId: sizeId, maxDelta: index)
            }
        }
    }
}

extension ScalingList {
    mutating func code(_ c: inout some SyntaxCoder, sizeId: Int, maxDelta: Int) throws(BitstreamError) {
        var explicit = predMatrixIdDelta == nil
        try c.flag("scaling_list_pred_mode_flag", &explicit)
        if !explicit {
            var delta = predMatrixIdDelta ?? 0
            try c.ue("scaling_list_pred_matrix_id_delta", &delta, 0...maxDelta)
            predMatrixIdDelta = delta
            return
        }
        predMatrixIdDelta = nil
        if sizeId > 1 { try c.se("scaling_list_dc_coef_minus8", &dcCoefMinus8, -7...247) }
        try c.size("scaling_list_delta_coef", &deltaCoef, sizeId == 0 ? 16 : 64, 0)
        for index in deltaCoef.indices {
            try c.se("scaling_list_delta_coef", &deltaCoef[index], -128...127)
        }
    }
}
