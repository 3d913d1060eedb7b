// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// An open input together with what decodes its video: a session of the daemon, or this process.
struct DecodedInput {
    let reader: MediaReader
    /// Where frames and the packets of other streams come from.
    let source: any VideoSource
    /// The decompression session; nil where this process decodes.
    let session: SessionSource?
    /// Why the daemon does not decode the video, where it was asked to.
    let refusal: ClientError?

    /// The pixel format of the frames until the stream's bit depth changes.
    var format: PixelFormat { session?.pixelFormat ?? reader.video.format }

    /// Creates a session for a video that `reader` left to the daemon, or decodes it in this process.
    ///
    /// - Parameters:
    ///   - daemon: called only when a session is needed.
    ///   - fallsBack: whether this process decodes after a refusal with this code; other refusals are thrown.
    init(
        _ reader: MediaReader, _ request: SessionSource.Request, daemon: () throws -> Daemon,
        fallsBack: (ClientError.Code) -> Bool = { $0 == .session(.videoDecoderUnsupportedDataFormat) },
        isInterrupted: @escaping () -> Bool
    ) throws {
        self.reader = reader
        guard !reader.decodesInProcess else {
            (source, session, refusal) = (LocalSource(reader), nil, nil)
            return
        }
        let daemon = try daemon()
        do throws(ClientError) {
            let session = try SessionSource(reader, daemon, request, isInterrupted: isInterrupted)
            (source, self.session, refusal) = (session, session, nil)
        } catch {
            guard fallsBack(error.code) else { throw error }
            try reader.decodeInProcess()
            (source, session, refusal) = (LocalSource(reader), nil, error)
        }
    }
}
