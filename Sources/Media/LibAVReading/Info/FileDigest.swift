// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDSystem

/// The SHA-256 (FIPS 180-4) of a file, as sha256sum prints it.
public enum FileDigest {
    /// The digest in hexadecimal; nil for what is no readable file.
    public static func sha256(_ path: String) -> String? {
        let file = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var memory: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(av_sha_alloc())
        guard let state = memory.map(OpaquePointer.init) else { return nil }
        defer { av_freep(&memory) }
        guard av_sha_init(state, 256) == 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(file, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            av_sha_update(state, buffer, count)
        }
        var digest = [UInt8](repeating: 0, count: 32)
        av_sha_final(state, &digest)
        return digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
