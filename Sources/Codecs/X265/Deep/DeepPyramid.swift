// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// Groups of eight pictures in which every B picture refers to the nearest pictures on both sides.
///
/// x265's own pyramid has one level: of seven B pictures, only the middle one is a reference. With loaded analysis
/// (`analysis-load`, of which only the pictures' order counts and types are used, at reuse level 1) x265 3.5 codes the pictures
/// that it is given in the order anchor, then B pictures that are references in the order of input. So it is given each group
/// with the anchor last and the B pictures, all as references, by descent into the pyramid.
struct DeepPyramid: GroupStructure {
    static let levelCount = 4
    static let groupSize = 8

    /// Groups after a group that its offsets of the quantization parameter are computed from.
    static let groupsAhead = 5

    var ordering: [SubLayerOrdering] {
        (0..<Self.levelCount).map { level in
            SubLayerOrdering(maxDecPicBufferingMinus1: level + 1, maxNumReorderPics: level)
        }
    }

    var framesAhead: Int { Self.groupsAhead * Self.groupSize }

    /// X265_BUILD of libx265 3.5; others may use loaded analysis otherwise.
    static let knownBuild = 199

    /// Options that affect neither structure nor rate control.
    private static let options: Set<String> = ["asm", "pools", "hash", "frame-threads", "F", "psnr", "ssim"]

    /// `GroupChoice.of`.
    static func choice(
        _ configuration: EncoderConfiguration, _ role: X265Role, _ parameters: x265_param, build: Int
    ) -> GroupChoice {
        guard configuration.temporalLevels.count == levelCount else { return .own }
        if case .follower = role { return .own }
        if let obstacle = obstacle(configuration, role, parameters, build: build) {
            return .refused(
                "the temporal levels are in x265's own groups, which may need more bits, because of \(obstacle)")
        }
        return .other(DeepPyramid())
    }

    /// What the pyramid was not made for.
    private static func obstacle(
        _ configuration: EncoderConfiguration, _ role: X265Role, _ parameters: x265_param, build: Int
    ) -> String? {
        if case .leader = role { return "alpha" }
        guard case .quality = configuration.rateControl else { return "a rate control other than Quality" }
        if configuration.dataRateLimit != nil || parameters.rc.vbvBufferSize > 0 { return "DataRateLimits" }
        if configuration.pass != nil { return "MultiPassStorage" }
        if configuration.maxFrameDelay != nil { return "MaxFrameDelayCount" }
        if configuration.lookAhead != nil { return "SuggestedLookAheadFrameCount" }
        if configuration.level != nil { return "a level in ProfileLevel" }
        if configuration.baseLevelFraction != nil { return "BaseLayerBitRateFraction" }
        if configuration.referenceCount != nil { return "ReferenceBufferCount" }
        if configuration.request.maxReorder ?? .max < levelCount - 1 {
            return "the stream that is continued, which began with less reordering"
        }
        if configuration.x265Options.options.contains(where: { !options.contains($0.name) }) { return "X265Params" }
        // One thread looks ahead, which would slow fast presets down.
        if isFasterThanMedium(configuration.x265Preset) { return "a preset faster than medium" }
        // Without cu-tree, x265's quantizer depends on costs of its own look-ahead, which has the pictures in another order.
        if parameters.rc.cuTree == 0 || parameters.rc.qgSize < 16 { return "the pictures' small size" }
        return build == knownBuild ? nil : "libx265's build \(build), where \(knownBuild) is known"
    }

    private static func isFasterThanMedium(_ preset: String) -> Bool {
        PropertyTable.x265Presets.prefix { $0 != "medium" }.contains(preset)
    }

    func apply(to parameters: UnsafeMutablePointer<x265_param>) {
        hwd_x265_load_analysis(parameters)
        // Intra pictures are key frames wherever they are.
        parameters.pointee.keyframeMin = 1
        parameters.pointee.lookaheadDepth = Int32(Self.groupSize)
        // x265 keeps all references that fit, and needs those of a group and of the group before; `restrict` leaves one for each
        // list. Too many for a profile, so that the parameter sets get theirs from an encoder of x265's own structure.
        parameters.pointee.maxNumReferences = 12
        parameters.pointee.bAllowNonConformance = 1
        parameters.pointee.bEnableWeightedPred = 0
        parameters.pointee.bEnableWeightedBiPred = 0
        // With loaded analysis x265 has no vectors of its look-ahead to begin with.
        if parameters.pointee.searchMethod == Int32(X265_HEX_SEARCH.rawValue) {
            parameters.pointee.searchMethod = Int32(X265_UMH_SEARCH.rawValue)
        }
    }

    func start(
        _ handle: X265Handle, _ configuration: EncoderConfiguration
    ) throws(SessionError) -> any FrameOrder {
        try Self.restrict(handle.encoder, handle.api)
        return DeepFrames(configuration, try handle.parameters())
    }

    /// Lets pictures refer to the nearest picture only.
    private static func restrict(
        _ encoder: OpaquePointer, _ api: UnsafePointer<x265_api>
    ) throws(SessionError) {
        guard let parameters = api.pointee.param_alloc() else {
            throw SessionError(.allocationFailed, "no memory for x265's parameters")
        }
        defer { api.pointee.param_free(parameters) }
        api.pointee.encoder_parameters(encoder, parameters)
        parameters.pointee.maxNumReferences = 1
        guard api.pointee.encoder_reconfig(encoder, parameters) == 0 else {
            throw SessionError(.videoEncoderMalfunction, "x265 does not change its number of references")
        }
    }

    /// The positions 1…`count` of a group in coding order: the anchor, then each middle before what it divides.
    static func codingOrder(_ count: Int) -> [Int] {
        func descent(_ first: Int, _ last: Int) -> [Int] {
            guard last - first > 1 else { return [] }
            let middle = (first + last) / 2
            return [middle] + descent(first, middle) + descent(middle, last)
        }
        return [count] + descent(0, count)
    }
}
