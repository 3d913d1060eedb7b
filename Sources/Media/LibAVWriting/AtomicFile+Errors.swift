// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDMetadata
public import HWDSystem

// AtomicFile with this module's errors.
extension AtomicFile {
    /// As `init(_:inputs:replaces:)`.
    convenience init(path: String, inputs: [String], replaces: Bool = true) throws(MediaError) {
        do throws(Failure) {
            try self.init(path, inputs: inputs, replaces: replaces)
        } catch { throw MediaError(error) }
    }

    /// As `flush`.
    func sync() throws(MediaError) {
        do throws(Failure) { try flush() } catch { throw MediaError(error) }
    }

    /// As `complete`.
    func commit(sync: Bool) throws(MediaError) {
        do throws(Failure) { try complete(sync: sync) } catch { throw MediaError(error) }
    }
}

// The same for groups of files.
extension FileGroup {
    /// As `file(_:inputs:)`.
    func file(path: String, inputs: [String]) throws(MediaError) -> AtomicFile {
        do throws(Failure) { return try file(path, inputs: inputs) } catch { throw MediaError(error) }
    }

    /// Gives the files their names.
    ///
    /// - Throws: `cannotCreate`; no file has its name then.
    public func commit() throws(MediaError) {
        do throws(Failure) { try complete() } catch { throw MediaError(error) }
    }

    private typealias Failure = AtomicFile.Failure
}

extension MediaError {
    /// The error for a file that is not written.
    init(_ failure: AtomicFile.Failure) {
        let kind: Kind =
            switch failure.kind {
            case .cannotCreate: .cannotCreate
            case .io: .cannotWrite
            case .usage: .usage
            }
        self.init(kind, failure.reason)
    }
}
