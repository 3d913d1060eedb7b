// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model
internal import Sessions
internal import VAAPI
internal import Wire

/// What a node's VA-API driver claims, path by path of the catalogue.
enum HardwareProbe {
    /// Why no path in hardware is verified.
    static let notVerified = "verification of hardware paths is not built into this version"

    static func answer(
        _ request: ProbeRequest, _ path: String, _ catalogue: Catalogue, _ judge: (any StreamJudge)?
    ) -> ProbeAnswer {
        var record: ProbeRecord?
        var node = DeviceNode(path)
        var paths: [CodecPath] = []
        do throws(VAError) {
            if let display = try node.startDriver() {
                paths = try look(at: display, node.description, catalogue.capabilities)
                record = verify(&paths, request, node.description, catalogue, judge)
                node.description.reason = reason(paths)
            }
        } catch {
            node.description.state = .driverFailed
            node.description.reason = "the VA-API driver failed: \(error)"
        }
        return ProbeAnswer(node: node.description, paths: paths, record: record)
    }

    /// Sends frames through the decoders that are claimed and not forbidden; what to remember of that.
    private static func verify(
        _ paths: inout [CodecPath], _ request: ProbeRequest, _ node: RenderNode, _ catalogue: Catalogue,
        _ judge: (any StreamJudge)?
    ) -> ProbeRecord? {
        var verifier = Verifier(
            request,
            key: ProbeRecord.Key(
                device: node.pciAddress ?? node.node, driver: node.driver ?? "", kernel: Verifier.kernel,
                libraries: "", catalogue: catalogue.digest))
        for index in paths.indices
        where paths[index].operation == "decode" && paths[index].claimed && paths[index].reason == notVerified {
            let depth = paths[index].bitDepth
            verifier.verify(&paths[index]) {
                judge.map { HardwareDecodeTrial.fault(bitDepth: depth, device: node.node, judge: $0) }
                    ?? "there is no decoder to verify it with"
            }
        }
        return verifier.record
    }

    private static func look(
        at display: Display, _ node: RenderNode, _ capabilities: Capabilities
    ) throws(VAError) -> [CodecPath] {
        let profiles = try display.profiles()
        var paths: [CodecPath] = []
        for entry in capabilities.paths where entry.enabled {
            var path = CodecPath(entry, device: node.node, driver: display.vendor)
            let isAllowed = capabilities.apply(to: &path, pciID: node.pciID)
            if !profiles.contains(entry.vaProfile) {
                path.reason = "the driver has no \(entry.vaProfile)"
            } else {
                let offered = try display.entrypoints(of: entry.vaProfile)
                if let entrypoint = entry.vaEntrypoints.first(where: offered.contains) {
                    let attributes = try display.attributes(profile: entry.vaProfile, entrypoint: entrypoint)
                    note(attributes, entry, entrypoint, isAllowed, on: &path)
                } else {
                    let wanted = entry.vaEntrypoints.joined(separator: ", nor ")
                    path.reason = "the driver has \(entry.vaProfile), but not with \(wanted)"
                }
            }
            paths.append(path)
        }
        return paths
    }

    private static func note(
        _ attributes: ConfigAttributes?, _ entry: Capabilities.Path, _ entrypoint: String, _ isAllowed: Bool,
        on path: inout CodecPath
    ) {
        let isEncoder = entry.operation == .encode
        path.hardware = HardwareLimits(
            entrypoint: entrypoint, maxWidth: attributes?.maxWidth, maxHeight: attributes?.maxHeight,
            rateControl: isEncoder ? attributes?.rateControlNames ?? [] : [],
            packedHeaders: isEncoder ? attributes?.packedHeaderNames ?? [] : [])
        guard attributes?.hasRTFormat(entry.vaRTFormat) ?? false else {
            path.reason =
                "the driver has \(entrypoint) of \(entry.vaProfile), but not on \(entry.vaRTFormat) surfaces"
            return
        }
        path.claimed = true
        if isAllowed { path.reason = notVerified }
    }

    /// Why nothing is encoded on a node whose driver started.
    private static func reason(_ paths: [CodecPath]) -> String {
        let encoders = paths.filter { $0.operation == "encode" }
        guard let claimed = encoders.first(where: \.claimed) else { return "its driver has no HEVC encoder" }
        return "its HEVC encoder is not used: \(claimed.reason ?? notVerified)"
    }
}
