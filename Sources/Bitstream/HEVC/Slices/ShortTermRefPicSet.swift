// SPDX-License-Identifier: MIT

/// A picture of a short-term reference picture set.
public struct ShortTermRefPic: Hashable, Sendable {
    /// The POC difference to the current picture: negative for the past, positive for the future.
    public var deltaPoc: Int
    /// True when the current picture may refer to it; false when it is only kept for later pictures.
    public var usedByCurrPic: Bool

    public init(deltaPoc: Int, usedByCurrPic: Bool = true) {
        self.deltaPoc = deltaPoc
        self.usedByCurrPic = usedByCurrPic
    }
}

/// `st_ref_pic_set()` (7.3.7) with the variables derived from it (7.4.8).
public struct ShortTermRefPicSet: Hashable, Sendable {
    /// Prediction of a set from another set of the SPS (`inter_ref_pic_set_prediction_flag` = 1).
    public struct Prediction: Hashable, Sendable {
        /// The reference set is this + 1 places back; coded in slice headers only, otherwise 0.
        public var deltaIdxMinus1 = 0
        /// True when deltaRps is negative.
        public var deltaRpsSign = false
        /// Magnitude of deltaRps − 1, 0…32767.
        public var absDeltaRpsMinus1 = 0
        /// One entry for each picture of the reference set and one for the reference set's own picture.
        public var usedByCurrPicFlag: [Bool] = []
        /// Whether each of these pictures is in the predicted set; as many entries.
        public var useDeltaFlag: [Bool] = []

        public init() {}
    }

    /// The prediction; nil when the set is coded explicitly.
    public private(set) var prediction: Prediction?
    /// Pictures before the current one in output order, the nearest first (S0).
    public private(set) var negativePics: [ShortTermRefPic] = []
    /// Pictures after the current one in output order, the nearest first (S1).
    public private(set) var positivePics: [ShortTermRefPic] = []

    public init() {}

    public init(negativePics: [ShortTermRefPic], positivePics: [ShortTermRefPic]) {
        self.negativePics = negativePics
        self.positivePics = positivePics
    }

    public var numDeltaPocs: Int { negativePics.count + positivePics.count }

    /// Number of pictures that the current picture may refer to.
    public var numUsedByCurrPic: Int {
        negativePics.reduce(0) { $0 + ($1.usedByCurrPic ? 1 : 0) }
            + positivePics.reduce(0) { $0 + ($1.usedByCurrPic ? 1 : 0) }
    }

    /// Codes set number `index`, given the SPS's `sets`; with `inSlice` it is the additional set of a slice header.
    mutating func code(
        _ c: inout some SyntaxCoder, index: Int, sets: [ShortTermRefPicSet], inSlice: Bool
    ) throws(BitstreamError) {
        if index != 0 {
            try c.presence("inter_ref_pic_set_prediction_flag", &prediction, Prediction())
        } else if prediction != nil {
            throw BitstreamError(.malformed, "the first st_ref_pic_set cannot be predicted")
        }
        if var inter = prediction {
            if inSlice { try c.ue("delta_idx_minus1", &inter.deltaIdxMinus1, 0...(index - 1)) }
            let reference = sets[index - 1 - (inSlice ? inter.deltaIdxMinus1 : 0)]
            try inter.code(&c, numDeltaPocs: reference.numDeltaPocs)
            prediction = inter
            derive(inter, from: reference)
            guard numDeltaPocs <= 16 else {
                throw BitstreamError(.outOfRange, "an st_ref_pic_set predicts more than 16 pictures")
            }
        } else {
            try codeExplicit(&c)
        }
    }

    private mutating func codeExplicit(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var (negatives, positives) = (negativePics.count, positivePics.count)
        try c.ue("num_negative_pics", &negatives, 0...16)
        try c.ue("num_positive_pics", &positives, 0...(16 - negatives))
        try c.size("negative pictures", &negativePics, negatives, ShortTermRefPic(deltaPoc: 0))
        try c.size("positive pictures", &positivePics, positives, ShortTermRefPic(deltaPoc: 0))
        var last = 0
        for index in negativePics.indices {
            var gap = last &- negativePics[index].deltaPoc &- 1
            if c.isReading { gap = 0 }
            try c.ue("delta_poc_s0_minus1", &gap, 0...32767)
            last -= gap + 1
            negativePics[index].deltaPoc = last
            try c.flag("used_by_curr_pic_s0_flag", &negativePics[index].usedByCurrPic)
        }
        last = 0
        for index in positivePics.indices {
            var gap = positivePics[index].deltaPoc &- last &- 1
            if c.isReading { gap = 0 }
            try c.ue("delta_poc_s1_minus1", &gap, 0...32767)
            last += gap + 1
            positivePics[index].deltaPoc = last
            try c.flag("used_by_curr_pic_s1_flag", &positivePics[index].usedByCurrPic)
        }
    }

    /// Equations 7-61 and 7-62: moves each picture of the reference set, and that set's own picture, by deltaRps.
    private mutating func derive(_ inter: Prediction, from reference: ShortTermRefPicSet) {
        let deltaRps = (inter.deltaRpsSign ? -1 : 1) * (inter.absDeltaRpsMinus1 + 1)
        let count = reference.numDeltaPocs
        var candidates: [(deltaPoc: Int, index: Int)] = [(deltaRps, count)]
        for (index, pic) in (reference.negativePics + reference.positivePics).enumerated() {
            candidates.append((pic.deltaPoc + deltaRps, index))
        }
        let kept = candidates.filter { inter.useDeltaFlag[$0.index] && $0.deltaPoc != 0 }
            .sorted { ($0.deltaPoc, $0.index) < ($1.deltaPoc, $1.index) }
            .map { ShortTermRefPic(deltaPoc: $0.deltaPoc, usedByCurrPic: inter.usedByCurrPicFlag[$0.index]) }
        negativePics = kept.filter { $0.deltaPoc < 0 }.reversed()
        positivePics = kept.filter { $0.deltaPoc > 0 }
    }
}

extension ShortTermRefPicSet.Prediction {
    mutating func code(_ c: inout some SyntaxCoder, numDeltaPocs: Int) throws(BitstreamError) {
        try c.flag("delta_rps_sign", &deltaRpsSign)
        try c.ue("abs_delta_rps_minus1", &absDeltaRpsMinus1, 0...32767)
        try c.size("used_by_curr_pic_flag", &usedByCurrPicFlag, numDeltaPocs + 1, false)
        try c.size("use_delta_flag", &useDeltaFlag, numDeltaPocs + 1, true)
        for index in 0...numDeltaPocs {
            try c.flag("used_by_curr_pic_flag", &usedByCurrPicFlag[index])
            if usedByCurrPicFlag[index] {
                useDeltaFlag[index] = true
            } else {
                try c.flag("use_delta_flag", &useDeltaFlag[index])
            }
        }
    }
}
