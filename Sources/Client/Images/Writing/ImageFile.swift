// SPDX-License-Identifier: MIT
internal import HWDSystem

/// A file that appears under its name when all of its bytes are written.
struct ImageFile {
    private let file: AtomicFile

    /// - Parameter inputs: files that must not be replaced.
    /// - Throws: `cannotCreate`; `parameter` for a path that is one of `inputs`.
    init(_ path: String, inputs: [String] = []) throws(ImageError) {
        do throws(AtomicFile.Failure) { file = try AtomicFile(path, inputs: inputs) } catch {
            throw ImageError(error)
        }
    }

    /// Writes the bytes and gives the file its name.
    ///
    /// - Throws: `cannotCreate`, `io`.
    func finish(_ bytes: [UInt8]) throws(ImageError) {
        let failure = bytes.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: 0) }
        do throws(AtomicFile.Failure) {
            guard failure == 0 else { throw AtomicFile.Failure.writing(file.path, errno: failure) }
            try file.complete(sync: false)
        } catch { throw ImageError(error) }
    }
}
