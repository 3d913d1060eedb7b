// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDLibAVReading
public import HWDMetadata
internal import HWDSystem

/// The digest of all that is read out of a part of a video: its packets, and its file up to the end of the movie box.
///
/// The movie box contains the digest itself, in the part's annotation; for the digest it counts as `blank`.
public enum PartDigest {
    /// What the annotation has in place of the digest until the file is complete.
    public static let blank = String(repeating: "0", count: 32)

    /// The digest of a part that was opened with `holdsMovie`.
    ///
    /// - Parameters:
    ///   - packets: the digest of the video's packets, in decoding order.
    ///   - recorded: the digest in the part's annotation.
    /// - Returns: nil where the movie box does not have `recorded`.
    /// - Throws: `io` without memory.
    public static func digest(
        of file: InputFile, packets: PacketDigest, recorded: String
    ) throws(MediaError) -> String? {
        guard let place = place(of: recorded, in: file.held) else { return nil }
        return try digest(file.held, place, packets.text)
    }

    /// Replaces `blank` in the annotation of a complete file, which is read again from its descriptor.
    static func write(to file: AtomicFile, packets: String) throws(MediaError) {
        let head = MovieFile.head(file.descriptor)
        guard let place = place(of: blank, in: head) else {
            throw MediaError(.cannotWrite, "\(file.path) cannot be written: its annotation cannot be read")
        }
        let text = Array(try digest(head, place, packets).utf8)
        let error = text.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: Int64(place.lowerBound)) }
        guard error == 0 else {
            throw MediaError(.cannotWrite, "\(file.path) cannot be written: \(MediaError.text(ofErrno: error))")
        }
    }

    private static func digest(
        _ head: [UInt8], _ place: Range<Int>, _ packets: String
    ) throws(MediaError) -> String {
        var head = head
        head.replaceSubrange(place, with: Array(blank.utf8))
        let digest = try PacketDigest()
        head.withUnsafeBytes { digest.add($0) }
        Array(packets.utf8).withUnsafeBytes { digest.add($0) }
        return digest.text
    }

    /// The bytes of a digest in the JSON text of an annotation, which is near the end of a movie box.
    private static func place(of digest: String, in head: [UInt8]) -> Range<Int>? {
        let key = Array(#""digest":""#.utf8)
        let text = key + Array(digest.utf8)
        guard digest.utf8.count == blank.utf8.count, head.count >= text.count else { return nil }
        for start in stride(from: head.count - text.count, through: 0, by: -1)
        where head[start] == text[0] && head[start..<start + text.count].elementsEqual(text) {
            return start + key.count..<start + text.count
        }
        return nil
    }
}
