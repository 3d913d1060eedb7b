// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model

/// A few frames that x265 coded through a device's decoder, compared with what a decoder in software makes of them.
enum HardwareDecodeTrial {
    /// Why the device's pictures are not the right ones, or nil.
    ///
    /// HEVC decoders have no freedom: every sample must be the same.
    static func fault(bitDepth: Int, device: String, judge: any StreamJudge) -> String? {
        let stream: SoftwareTrial.Stream
        do throws(SessionError) {
            stream = try SoftwareTrial.encode(TestPattern(bitDepth: bitDepth))
        } catch {
            return "there is no stream to verify it with: \(error.reason)"
        }
        let right: [JudgedPicture]
        do throws(JudgeError) {
            right = try judge.decode(stream.units, record: stream.record)
        } catch {
            return "there are no pictures to compare its with: \(error.reason)"
        }
        do throws(JudgeError) {
            let pictures = try judge.decode(stream.units, record: stream.record, device: device)
            guard pictures.count == right.count else {
                return "it gave \(pictures.count) pictures of \(right.count)"
            }
            let wrong = zip(pictures, right).enumerated().first { $0.element.0 != $0.element.1 }
            return wrong.map { "its picture \($0.offset) differs from the right one" }
        } catch {
            return "it does not decode: \(error.reason)"
        }
    }
}
