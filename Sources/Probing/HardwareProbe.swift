// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// What a node's VA-API driver claims, path by path of the catalogue, and whether frames come back right.
enum HardwareProbe {
    /// A path and how to go it.
    private struct Found {
        var path: CodecPath
        var entry: Capabilities.Path
        /// The entry point and the quirks on it; nil where the path is not claimed, or not to be used.
        var way: HardwarePath?
    }

    /// Looks at a node and answers.
    ///
    /// - Parameter report: told before each trial, which the driver may not survive.
    static func answer(
        _ request: ProbeRequest, _ path: String, _ catalogue: Catalogue, _ judge: (any StreamJudge)?,
        report: (ProbeReport) -> Void
    ) -> ProbeAnswer {
        var node = DeviceNode(path)
        do throws(VAError) {
            let claims = try claims(&node, catalogue, isLast: judge == nil)
            guard let (found, libva, files) = claims else { return ProbeAnswer(node: node.description) }
            let verifier = Verifier(
                request,
                key: ProbeRecord.Key(
                    device: node.description.pciAddress ?? path, driver: node.description.driver ?? "",
                    kernel: Verifier.kernel, libraries: libva, catalogue: catalogue.digest),
                judge: judge)
            var answer = verify(found, &node, verifier, judge, report)
            answer.files = files + (verifier.judgeFile.map { [FileStamp(now: $0)] } ?? [])
            return answer
        } catch {
            node.description.state = .driverFailed
            node.description.reason = "the VA-API driver failed: \(error)"
        }
        return ProbeAnswer(node: node.description)
    }

    /// Every path of the catalogue, libva's version and what was loaded; nil for a node without a driver.
    ///
    /// The driver has ended when this returns, unless nothing else is done with it: the process then ends before it.
    private static func claims(
        _ node: inout DeviceNode, _ catalogue: Catalogue, isLast: Bool
    ) throws(VAError) -> ([Found], libva: String, [FileStamp])? {
        guard let display = try node.startDriver() else { return nil }
        // Unloading a driver and its libraries takes milliseconds.
        if isLast { _ = Unmanaged.passRetained(display) }
        let profiles = try display.profiles()
        var found: [Found] = []
        for entry in catalogue.capabilities.paths where entry.enabled {
            found.append(try look(entry, display, profiles, node.description, catalogue.capabilities))
        }
        return (found, "libva \(display.version)", LoadedFiles.stamps(Catalogue.paths + [node.description.node]))
    }

    private static func look(
        _ entry: Capabilities.Path, _ display: Display, _ profiles: [String], _ node: RenderNode,
        _ capabilities: Capabilities
    ) throws(VAError) -> Found {
        var path = CodecPath(entry, device: node.node, driver: display.vendor)
        let isAllowed = capabilities.apply(to: &path, pciID: node.pciID)
        guard profiles.contains(entry.vaProfile) else {
            path.reason = "the driver has no \(entry.vaProfile)"
            return Found(path: path, entry: entry)
        }
        let offered = try display.entrypoints(of: entry.vaProfile)
        guard let entrypoint = entry.vaEntrypoints.first(where: offered.contains) else {
            let wanted = entry.vaEntrypoints.joined(separator: ", nor ")
            path.reason = "the driver has \(entry.vaProfile), but not with \(wanted)"
            return Found(path: path, entry: entry)
        }
        let attributes = try display.attributes(profile: entry.vaProfile, entrypoint: entrypoint)
        let isEncoder = entry.operation == .encode
        path.hardware = HardwareLimits(
            entrypoint: entrypoint, maxWidth: attributes?.maxWidth, maxHeight: attributes?.maxHeight,
            rateControl: isEncoder ? attributes?.rateControlNames ?? [] : [],
            packedHeaders: isEncoder ? attributes?.packedHeaderNames ?? [] : [])
        guard attributes?.hasRTFormat(entry.vaRTFormat) ?? false else {
            path.reason =
                "the driver has \(entrypoint) of \(entry.vaProfile), but not on \(entry.vaRTFormat) surfaces"
            return Found(path: path, entry: entry)
        }
        path.claimed = true
        guard isAllowed else { return Found(path: path, entry: entry) }
        let quirks = capabilities.quirks(driver: display.vendor, pciID: node.pciID, path: entry.id)
        return Found(
            path: path, entry: entry, way: HardwarePath(entry, entrypoint: entrypoint, quirks: quirks))
    }

    /// Sends frames through what is claimed, as far as it was asked for and is not known.
    private static func verify(
        _ found: [Found], _ node: inout DeviceNode, _ verifier: Verifier, _ judge: (any StreamJudge)?,
        _ report: (ProbeReport) -> Void
    ) -> ProbeAnswer {
        let description = node.description
        var verifier = verifier
        var verified: [Found] = []
        var paths: [CodecPath] = []
        for var one in found {
            if let way = one.way, let file = node.fileDescriptor {
                let (entry, limits) = (one.entry, one.path.hardware)
                verifier.verify(&one.path) { soFar in
                    guard let judge else { return Verifier.Fault(reason: "there is no decoder to verify it with") }
                    report(.trying(soFar.recordSoFar, path: entry.id))
                    let trial = HardwareTrial(bitDepth: entry.bitDepth, limits, judge: judge)
                    return entry.operation == .encode
                        ? trial.encode(node: file, way) : trial.decode(node: description.node)
                }
            }
            paths.append(one.path)
            if one.path.verified { verified.append(one) }
        }
        let encoders = verified.filter { $0.entry.operation == .encode }
        node.description.reason = encoders.isEmpty ? reason(paths) : nil
        if encoders.isEmpty, verifier.isBusy { node.description.state = .busy }
        return ProbeAnswer(
            node: node.description, encoders: encoder(encoders, description).map { [$0] } ?? [], paths: paths,
            record: verifier.record, hardware: hardware(encoders, description).map { [$0] } ?? [],
            untried: verifier.untried, isWhole: judge != nil || verifier.untried.isEmpty)
    }

    /// An encoder's id: by its place on the bus, which outlives the node's number.
    private static func id(_ node: RenderNode) -> String {
        let name = node.pciAddress ?? node.node.split(separator: "/").last.map(String.init) ?? node.node
        return "org.hwdaemon.encoder.vaapi.\(name)"
    }

    /// What sessions may use of a node; nil where nothing was verified.
    private static func encoder(_ found: [Found], _ node: RenderNode) -> EncoderDescription? {
        guard let first = found.first else { return nil }
        let driver = first.path.driver
        // Smaller pictures than the driver takes are padded; for larger ones there is no way.
        let sizes = PictureSizes(
            maxWidth: found.compactMap { $0.path.hardware?.maxWidth }.min(),
            maxHeight: found.compactMap { $0.path.hardware?.maxHeight }.min())
        return EncoderDescription(
            id: id(node), name: "\(driver) on \(node.node)", codec: first.entry.codec, hardware: true,
            version: driver, bitDepths: found.map(\.entry.bitDepth).sorted(),
            pixelFormats: found.flatMap(\.entry.pixelFormats) + PixelFormat.rgb.map(\.rawValue), device: node.node,
            pciAddress: node.pciAddress,
            sizes: sizes)
    }

    private static func hardware(_ found: [Found], _ node: RenderNode) -> HardwareEncoder? {
        let paths = found.compactMap { one in
            one.way.map {
                HardwareEncoder.Path(
                    bitDepth: one.entry.bitDepth, vaProfile: $0.vaProfile, vaEntrypoint: $0.vaEntrypoint,
                    vaRTFormat: $0.vaRTFormat, features: $0.features, adjustments: $0.adjustments)
            }
        }
        return paths.isEmpty ? nil : HardwareEncoder(encoderID: id(node), node: node.node, paths: paths)
    }

    /// Why nothing is encoded on a node whose driver started.
    private static func reason(_ paths: [CodecPath]) -> String {
        let encoders = paths.filter { $0.operation == .encode }
        guard let claimed = encoders.first(where: \.claimed) else { return "its driver has no HEVC encoder" }
        return "its HEVC encoder is not used: \(claimed.reason ?? Verifier.notTried)"
    }
}
