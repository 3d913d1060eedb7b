// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// The file of `--receipt`, which has its name only with all its contents.
struct CaptureReceiptFile {
    let path: String
    let replaces: Bool

    /// Writes what `--json` prints.
    func write(_ receipt: CaptureReceipt) throws {
        let bytes = Array((try Console.document(receipt) + "\n").utf8)
        do throws(AtomicFile.Failure) {
            let file = try AtomicFile(path, inputs: receipt.files.map(\.file), replaces: replaces)
            let failure = bytes.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: 0) }
            guard failure == 0 else { throw .writing(FileName.printable(path), errno: failure) }
            try file.complete(sync: true)
        } catch {
            switch error.kind {
            case .io: throw CommandFailure(.ioError, error.reason)
            case .cannotCreate: throw CommandFailure(.cannotCreate, error.reason)
            case .usage:
                throw CommandFailure(
                    .cannotCreate,
                    "the receipt is not written: \(FileName.printable(path)) is a file of the recording")
            }
        }
    }
}
