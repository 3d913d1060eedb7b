// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata

/// Converts one track to another codec: packets in, packets out, at the same times.
protocol PacketConverter: AnyObject {
    /// What is converted, in one line; nil where the sound or text is the same.
    var note: String? { get }
    /// A warning about damage; nil without any.
    var warning: String? { get }

    /// Sets the parameters of an output's stream, to which the new packets belong; false when memory runs out.
    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool

    /// The new packets that are complete after the next packet of the track.
    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket]

    /// The new packets that remain after the track's last packet.
    func finish() throws(MediaError) -> [MediaPacket]
}

extension CodecContext {
    /// The most samples of a frame; bounds what a damaged header makes libavcodec allocate.
    private static let maxSamples: Int64 = 1 << 22

    /// Opens the decoder of a track.
    ///
    /// - Throws: `unsupported` where libavcodec lacks it, `failure` where it rejects the stream's parameters.
    static func decoder(
        of track: OtherStream, _ stream: AVStream, orThrow failure: @autoclosure () -> MediaError
    ) throws(MediaError) -> CodecContext {
        guard let codec = avcodec_find_decoder(stream.codecpar.pointee.codec_id), let owner = CodecContext(codec)
        else { throw MediaError(.unsupported, "\(track.codec) cannot be decoded") }
        guard avcodec_parameters_to_context(owner.pointer, stream.codecpar) >= 0 else { throw failure() }
        owner.pointer.pointee.pkt_timebase = stream.time_base
        owner.pointer.pointee.max_samples = maxSamples
        owner.pointer.pointee.thread_count = 1
        let code = owner.open(codec)
        guard code >= 0 else {
            throw MediaError(.unsupported, "\(track.codec) cannot be decoded: \(MediaError.text(ofLibAV: code))")
        }
        return owner
    }
}
