// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// The folders in which drivers keep compiled shaders, one for each user and one for probes.
///
/// Drivers trust what they find there, so what one user's session wrote must not reach another's.
struct DriverCache {
    /// Holds a folder for each owner; nil for no cache.
    private let folder: String?

    init(folder: String?) { self.folder = folder }

    /// The cache of a daemon: in the service manager's cache folder, or for a private daemon in its user's.
    init(isPrivate: Bool) {
        // The variable may be of another service, which started the private daemon.
        let service = Environment.value("CACHE_DIRECTORY")?.split(separator: ":").first.map(String.init)
        folder = (isPrivate ? ProbeCache.userFolder : service).map { "\($0)/drivers" }
    }

    /// The folder of an owner, which is created; nil where that fails.
    func folder(of owner: String) -> String? {
        guard let folder else { return nil }
        let own = "\(folder)/\(owner)"
        mkdir(folder, 0o700)
        mkdir(own, 0o700)
        return access(own, W_OK) == 0 ? own : nil
    }
}
