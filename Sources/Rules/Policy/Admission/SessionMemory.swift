// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The memory of each kind of session: what it is granted at its start, and what bounds its process.
///
/// The one table, from measured peaks; docs/admin.md describes it.
public struct SessionMemory: Hashable, Sendable {
    /// Bytes granted at the session's start, before anything is measured: about the least that a software
    /// session of the size takes.
    public var initial: UInt64
    /// Bytes of private memory that the process may have (RLIMIT_DATA): more than any measured session took.
    public var bound: UInt64

    /// Amounts in bytes, and in pictures.
    private struct Row {
        var initial: (bytes: UInt64, pictures: UInt64)
        var bound: (bytes: UInt64, pictures: UInt64)
    }

    private static let mebibyte: UInt64 = 1 << 20

    private static func row(_ kind: SessionKind) -> Row {
        switch kind {
        // x265's look-ahead and frame threads.
        case .compression: Row(initial: (24 * mebibyte, 16), bound: (256 * mebibyte, 400))
        // Pictures are in arenas; those of a stream with alpha are private until both layers are joined. CUDA reserves 379 MiB
        // for 1080p, and does not start with 128.
        case .decompression: Row(initial: (24 * mebibyte, 2), bound: (512 * mebibyte, 40))
        // A software GPU compiles shaders and has copies of the pictures.
        case .transfer: Row(initial: (24 * mebibyte, 2), bound: (512 * mebibyte, 40))
        }
    }

    /// Private memory that CUDA reserves: 379 MiB were measured in a decoder's process.
    private static let ofCUDA = 512 * mebibyte

    /// Private memory for each processor: codecs start several threads for each, with stacks of 8 MiB.
    private static let perProcessor = 16 * mebibyte

    /// The memory of a session.
    ///
    /// - Parameters:
    ///   - picture: bytes of a picture, as `pictureBytes` counts them; 0 while the size is not known.
    ///   - converter: what its converter has of its own.
    ///   - encodesWithCUDA: whether its process may use NVIDIA's encoder.
    ///   - processors: of the machine.
    ///   - limit: bytes that all sessions of the user may have; nil for no limit.
    public init(
        _ kind: SessionKind, picture: UInt64, converter: ConverterMemory = ConverterMemory(),
        encodesWithCUDA: Bool = false, processors: Int, limit: UInt64? = nil
    ) {
        let row = Self.row(kind)
        let picture = min(picture, Self.maxPicture)
        initial = row.initial.bytes + row.initial.pictures * picture + converter.least
        // The stacks are reserved memory, most of which no session's share counts.
        let most = row.bound.bytes + row.bound.pictures * picture + converter.most
        bound =
            min(most + (encodesWithCUDA ? Self.ofCUDA : 0), limit ?? .max)
            + Self.perProcessor * UInt64(clamping: processors)
    }

    /// The bound of a probe's or verification's private memory; it codes and converts small pictures only.
    public static func probeBound(processors: Int) -> UInt64 {
        1024 * mebibyte + perProcessor * UInt64(clamping: processors)
    }

    /// The largest picture that is counted: larger ones than any session's are a client's or a process's claim.
    private static let maxPicture = pictureBytes(
        width: CompressionRequest.maxDimension, height: CompressionRequest.maxDimension)

    /// Bytes of a picture of `width`×`height` luma samples: 4:2:0 with two bytes for each sample, the most that a codec
    /// keeps of it; 0 for an impossible size.
    public static func pictureBytes(width: Int, height: Int) -> UInt64 {
        let dimensions = 1...CompressionRequest.maxDimension
        guard dimensions.contains(width), dimensions.contains(height) else { return 0 }
        return UInt64(width * height) * 3
    }

    /// Luma samples of a picture of so many bytes, as `pictureBytes` counts them.
    public static func samples(ofPicture bytes: UInt64) -> Double { Double(min(bytes, maxPicture) / 3) }

    /// A number of bytes in messages: whole MiB, rounded up, with separators (`1,234 MiB`).
    public static func text(_ bytes: UInt64) -> String {
        let digits = "\(bytes / mebibyte + (bytes % mebibyte > 0 ? 1 : 0))"
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return "\(text) MiB"
    }
}
