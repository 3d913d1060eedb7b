// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDMetadata
internal import HWDModel

/// A digest of coded data, for finding other or damaged data, not for security: MurmurHash3 with 128 bits, as libavutil has it.
public final class PacketDigest {
    private let state: OpaquePointer

    /// The digest of nothing.
    /// - Throws: `io` without memory.
    public init() throws(MediaError) {
        guard let allocated = av_murmur3_alloc() else { throw MediaError(.io, "out of memory") }
        state = allocated
        av_murmur3_init(state)
    }

    deinit { av_free(UnsafeMutableRawPointer(state)) }

    /// Adds bytes, after their number.
    public func add(_ bytes: UnsafeRawBufferPointer) {
        add(Int64(bytes.count))
        guard let start = bytes.baseAddress else { return }
        av_murmur3_update(state, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// Adds a number.
    public func add(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { bytes in
            guard let start = bytes.baseAddress else { return }
            av_murmur3_update(state, start.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }

    /// 32 hexadecimal digits; call it once, at the end.
    public var text: String {
        var digest = [UInt8](repeating: 0, count: 16)
        av_murmur3_final(state, &digest)
        return Hexadecimal.text(digest)
    }
}
