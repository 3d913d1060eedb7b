// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// Groups of pictures that x265 does not have, and codes because of the order in which it is given the frames.
protocol GroupStructure {
    /// sps_max_dec_pic_buffering_minus1 and sps_max_num_reorder_pics of each sub-layer.
    var ordering: [SubLayerOrdering] { get }
    /// Frames that are held before x265 is given them.
    var framesAhead: Int { get }

    /// Sets the parameters of an encoder that is about to be opened.
    func apply(to parameters: UnsafeMutablePointer<x265_param>)

    /// Prepares an open encoder, before its first frame.
    func start(_ handle: X265Handle, _ configuration: EncoderConfiguration) throws(SessionError) -> any FrameOrder
}

/// Holds the frames of such groups until they can be submitted.
protocol FrameOrder: AnyObject {
    typealias Submit = (InputPicture, GroupMember) throws(SessionError) -> Void

    /// Adds a frame and submits the groups that can be coded by now.
    func add(_ input: InputPicture, _ submit: Submit) throws(SessionError)
    /// Submits the frames that still wait.
    func finish(_ submit: Submit) throws(SessionError)
}

/// What a frame is in its group.
struct GroupMember {
    var kind: PictureKind
    var level: Int
    /// Sets what x265 must know of the picture beside its kind.
    var fill: (UnsafeMutablePointer<x265_picture>) -> Void
}

/// The structure of a stream's groups.
enum GroupChoice {
    /// x265's.
    case own
    /// x265's, for a reason that the client gets.
    case refused(String)
    case other(any GroupStructure)

    /// Decides for parameters that are otherwise complete.
    ///
    /// This is the only place that names a structure: without `Deep`, the choice is `own`.
    /// - Parameter build: X265_BUILD of the libx265 that codes.
    static func of(
        _ configuration: EncoderConfiguration, _ role: X265Role, _ parameters: x265_param, build: Int
    ) -> Self {
        DeepPyramid.choice(configuration, role, parameters, build: build)
    }

    var structure: (any GroupStructure)? {
        if case .other(let structure) = self { structure } else { nil }
    }
}
