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
    /// - Parameters:
    ///   - drivers: those that were found before the sandbox closed.
    ///   - report: called before each trial, which the driver may not survive.
    static func answer(
        _ request: ProbeRequest, _ drivers: DriverFiles, report: (ProbeReport) -> Void
    ) -> ProbeAnswer {
        let (refused, others) = (drivers.refused(of: .vulkan), drivers.refused(of: .other))
        let searched = ManifestSearchPaths()
        // Stamps do not show when the sandbox admits a file again, so an answer with refused drivers is not reused.
        func stamps() -> [FileStamp] { refused.isEmpty ? LoadedFiles.stamps(VulkanFiles.paths(searched)) : [] }
        let survey: VulkanSurvey
        do throws(SessionError) { survey = try VulkanSurvey() } catch {
            let loader = others.first { $0.driver == DriverFiles.vulkanLoader }
            let fault: VulkanManifests.Fault? =
                loader.map { (.driverRefused, $0.sentence) }
                ?? VulkanManifests.fault(refused, installed: drivers.drivers(of: .vulkan).count)
                ?? VulkanManifests.fault(of: searched.vulkanDrivers.flatMap(ManifestSearchPaths.manifests))
            return ProbeAnswer(
                vulkan: VulkanReport(
                    state: .absent, reason: VulkanReport.onCPU(fault?.reason ?? error.reason), cause: fault?.cause),
                files: stamps(), refused: refused + others)
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
            untried: verifier.untried, files: stamps(), refused: refused + others)
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
        // Software is never chosen for its speed, whatever it presents itself as.
        if device.kind != .cpu, !device.driver.hasPrefix("llvmpipe") { measure(&device, survey, &verifier, report) }
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
    static func paths(_ searched: ManifestSearchPaths) -> [String] {
        let nodes = ((try? Directory.names(in: "/dev/dri", limit: 64)) ?? []).filter { $0.hasPrefix("renderD") }
        return ["/etc/ld.so.cache", "/dev/nvidiactl", "/dev/dxg", "/dev/dri"] + nodes.map { "/dev/dri/\($0)" }
            + (searched.vulkanDrivers + searched.vulkanLayers).flatMap { path in
                [path] + ManifestSearchPaths.manifests(at: path)
            }
    }
}
