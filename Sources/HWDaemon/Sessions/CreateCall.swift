// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDWire

/// The fields of a Create call that the broker reads; the worker reads and checks the rest.
///
/// Texts are the client's until the worker has checked them, so they are cleaned here for lists and logs.
struct CreateCall {
    let kind: SessionKind
    var codec: String
    /// Luma samples; 0 if the call does not declare a size.
    var width = 0
    var height = 0
    /// Empty if the call names none.
    var pixelFormat = ""
    /// Decides whether the session waits until hardware is verified.
    var hardwareRequirement = HardwareRequirement.none
    /// The session that this one continues.
    var resumes: String?

    /// Reads a call that creates a session.
    ///
    /// - Throws: `InvalidParameter`, naming the field.
    init(_ call: VarlinkCall, creating kind: SessionKind) throws(VarlinkError) {
        guard call.upgrade else { throw .invalidParameter("upgrade") }
        guard !call.oneway else { throw .invalidParameter("oneway") }
        self.kind = kind
        switch kind {
        case .compression:
            let parameters = try call.checkedParameters(CreateCompressionSession.Parameters.self)
            codec = parameters.codec
            (width, height, pixelFormat) = (parameters.width, parameters.height, parameters.pixelFormat)
            hardwareRequirement = HardwareRequirement(encoderSpecification: parameters.encoderSpecification ?? [:])
            resumes = parameters.resumes
        case .decompression:
            let parameters = try call.checkedParameters(CreateDecompressionSession.Parameters.self)
            codec = parameters.codec
            pixelFormat = parameters.pixelFormat ?? ""
            hardwareRequirement = HardwareRequirement(decoderSpecification: parameters.decoderSpecification ?? [:])
        case .transfer:
            let parameters = try call.checkedParameters(CreateTransferSession.Parameters.self)
            for (side, image) in [("source", parameters.source), ("target", parameters.target)] {
                if let member = image.inapplicableMember { throw .invalidParameter("\(side).\(member)") }
            }
            codec = "none"
            resumes = parameters.resumes
            (width, height) = (parameters.width, parameters.height)
            pixelFormat = "\(parameters.source.pixelFormat)>\(parameters.target.pixelFormat)"
        }
        codec = codec.printable(maxBytes: 32)
        pixelFormat = pixelFormat.printable(maxBytes: 32)
    }
}
