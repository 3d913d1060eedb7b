// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel

extension FrameSideData {
    /// The dynamic HDR metadata of a decoded frame that can be written as they are.
    ///
    /// libavcodec returns an RPU without the two bytes of its NAL unit header, and HDR10+ only as parsed values.
    static func all(of frame: UnsafePointer<AVFrame>) -> [FrameSideData] {
        guard let data = av_frame_get_side_data(frame, AV_FRAME_DATA_DOVI_RPU_BUFFER),
            let bytes = data.pointee.data,
            data.pointee.size > 0, data.pointee.size <= maxBytes - 2
        else { return [] }
        let contents = UnsafeBufferPointer(start: bytes, count: data.pointee.size)
        return [FrameSideData(.dolbyVisionRPU, [0x7C, 0x01] + contents)]
    }
}
