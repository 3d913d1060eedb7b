// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// The frames of a deep pyramid.
final class DeepFrames: FrameOrder {
    private var planner: LevelPlanner
    private var groups: DeepGroups
    private let copies: WaitingFrames
    private let request: CompressionRequest
    /// The size of x265's pictures, which has whole blocks.
    private let size: (width: Int, height: Int)
    private var planned: [LevelPlanner.Frame] = []
    private var nextFrame = 0
    /// One for each block of 16x16 samples, as x265 reads them.
    private let offsets: UnsafeMutableBufferPointer<Float>
    /// No weights, which x265 copies.
    private let weights: UnsafeMutablePointer<x265_weight_param>
    private static let weightCount = 6
    private let analysis: x265_analysis_validate

    /// - Parameter parameters: those that the encoder uses.
    init(_ configuration: EncoderConfiguration, _ parameters: x265_param) {
        planner = LevelPlanner(
            configuration.temporalLevels, keyFrameInterval: configuration.maxKeyFrameInterval ?? 0,
            isOpenGOP: configuration.allowOpenGOP)
        groups = DeepGroups(pbFactor: parameters.rc.pbFactor)
        request = configuration.request
        copies = WaitingFrames(request)
        size = (Int(parameters.sourceWidth), Int(parameters.sourceHeight))
        offsets = .allocate(capacity: ((size.width / 2 + 7) / 8) * ((size.height / 2 + 7) / 8))
        offsets.initialize(repeating: 0)
        weights = .allocate(capacity: Self.weightCount)
        weights.initialize(repeating: x265_weight_param(), count: Self.weightCount)
        analysis = Self.analysis(parameters)
    }

    deinit {
        offsets.deallocate()
        weights.deallocate()
    }

    /// The parameters that x265 compares with its own before it uses loaded analysis.
    private static func analysis(_ parameters: x265_param) -> x265_analysis_validate {
        var analysis = x265_analysis_validate()
        analysis.maxNumReferences = parameters.maxNumReferences
        analysis.analysisReuseLevel = parameters.analysisLoadReuseLevel
        analysis.sourceWidth = parameters.sourceWidth
        analysis.sourceHeight = parameters.sourceHeight
        analysis.keyframeMax = parameters.keyframeMax
        analysis.keyframeMin = parameters.keyframeMin
        analysis.openGOP = parameters.bOpenGOP
        analysis.bframes = parameters.bframes
        analysis.bPyramid = parameters.bBPyramid
        analysis.maxCUSize = Int32(parameters.maxCUSize)
        analysis.minCUSize = Int32(parameters.minCUSize)
        analysis.intraRefresh = parameters.bIntraRefresh
        analysis.lookaheadDepth = parameters.lookaheadDepth
        analysis.chunkStart = parameters.chunkStart
        analysis.chunkEnd = parameters.chunkEnd
        analysis.cuTree = parameters.rc.cuTree
        analysis.ctuDistortionRefine = parameters.ctuDistortionRefine
        analysis.frameDuplication = parameters.bEnableFrameDuplication
        return analysis
    }

    func add(_ input: InputPicture, _ submit: Submit) throws(SessionError) {
        let number = nextFrame
        nextFrame += 1
        groups.add(try HalfPicture(input, request, size: size), as: number)
        copies.keep(input, as: number)
        planner.add(forceKeyFrame: input.forceKeyFrame, to: &planned)
        try submitGroups(isFinished: false, submit)
    }

    func finish(_ submit: Submit) throws(SessionError) {
        planner.finish(into: &planned)
        try submitGroups(isFinished: true, submit)
    }

    private func submitGroups(isFinished: Bool, _ submit: Submit) throws(SessionError) {
        let frames = planned
        planned.removeAll(keepingCapacity: true)
        for frame in frames { try groups.plan(frame) }
        while let group = groups.next(isFinished: isFinished) {
            for picture in group {
                try copies.take(picture.number) { (input) throws(SessionError) in
                    // An explicit BaseFrameQP is absolute.
                    let hasOffsets = input.baseFrameQP == nil
                    let member = GroupMember(kind: picture.kind, level: picture.level) { [self] in
                        fill($0, picture, hasOffsets: hasOffsets)
                    }
                    try submit(input, member)
                }
            }
        }
    }

    /// Sets the order and quantization of a frame that is about to be submitted.
    ///
    /// - Parameter hasOffsets: whether the quantizers of blocks differ.
    private func fill(
        _ picture: UnsafeMutablePointer<x265_picture>, _ entry: DeepGroups.Picture, hasOffsets: Bool
    ) {
        if hasOffsets {
            groups.writeOffsets(of: entry, to: offsets)
        } else {
            offsets.update(repeating: 0)
        }
        picture.pointee.quantOffsets = offsets.baseAddress
        picture.pointee.analysisData.poc = UInt32(truncatingIfNeeded: entry.number)
        picture.pointee.analysisData.sliceType = UInt32(entry.kind.x265Type)
        picture.pointee.analysisData.saveParam = analysis
        picture.pointee.analysisData.wt = weights
    }
}
