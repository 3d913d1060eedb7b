// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Faults of the manifests of Vulkan's drivers, which its loader ignores or reports as something else.
enum VulkanManifests {
    /// What is wrong with a manifest.
    typealias Fault = (cause: ProbeCause, reason: String)

    /// A manifest's state, if it is meant for programs of this architecture.
    private enum State {
        case loads, otherArchitecture, damaged
        /// The library does not load, for this reason.
        case unloadable(String)
    }

    /// The first fault of these files that are drivers' manifests; nil if they have none.
    ///
    /// A damaged manifest stops the loader; a library that does not load is a fault only if no other driver's does.
    ///
    /// - Parameter manifests: the manifests of drivers.
    static func fault(of manifests: [String]) -> Fault? {
        var unloadable: Fault?
        var hasDriver = false
        for path in manifests {
            let name = path.printable(maxBytes: 256)
            switch state(of: path) {
            case .loads: hasDriver = true
            case .damaged: return (.vulkanManifest, "the Vulkan driver's manifest \(name) is damaged")
            case .unloadable(let error):
                let reason = "the library of the Vulkan driver's manifest \(name) does not load: \(error)"
                unloadable = unloadable ?? (.vulkanLibrary, reason)
            case .otherArchitecture, nil: break
            }
        }
        return hasDriver ? nil : unloadable
    }

    /// The fault that the sandbox blocks drivers; nil where it blocks none.
    ///
    /// - Parameters:
    ///   - refused: the drivers that it blocks.
    ///   - count: the number of drivers that are installed.
    static func fault(_ refused: [RefusedDriver], installed count: Int) -> Fault? {
        guard let first = refused.first else { return nil }
        let names = refused.prefix(3).map { $0.driver.printable(maxBytes: 100) }.joined(separator: ", ")
        let more = refused.count > 3 ? " and \(refused.count - 3) more" : ""
        let drivers = count == 1 ? "1 Vulkan driver is" : "\(count) Vulkan drivers are"
        let reason =
            refused.count == count
            ? "\(drivers) installed (\(names)\(more)), none could be opened in the sandbox: \(first.fault)"
            : "\(drivers) installed, of which \(refused.count) could not be opened in the sandbox (\(names)\(more)): "
                + first.fault
        return (.driverRefused, reason)
    }

    /// The state of a manifest; nil for one that cannot be read.
    private static func state(of path: String) -> State? {
        let manifest: DriverManifest
        do throws(DriverManifest.Fault) { manifest = try DriverManifest(path) } catch {
            // The loader needs no manifest that cannot be read: another user's, or one just deleted.
            return error == .damaged ? .damaged : nil
        }
        guard let driver = manifest.driver, let library = driver.path else { return .damaged }
        guard driver.isOwnArchitecture else { return .otherArchitecture }
        let file = manifest.path(of: library)
        guard let handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL) else {
            let error = dlerror().map { String(cString: $0).printable(maxBytes: 256) } ?? "it cannot be loaded"
            // glibc's words for a library of 32 bits beside this program's of 64, which the loader rightly ignores.
            guard !error.contains("wrong ELF class") else { return .otherArchitecture }
            return .unloadable(error)
        }
        dlclose(handle)
        return .loads
    }
}
