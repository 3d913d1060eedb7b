// SPDX-License-Identifier: GPL-2.0-or-later
public import Model
public import Sessions

/// A VA-API driver's HEVC encoder behind the `Encoder` protocol, used from one thread.
public final class VAAPIEncoder: Encoder {
    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8] = []

    /// Opens an encoder on a render node.
    ///
    /// - Parameter file: descriptor of the opened render node, kept open by the caller for the encoder's life.
    /// - Throws: why it does not open, and whether it may later.
    public init(
        node file: Int32, path: HardwarePath, _ configuration: EncoderConfiguration
    ) throws(VAAPIFailure) {
        throw VAAPIFailure(SessionError(.couldNotFindVideoEncoder, "the VA-API encoder is not there yet"))
    }

    /// Takes a frame and gives the pictures that are ready.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {}

    /// Gives every picture still inside.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {}
}
