// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAVReading

extension SoundPlan.Abilities {
    /// Those of the linked libraries for the streams of `input`.
    ///
    /// - Parameter isSeekable: whether a header is changed when the file ends.
    init(_ input: Demuxer, isSeekable: Bool) {
        func parameters(_ index: Int) -> UnsafeMutablePointer<AVCodecParameters>? {
            input.stream(index)?.pointee.codecpar
        }
        self.init(
            holds: { index, format in parameters(index).map { StreamCopy.canHold($0, format) } ?? false },
            decodes: { index in
                guard let parameters = parameters(index)?.pointee, parameters.codec_id != AV_CODEC_ID_NONE else {
                    return false
                }
                return avcodec_find_decoder(parameters.codec_id) != nil
            },
            isLossless: { index in
                guard let id = parameters(index)?.pointee.codec_id,
                    let properties = avcodec_descriptor_get(id)?.pointee.props
                else { return false }
                return properties & AV_CODEC_PROP_LOSSLESS != 0 && properties & AV_CODEC_PROP_LOSSY == 0
            },
            encodes: { avcodec_find_encoder($0.libAV) != nil },
            writes: { codec, format in format.takes(codec.libAV) },
            comesLate: { index, format in
                !isSeekable && parameters(index).map { ADTSFrames.comesLate($0.pointee, format) } ?? false
            })
    }
}
