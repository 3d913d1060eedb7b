// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

extension AVStream {
    /// The stream's side data, valid as long as the stream is not changed.
    var sideData: UnsafeBufferPointer<AVPacketSideData> {
        var count: Int32 = 0
        let first = withUnsafePointer(to: self) { clibav_side_data($0, &count) }
        return UnsafeBufferPointer(start: first, count: first == nil ? 0 : Int(count))
    }

    /// The stream's side data of a type; nil where it has none.
    func sideData(_ type: AVPacketSideDataType) -> UnsafeRawBufferPointer? {
        for data in sideData where data.type == type {
            guard let bytes = data.data else { continue }
            return UnsafeRawBufferPointer(start: bytes, count: data.size)
        }
        return nil
    }

    /// The same as a value of a C structure; nil also where it is too short.
    package func sideData<Value: BitwiseCopyable>(_ type: AVPacketSideDataType, as _: Value.Type) -> Value? {
        guard let bytes = sideData(type), bytes.count >= MemoryLayout<Value>.size else { return nil }
        return bytes.loadUnaligned(as: Value.self)
    }
}

/// AVDictionary, which libav uses for metadata.
package enum LibAVDictionary {
    /// The value of a key; nil where there is none.
    package static func value(_ dictionary: OpaquePointer?, _ key: String) -> String? {
        av_dict_get(dictionary, key, nil, 0).flatMap { $0.pointee.value }.map { String(cString: $0) }
    }

    /// All keys and values.
    package static func all(_ dictionary: OpaquePointer?) -> [String: String] {
        var result: [String: String] = [:]
        var entry: UnsafeMutablePointer<AVDictionaryEntry>?
        while let next = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
            entry = next
            if let key = next.pointee.key, let value = next.pointee.value {
                result[String(cString: key)] = String(cString: value)
            }
        }
        return result
    }
}

extension AVStream {
    /// The average and the base frame rate; nil where they are not known.
    ///
    /// - Parameter isUntimed: whether the format stores no timestamps, so that each picture is a tick of one rate.
    func frameRates(isUntimed: Bool) -> (average: Rational?, base: Rational?) {
        guard isUntimed else { return (Rational(positive: avg_frame_rate), Rational(positive: r_frame_rate)) }
        let rate =
            Rational(positive: withUnsafePointer(to: self) { clibav_elementary_frame_rate($0) })
            ?? Rational(positive: r_frame_rate)
        return (rate, rate)
    }

    /// Whether the demuxer found the keys' description of encrypted samples.
    var isEncrypted: Bool { sideData(AV_PKT_DATA_ENCRYPTION_INIT_INFO) != nil }

    /// Whether the stream is a picture beside the tracks of an image sequence.
    func isItem(of context: UnsafePointer<AVFormatContext>) -> Bool {
        withUnsafePointer(to: self) { clibav_is_item(context, $0) } != 0
    }

    /// Whether the stream is a single picture, such as a cover.
    var isPicture: Bool { disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS) != 0 }
}
