// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture of a short-term reference picture set.
public struct ShortTermRefPic: Hashable, Sendable {
    /// The POC difference to the current picture: negative for the past, positive for the future.
    public var deltaPoc: Int
    /// True when the current picture itself may use it; false when it is only kept for later ones.
    public var usedByCurrPic: Bool

    /// A picture `deltaPoc` away.
    public init(deltaPoc: Int, usedByCurrPic: Bool = true) {
        self.deltaPoc = deltaPoc
        self.usedByCurrPic = usedByCurrPic
    }
}

/// `st_ref_pic_set()` (7.3.7) with the variables it stands for (7.4.8).
public struct ShortTermRefPicSet: Hashable, Sendable {
    /// How a set is predicted from another one of the SPS (`inter_ref_pic_set_prediction_flag` = 1).
    public struct Prediction: Hashable, Sendable {
        /// `delta_idx_minus1`, coded in slice headers only: the reference set is this + 1 places back.
        public var deltaIdxMinus1 = 0
        /// `delta_rps_sign`.
        public var deltaRpsSign = false
        /// `abs_delta_rps_minus1`, 0…32767.
        public var absDeltaRpsMinus1 = 0
        /// `used_by_curr_pic_flag`, one more than the reference set has pictures.
        public var usedByCurrPicFlag: [Bool] = []
        /// `use_delta_flag`, as many.
        public var useDeltaFlag: [Bool] = []

        /// All zeros.
        public init() {}
    }

    /// The prediction; nil when the set is coded explicitly.
    public private(set) var prediction: Prediction?
    /// Pictures before the current one in output order, the nearest first (S0).
    public private(set) var negativePics: [ShortTermRefPic] = []
    /// Pictures after the current one in output order, the nearest first (S1).
    public private(set) var positivePics: [ShortTermRefPic] = []

    /// The empty set.
    public init() {}

    /// An explicitly coded set; each list is ordered from the nearest picture outwards (checked when written).
    public init(negativePics: [ShortTermRefPic], positivePics: [ShortTermRefPic]) {
        self.negativePics = negativePics
        self.positivePics = positivePics
    }

    /// NumDeltaPocs.
    public var numDeltaPocs: Int { negativePics.count + positivePics.count }

    /// How many pictures the current one itself may use.
    public var numUsedByCurrPic: Int {
        negativePics.reduce(0) { $0 + ($1.usedByCurrPic ? 1 : 0) }
            + positivePics.reduce(0) { $0 + ($1.usedByCurrPic ? 1 : 0) }
    }

    /// The table for set number `index`; `sets` are the SPS's, and `inSlice` says that this is one more, in a
    /// slice header.
    mutating func code(
        _ c: inout some SyntaxCoder, index: Int, sets: [ShortTermRefPicSet], inSlice: Bool
    ) throws(BitstreamError) {
        if index != 0 {
            try c.presence("inter_ref_pic_set_prediction_flag", &prediction, Prediction())
        } else if prediction != nil {
            throw BitstreamError(.malformed, "The first st_ref_pic_set has nothing to be predicted from.")
        }
        if var inter = prediction {
            if inSlice { try c.ue("delta_idx_minus1", &inter.deltaIdxMinus1, 0...(index - 1)) }
            let reference = sets[index - 1 - (inSlice ? inter.deltaIdxMinus1 : 0)]
            try inter.code(&c, numDeltaPocs: reference.numDeltaPocs)
            prediction = inter
            derive(inter, from: reference)
            guard numDeltaPocs <= 16 else {
                throw BitstreamError(.outOfRange, "An st_ref_pic_set predicts more than 16 pictures.")
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

    /// Equations 7-61 and 7-62: each picture of the reference set, and that set's own picture, moved by deltaRps.
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
