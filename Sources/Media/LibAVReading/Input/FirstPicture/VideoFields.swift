// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDHEVC
internal import HWDMetadata
internal import HWDModel

/// Whether frames hold two fields, and the fields' order: by the frames' own flags, where they have any.
struct VideoFields: Hashable {
    let isInterlaced: Bool
    /// nil where the order is not known.
    let detail: FieldDetail?

    /// The fields that a container or a parser reported, corrected by the first access unit of HEVC, or the first frame of
    /// other codecs.
    ///
    /// - Parameters:
    ///   - leadingUnits: the NAL units up to the first picture; called for HEVC whose VUI announces pic_struct.
    ///   - firstFrame: called where a container may be wrong.
    init(_ parameters: AVCodecParameters, leadingUnits: () -> [[UInt8]], firstFrame: () -> FirstFrame) {
        let order = parameters.field_order
        if parameters.codec_id == AV_CODEC_ID_HEVC {
            let sets = HEVCConfiguration.baseLayerSets(HEVCConfiguration(parameters.configuration).nalUnits)
            if sets.contains(where: { $0.vuiParameters?.frameFieldInfoPresentFlag ?? false }),
                let fields = VideoFields(picStructIn: leadingUnits())
            {
                self = fields
                return
            }
        } else if Self.needsFrame(parameters) {
            let frame = firstFrame()
            if frame.isInterlaced {
                self.init(isInterlaced: true, detail: FieldDetail(interleavedTopFirst: frame.isTopFieldFirst))
                return
            }
        }
        self.init(isInterlaced: order.rawValue > AV_FIELD_PROGRESSIVE.rawValue, detail: FieldDetail(order))
    }

    init(isInterlaced: Bool, detail: FieldDetail?) {
        self.isInterlaced = isInterlaced
        self.detail = detail
    }

    /// The fields by the first pic_timing message (H.265 D.3.3); nil without one, and where each picture is one field.
    private init?(picStructIn units: [[UInt8]]) {
        let messages = units.lazy.compactMap { try? SEI(nal: $0) }.flatMap(\.messages)
        guard let first = messages.first(where: { $0.payloadType == 1 })?.payload.first else { return nil }
        switch first >> 4 {
        case 3, 5: self.init(isInterlaced: true, detail: .spatialFirstLineEarly)
        case 4, 6: self.init(isInterlaced: true, detail: .spatialFirstLineLate)
        case 0, 7, 8: self.init(isInterlaced: false, detail: nil)
        default: return nil
        }
    }

    /// Whether a decoded frame says more than a container or parser: not for codecs without interlaced coding, nor where the
    /// parser found progressive pictures.
    private static func needsFrame(_ parameters: AVCodecParameters) -> Bool {
        let progressive: Set<UInt32> = [
            AV_CODEC_ID_VP8.rawValue, AV_CODEC_ID_VP9.rawValue, AV_CODEC_ID_AV1.rawValue, AV_CODEC_ID_PNG.rawValue,
            AV_CODEC_ID_GIF.rawValue, AV_CODEC_ID_THEORA.rawValue, AV_CODEC_ID_QTRLE.rawValue,
        ]
        // These codecs have no parser that reports fields: only the container did.
        let unparsed: Set<UInt32> = [
            AV_CODEC_ID_DVVIDEO.rawValue, AV_CODEC_ID_PRORES.rawValue, AV_CODEC_ID_MJPEG.rawValue,
        ]
        return !progressive.contains(parameters.codec_id.rawValue)
            && (parameters.field_order != AV_FIELD_PROGRESSIVE || unparsed.contains(parameters.codec_id.rawValue))
    }
}

extension FieldDetail {
    /// The order in libavcodec's terms, which follow QuickTime's `fiel`; nil where it is not known.
    ///
    /// libavcodec describes 9 and 14 otherwise than Apple's TN2162, but the ffmpeg program and its raw video decoder use them so.
    init?(_ order: AVFieldOrder) {
        switch order {
        case AV_FIELD_TT: self = .temporalTopFirst
        case AV_FIELD_BB: self = .temporalBottomFirst
        case AV_FIELD_TB: self = .spatialFirstLineEarly
        case AV_FIELD_BT: self = .spatialFirstLineLate
        default: return nil
        }
    }

    package var libAV: AVFieldOrder {
        switch self {
        case .temporalTopFirst: AV_FIELD_TT
        case .temporalBottomFirst: AV_FIELD_BB
        case .spatialFirstLineEarly: AV_FIELD_TB
        case .spatialFirstLineLate: AV_FIELD_BT
        }
    }
}
