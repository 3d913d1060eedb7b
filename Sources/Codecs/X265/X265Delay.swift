// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
public import HWDCoding
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// What a configuration makes x265 hold back, known without an open encoder.
public struct X265Delay: Hashable, Sendable {
    /// The most frames that were passed to the encoder and whose packets, in an order in which all that are shown before
    /// are complete, have not come.
    public let framesHeld: Int
    /// sps_max_num_reorder_pics.
    public let reorderDepth: Int

    /// - Parameter leadsAlpha: whether an alpha layer follows the encoder.
    /// - Throws: as `X265Encoder.init`.
    public init(_ configuration: EncoderConfiguration, leadsAlpha: Bool = false) throws(SessionError) {
        let depth = configuration.profile.bitDepth
        guard let api = hwd_x265_api(Int32(depth)) else {
            throw SessionError(.couldNotFindVideoEncoder, "this libx265 cannot write \(depth)-bit HEVC")
        }
        let owner = try X265Parameters(api: api, configuration, role: leadsAlpha ? .leader : .alone)
        let parameters = withExtendedLifetime(owner) { owner.pointer.pointee }
        let bFrames = Int(parameters.bframes)
        // x265 3.5, Encoder::initSPS.
        let pyramid = parameters.bBPyramid != 0 && bFrames > 1
        let structure = owner.groups.structure
        reorderDepth = structure?.ordering.last?.maxNumReorderPics ?? (pyramid ? 2 : min(bFrames, 1))
        // Its look-ahead, a group of B pictures before it and one after it, a frame for each thread, and a few that it
        // outputs late (measured: 21 of ultrafast, 38 of medium, 59 of slower).
        framesHeld =
            Int(parameters.lookaheadDepth) + 2 * bFrames + Self.frameThreads(parameters)
            + configuration.temporalLevels.framesHeld + 8
            + (structure?.framesAhead ?? 0)
    }

    /// As many as x265 3.5 starts (ThreadPool::getFrameThreadsCount).
    private static func frameThreads(_ parameters: x265_param) -> Int {
        if parameters.frameNumThreads > 0 { return Int(parameters.frameNumThreads) }
        switch sysconf(Int32(_SC_NPROCESSORS_ONLN)) {
        case 32...: return 6
        case 16...: return 5
        case 8...: return 3
        case 4...: return 2
        default: return 1
        }
    }
}
