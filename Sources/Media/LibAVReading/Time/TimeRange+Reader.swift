// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDEdits
internal import HWDLibAV
public import HWDMetadata
package import HWDModel

extension TimeRange {
    /// The range in ticks, its end `Int64.max` where it is not known before the first picture is.
    package func ticks(in base: Rational) -> (first: Int64, last: Int64) {
        func ticks(_ microseconds: Int64) -> Int64 { av_rescale_q(microseconds, clibav_time_base(), base.libAV) }
        let last: Int64? =
            switch end {
            case .input: nil
            case .time(let time): time
            case .duration(let length): start + length
            }
        return (ticks(start), last.map(ticks) ?? .max)
    }

    /// Refuses times after the end that a file declares.
    /// - Throws: `badInput`.
    public func check(_ reader: MediaReader) throws(MediaError) {
        guard let end = reader.declaredEnd else { return }
        guard start < end else {
            throw MediaError(
                .badInput,
                "--start \(Self.seconds(start)) is after the end of \(reader.path) at \(Self.seconds(end))")
        }
        // The last picture may end a little before the sound, and rates are rounded.
        if case .time(let time) = self.end, time > end + 1_000_000 {
            throw MediaError(
                .badInput, "--end \(Self.seconds(time)) is after the end of \(reader.path) at \(Self.seconds(end))")
        }
    }

    /// About how many pictures of a file are in the range; nil where its length is not known.
    public func frames(of reader: MediaReader) -> Int? {
        let video = reader.video
        guard let rate = (video.averageFrameRate ?? video.baseFrameRate)?.value else { return nil }
        let length: Int64? =
            switch end {
            case .input: reader.declaredEnd.map { $0 - start }
            case .time(let time): time - start
            case .duration(let length): length
            }
        return length.map { max(1, Int((Double($0) / 1_000_000 * min(rate, 1000)).rounded())) }
    }
}
