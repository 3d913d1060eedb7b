// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDConversion
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// What Vulkan's drivers offer for color conversion, and whether pictures are converted correctly.
enum VulkanProbe {
    /// Probes every device.
    ///
    /// - Parameter report: called before each trial, which the driver may not survive.
    static func answer(_ request: ProbeRequest, report: (ProbeReport) -> Void) -> ProbeAnswer {
        let survey: VulkanSurvey
        do throws(SessionError) { survey = try VulkanSurvey() } catch {
            let paths = VulkanFiles.paths
            let fault = VulkanManifests.fault(of: paths)
            return ProbeAnswer(
                vulkan: VulkanReport(
                    state: .absent, reason: VulkanReport.onCPU(fault?.reason ?? error.reason), cause: fault?.cause),
                files: LoadedFiles.stamps(paths))
        }
        var verifier = Verifier(
            request,
            key: ProbeRecord.Key(
                device: FNV1a(survey.identity.utf8).text, driver: "", kernel: Verifier.kernel,
                libraries: "Vulkan loader \(survey.loader)", catalogue: ""))
        var devices = survey.devices
        for index in devices.indices where devices[index].claimed {
            verify(&devices[index], survey, &verifier, report)
        }
        // The drivers stay loaded until the process exits: their files are listed below, and unloading takes time.
        _ = Unmanaged.passRetained(survey)
        return ProbeAnswer(
            vulkan: VulkanReport(state: .ready, loader: survey.loader, devices: devices), record: verifier.record,
            untried: verifier.untried, files: LoadedFiles.stamps(VulkanFiles.paths))
    }

    private static func verify(
        _ device: inout ComputeDevice, _ survey: VulkanSurvey, _ verifier: inout Verifier,
        _ report: (ProbeReport) -> Void
    ) {
        let claimed = device
        let converted = verifier.verify(claimed.id) { soFar in
            report(.trying(soFar.recordSoFar, path: claimed.id))
            return survey.trial(of: claimed).map { Verifier.Fault(reason: $0) }
        }
        device.tried = converted != nil
        device.verified = converted?.verified ?? false
        device.reason = converted.map(\.reason) ?? "not verified: no picture was converted on it yet"
        guard device.verified else { return }
        if device.imports.hostMemory { verifyImport(&device, survey, &verifier, report) }
        // Software is never chosen for its speed.
        if device.kind != .cpu { measure(&device, survey, &verifier, report) }
    }

    private static func verifyImport(
        _ device: inout ComputeDevice, _ survey: VulkanSurvey, _ verifier: inout Verifier,
        _ report: (ProbeReport) -> Void
    ) {
        let claimed = device
        let path = "\(claimed.id) host memory"
        let imported = verifier.verify(path) { soFar in
            report(.trying(soFar.recordSoFar, path: path))
            do throws(SystemError) {
                // A memfd, like the pools of clients.
                let pages = try SharedMemory(creating: "hwdaemon-probe", size: VulkanSurvey.trialBytes)
                return withExtendedLifetime(pages) {
                    survey.trial(of: claimed, in: pages.mutableBytes).map { Verifier.Fault(reason: $0) }
                }
            } catch { return Verifier.Fault(reason: "no memory is available to try it: \(error)") }
        }
        device.imports.hostMemoryVerified = imported?.verified ?? false
    }

    private static func measure(
        _ device: inout ComputeDevice, _ survey: VulkanSurvey, _ verifier: inout Verifier,
        _ report: (ProbeReport) -> Void
    ) {
        let claimed = device
        let path = "\(claimed.id) speed"
        let measured = verifier.result(of: path) { soFar in
            report(.trying(soFar.recordSoFar, path: path))
            do throws(SessionError) {
                var result = ProbeRecord.Result(id: path, verified: true, reason: nil)
                result.speed = try survey.speed(of: claimed)
                return result
            } catch { return ProbeRecord.Result(id: path, verified: false, reason: error.reason) }
        }
        device.speed = measured?.speed
    }
}

/// The files in which Vulkan's loader finds drivers, and the devices that those open.
enum VulkanFiles {
    /// Files and directories, which need not exist: one that appears counts as a change.
    static var paths: [String] {
        var paths = ["/etc/ld.so.cache", "/dev/nvidiactl", "/dev/dxg", "/dev/dri"]
        paths += entries(of: "/dev/dri").filter { $0.hasPrefix("renderD") }.map { "/dev/dri/\($0)" }
        for folder in folders {
            paths.append(folder)
            paths += entries(of: folder).filter { $0.hasSuffix(".json") }.map { "\(folder)/\($0)" }
        }
        for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"] {
            for path in list(name) {
                paths.append(path)
                paths += entries(of: path).filter { $0.hasSuffix(".json") }.map { "\(path)/\($0)" }
            }
        }
        return paths
    }

    /// The directories of the manifests of drivers and implicit layers (LoaderDriverInterface.md,
    /// LoaderLayerInterface.md).
    private static var folders: [String] {
        var bases: [String] = []
        func add(_ name: String, home: String?, else others: [String]) {
            let found = list(name)
            if let home, found.isEmpty { bases += list("HOME").map { "\($0)/\(home)" } }
            bases += found.isEmpty ? others : found
        }
        add("XDG_CONFIG_HOME", home: ".config", else: [])
        add("XDG_CONFIG_DIRS", home: nil, else: ["/etc/xdg"])
        bases += ["/etc", "/usr/local/etc"]
        add("XDG_DATA_HOME", home: ".local/share", else: [])
        add("XDG_DATA_DIRS", home: nil, else: ["/usr/local/share", "/usr/share"])
        return bases.flatMap { ["\($0)/vulkan/icd.d", "\($0)/vulkan/implicit_layer.d"] }
    }

    /// The paths in an environment variable, separated by colons.
    private static func list(_ name: String) -> [String] {
        (Environment.value(name) ?? "").split(separator: ":").map(String.init)
    }

    private static func entries(of folder: String) -> [String] {
        ((try? Directory.names(in: folder, limit: 64)) ?? []).filter { !$0.hasPrefix(".") }
    }
}
