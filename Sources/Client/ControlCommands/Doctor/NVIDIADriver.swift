// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// NVIDIA's cards on this machine, and the parts of their driver that are installed.
struct NVIDIADriver: Hashable {
    /// A fault of the driver's installation, as a sentence.
    struct Fault: Hashable {
        var cause: ProbeCause
        var text: String
    }

    /// The kernel's driver of each card, by its PCI address; empty where it has none.
    private var cards: [String: String] = [:]
    /// The version of NVIDIA's kernel module; nil where it is not loaded.
    private var module: String?
    private var drmIsLoaded = false
    /// Whether nvidia-drm creates render nodes; nil where that is not known.
    private var drmMakesNodes: Bool?
    /// Whether /dev/nvidiactl exists, and /dev/nvidia-uvm, which CUDA and the decoder need.
    private var (hasNode, hasMemoryNode) = (false, false)
    /// The versions of the libraries in each folder.
    private var libraries: [String: Set<String>] = [:]
    /// Those of these folders in which the dynamic linker looks.
    private var searched: Set<String> = []
    /// NVIDIA_DRIVER_CAPABILITIES, by which a container's runtime mounts parts of the driver; nil if it is not set.
    private var capabilities: String?

    /// Folders that hold the driver on some systems, beside those in which every linker looks.
    private static let folders = [
        "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current",
        "/usr/lib/nvidia", "/usr/lib64/nvidia", "/opt/nvidia/lib64", "/run/opengl-driver/lib",
    ]
    private static let defaultFolders = [
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
    ]
    /// Libraries whose file names end with the driver's version.
    private static let names = ["libcuda.so.", "libGLX_nvidia.so."]

    /// Examines a machine; nil where nothing of NVIDIA's is found.
    ///
    /// - Parameters:
    ///   - root: what precedes the absolute paths of the machine's files.
    ///   - environment: the process's variables.
    init?(root: String, environment: (String) -> String?) {
        func text(_ path: String) -> String? {
            (try? BoundedFile.read(root + path, limit: 1 << 22)).map { String(decoding: $0, as: UTF8.self) }
        }
        func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }
        let devices = "/sys/bus/pci/devices"
        for name in (try? Directory.names(in: root + devices, limit: 1024)) ?? [] {
            // A display controller: for screens (0300), or without them (0302).
            guard text("\(devices)/\(name)/vendor")?.hasPrefix("0x10de") == true,
                text("\(devices)/\(name)/class")?.hasPrefix("0x03") == true
            else { continue }
            let driver = ResolvedPath.link("\(root)\(devices)/\(name)/driver")
            cards[name] = driver?.split(separator: "/").last.map(String.init) ?? ""
        }
        module = text("/proc/driver/nvidia/version").flatMap(Self.moduleVersion)
        drmIsLoaded = exists("/sys/module/nvidia_drm")
        drmMakesNodes = text("/sys/module/nvidia_drm/parameters/modeset").map { $0.hasPrefix("Y") }
        hasNode = exists("/dev/nvidiactl")
        hasMemoryNode = exists("/dev/nvidia-uvm")
        capabilities = environment("NVIDIA_DRIVER_CAPABILITIES")
        let own =
            Self.defaultFolders + (environment("LD_LIBRARY_PATH") ?? "").split(separator: ":").map(String.init)
        let cache = text("/etc/ld.so.cache") ?? ""
        for folder in own + Self.folders {
            let files = ((try? Directory.names(in: root + folder, limit: 1 << 14)) ?? []).filter { name in
                Self.names.contains { name.hasPrefix($0) }
            }
            // Distributions that keep several versions have links here.
            let versions = files.compactMap { Self.libraryVersion(ResolvedPath.of("\(root)\(folder)/\($0)") ?? $0) }
            guard !versions.isEmpty else { continue }
            libraries[folder] = Set(versions)
            // The linker's list has the path of each of its files.
            if own.contains(folder) || files.contains(where: { cache.contains("\(folder)/\($0)\0") }) {
                searched.insert(folder)
            }
        }
        guard !cards.isEmpty || module != nil || hasNode else { return nil }
    }

    /// The version in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …`.
    private static func moduleVersion(_ text: String) -> String? {
        text.split(whereSeparator: \.isWhitespace).map(String.init).first(where: isVersion)
    }

    /// The driver's version at the end of a library's name; nil for another ending, as in `libcuda.so.1`.
    private static func libraryVersion(_ name: String) -> String? {
        let parts = name.split(separator: ".so.", maxSplits: 1)
        return parts.count == 2 && isVersion(String(parts[1])) ? String(parts[1]) : nil
    }

    private static func isVersion(_ word: String) -> Bool {
        let parts = word.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isNumber) && $0.count <= 6 }
    }

    /// What is wrong.
    ///
    /// - Parameters:
    ///   - isContainer: whether this is a container, whose host has the modules.
    ///   - hasRenderNode: whether the daemon has a render node.
    func faults(isContainer: Bool, hasRenderNode: Bool) -> [Fault] {
        if let (card, _) = cards.sorted(by: { $0.key < $1.key }).first(where: { $0.value == "nouveau" }) {
            return [
                Fault(cause: .nouveau, text: "the NVIDIA card \(card) is driven by nouveau, which cannot encode")
            ]
        }
        if isContainer { return containerFaults }
        guard let module else {
            return [
                Fault(
                    cause: .nvidiaModule, text: "this machine has an NVIDIA card, whose kernel module is not loaded"
                )
            ]
        }
        return libraryFaults(module) + nodeFaults(hasRenderNode: hasRenderNode)
    }

    private var containerFaults: [Fault] {
        guard hasNode, libraries.isEmpty else { return [] }
        let value = capabilities.map { "is \($0.printable(maxBytes: 100))" } ?? "is not set"
        return [
            Fault(
                cause: .nvidiaCapabilities,
                text: "this container has NVIDIA's device nodes and no library of its driver: "
                    + "NVIDIA_DRIVER_CAPABILITIES \(value)")
        ]
    }

    private func libraryFaults(_ module: String) -> [Fault] {
        let found = Set(searched.flatMap { libraries[$0] ?? [] })
        if found.isEmpty, let folder = libraries.keys.sorted().first {
            return [
                Fault(
                    cause: .nvidiaFolder,
                    text: "NVIDIA's libraries are in \(folder), where the dynamic linker does not look")
            ]
        }
        guard !found.isEmpty, !found.contains(module) else { return [] }
        let versions = found.sorted().joined(separator: ", ").printable(maxBytes: 100)
        return [
            Fault(
                cause: .nvidiaVersion,
                text: "NVIDIA's libraries are of version \(versions), its kernel module of version \(module)")
        ]
    }

    private func nodeFaults(hasRenderNode: Bool) -> [Fault] {
        var faults: [Fault] = []
        if !hasRenderNode, !drmIsLoaded || drmMakesNodes != true {
            // Only root may read the parameter.
            let why =
                if !drmIsLoaded { "is not loaded" } else if drmMakesNodes == false {
                    "does not set modes (modeset=0)"
                } else { "makes none" }
            faults.append(
                Fault(
                    cause: .nvidiaModeset,
                    text: "NVIDIA's card has no render node (/dev/dri/renderD*), because nvidia-drm \(why)"))
        }
        if hasNode, !hasMemoryNode {
            faults.append(
                Fault(
                    cause: .nvidiaMemory,
                    text: "nvidia-uvm does not exist: CUDA and NVIDIA's decoder need /dev/nvidia-uvm, "
                        + "and the daemon has no privilege to make it"))
        }
        return faults
    }
}
