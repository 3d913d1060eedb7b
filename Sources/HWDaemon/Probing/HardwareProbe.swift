// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDSystem
internal import HWDTransport
internal import HWDVAAPI
internal import HWDWire

/// Which paths of the catalogue a node's driver claims, of VA-API or NVIDIA's, and whether frames come back intact.
struct HardwareProbe {
    /// A path of the catalogue on this node.
    private struct Candidate {
        var path: CodecPath
        var entry: Capabilities.Path
        /// The entry point and its quirks; nil if the path is not claimed or must not be used.
        var hardware: HardwarePath?

        init(path: CodecPath, entry: Capabilities.Path, hardware: HardwarePath? = nil) {
            (self.path, self.entry, self.hardware) = (path, entry, hardware)
        }

        /// A path that the driver does not claim, whatever a quirk says of it.
        init(unclaimed path: CodecPath, _ entry: Capabilities.Path, _ reason: String) {
            self.init(path: path, entry: entry)
            (self.path.reason, self.path.cause) = (reason, nil)
        }
    }

    /// The claims of a driver, and the files that they depend on.
    private struct Claims {
        var candidates: [Candidate]
        /// The libraries that the driver is used through, with their versions.
        var libraries: String
        var files: [FileStamp]
    }

    let request: ProbeRequest
    let catalogue: Catalogue
    /// The drivers that were found before the sandbox closed.
    let drivers: DriverFiles
    /// Decodes what was encoded; without one, nothing is verified.
    let reference: (any ReferenceCodec)?
    /// Called before each trial, which the driver may not survive.
    let report: (ProbeReport) -> Void

    /// Probes a node.
    func answer(_ node: consuming DeviceNode) -> ProbeAnswer {
        do throws(VAError) {
            let isCard = CodecInterface(node: node.description.node) == .nvidia
            guard let claims = isCard ? cardClaims(&node) : try claims(&node) else {
                return ProbeAnswer(node: node.description, refused: isCard ? drivers.refused(of: .nvdec) : [])
            }
            var verifier = Verifier(request, key: key(node, claims), reference: reference)
            var answer = verify(claims.candidates, &node, &verifier)
            answer.files = claims.files + (verifier.referenceFile.map { [FileStamp(now: $0)] } ?? [])
            return answer
        } catch {
            let name = Environment.value("LIBVA_DRIVER_NAME")
            let refused = refusedDriver(error)
            let cause = refused == nil ? Self.cause(error, isNamed: name != nil) : .driverRefused
            node.description.state = .driverFailed
            node.description.cause = cause
            node.description.reason = "the VA-API driver failed: \(error)"
            if let refused {
                node.description.reason = "the VA-API driver failed: \(refused.sentence)"
                return ProbeAnswer(node: node.description, refused: [refused])
            }
            if let name { node.description.reason? += "; LIBVA_DRIVER_NAME is \(name)" }
            if cause == .driverMissing, let remedy = cause.remedy(pciID: node.description.pciID) {
                node.description.reason? += ": \(remedy)"
            }
        }
        return ProbeAnswer(node: node.description)
    }

    /// The driver that libva tried and that the sandbox blocks; nil where it failed for another reason.
    private func refusedDriver(_ error: VAError) -> RefusedDriver? {
        drivers.refused(of: .vaapi).first { refused in
            [error.message, error.missingFile].contains { $0?.contains(refused.driver) == true }
        }
    }

    /// The cause of a driver that does not start.
    ///
    /// - Parameter isNamed: whether `LIBVA_DRIVER_NAME` chose the driver: the name is the likely cause, because libva itself picks
    ///   the right driver.
    private static func cause(_ error: VAError, isNamed: Bool) -> ProbeCause {
        if error.missingFile != nil { return isNamed ? .driverName : .driverMissing }
        // libva looks for the entry of each of its minor versions, and names the last.
        if error.message?.contains("has no function __vaDriverInit") == true { return .driverVersion }
        return isNamed ? .driverName : .driverFailed
    }

    /// The versions for which the results are valid; an out-of-tree kernel driver has its own version.
    private func key(_ node: borrowing DeviceNode, _ claims: Claims) -> ProbeRecord.Key {
        let kernelDriver = node.kernelDriver.map { " \($0.name) \($0.version)" } ?? ""
        return ProbeRecord.Key(
            device: node.description.pciAddress ?? node.description.node, driver: node.description.driver ?? "",
            kernel: Verifier.kernel + kernelDriver, libraries: claims.libraries, catalogue: catalogue.digest)
    }

    /// Asks the driver about every path of the catalogue; nil for a node without a driver.
    ///
    /// The driver is terminated when this returns, unless nothing else is done with it: then the process exits first.
    private func claims(_ node: inout DeviceNode) throws(VAError) -> Claims? {
        guard let display = try node.startDriver() else { return nil }
        // Unloading a driver and its libraries takes milliseconds.
        if reference == nil { _ = Unmanaged.passRetained(display) }
        let profiles = try display.profiles()
        var candidates: [Candidate] = []
        for entry in catalogue.capabilities.paths where entry.enabled {
            let candidate = try candidate(entry, display, profiles, node.description)
            // That a driver lacks what no session uses explains nothing.
            if entry.servesSessions || candidate.path.claimed { candidates.append(candidate) }
        }
        return Claims(
            candidates: candidates, libraries: "libva \(display.version)",
            files: LoadedFiles.stamps(catalogue.files + [node.description.node]))
    }

    /// The catalogue's decoders and encoders on a card of NVIDIA's; nil where it cannot be used.
    ///
    /// CUDA is not started: which of them the chip has is found when they are tried.
    private func cardClaims(_ node: inout DeviceNode) -> Claims? {
        guard node.isUsable else { return nil }
        if let fault = NVIDIALibraries.load(drivers) {
            node.description.state = .driverFailed
            (node.description.reason, node.description.cause) = (fault.reason, fault.cause)
            return nil
        }
        node.description.state = .ready
        let version = node.kernelDriver.map { ", driver \($0.version)" } ?? ""
        node.description.driver = "NVIDIA NVDEC\(version)"
        let encoderFault = NVIDIALibraries.encoderFault(drivers)
        var candidates: [Candidate] = []
        for entry in catalogue.capabilities.paths where entry.enabled {
            let isEncoder = entry.operation == .encode
            let name = isEncoder ? "NVENC" : "NVDEC"
            var entry = entry
            // libavcodec sets no others.
            if isEncoder { entry.features = entry.features.filter { $0 == .bFrames } }
            var path = CodecPath(entry, device: node.description.node, driver: "NVIDIA \(name)\(version)")
            let isAllowed = catalogue.capabilities.apply(to: &path, pciID: node.description.pciID)
            if isEncoder, let encoderFault {
                candidates.append(Candidate(unclaimed: path, entry, encoderFault))
                continue
            }
            path.claimed = true
            path.hardware = HardwareLimits(entrypoint: name, rateControl: isEncoder ? ["CQP", "CBR", "VBR"] : [])
            candidates.append(
                Candidate(
                    path: path, entry: entry,
                    hardware: isAllowed ? HardwarePath(entry, entrypoint: name, quirks: []) : nil))
        }
        return Claims(
            candidates: candidates, libraries: "CUDA",
            files: LoadedFiles.stamps(catalogue.files + [node.description.node]))
    }

    private func candidate(
        _ entry: Capabilities.Path, _ display: Display, _ profiles: [String], _ node: RenderNode
    ) throws(VAError) -> Candidate {
        var path = CodecPath(entry, device: node.node, driver: display.vendor)
        let isAllowed = catalogue.capabilities.apply(to: &path, pciID: node.pciID)
        guard profiles.contains(entry.vaProfile) else {
            return Candidate(unclaimed: path, entry, "the driver has no \(entry.vaProfile)")
        }
        let offered = try display.entrypoints(of: entry.vaProfile)
        guard let entrypoint = entry.vaEntrypoints.first(where: offered.contains) else {
            let required = entry.vaEntrypoints.joined(separator: ", nor ")
            return Candidate(unclaimed: path, entry, "the driver has \(entry.vaProfile), but not with \(required)")
        }
        let attributes = try display.attributes(profile: entry.vaProfile, entrypoint: entrypoint)
        let isEncoder = entry.operation == .encode
        path.hardware = HardwareLimits(
            entrypoint: entrypoint, maxWidth: attributes?.maxWidth, maxHeight: attributes?.maxHeight,
            rateControl: isEncoder ? attributes?.rateControlNames ?? [] : [],
            packedHeaders: isEncoder ? attributes?.packedHeaderNames ?? [] : [])
        guard attributes?.hasRTFormat(entry.vaRTFormat) ?? false else {
            return Candidate(
                unclaimed: path, entry,
                "the driver has \(entrypoint) of \(entry.vaProfile), but not on \(entry.vaRTFormat) surfaces")
        }
        path.claimed = true
        guard isAllowed else { return Candidate(path: path, entry: entry) }
        let quirks = catalogue.capabilities.quirks(driver: display.vendor, pciID: node.pciID, path: entry.id)
        return Candidate(
            path: path, entry: entry, hardware: HardwarePath(entry, entrypoint: entrypoint, quirks: quirks))
    }

    /// Sends frames through the claimed paths that the request covers and no record answers.
    private func verify(
        _ candidates: [Candidate], _ node: inout DeviceNode, _ verifier: inout Verifier
    ) -> ProbeAnswer {
        var verified: [Candidate] = []
        var paths: [CodecPath] = []
        for var candidate in candidates {
            if let hardware = candidate.hardware {
                let (entry, limits) = (candidate.entry, candidate.path.hardware)
                let (name, file) = (node.description.node, node.fileDescriptor)
                verifier.verify(&candidate.path) { soFar in
                    report(.trying(soFar.recordSoFar, path: entry.id))
                    return trial(entry, limits, hardware, node: name, file: file)
                }
            }
            // What a card has is found by trying it; that it lacks what no session uses explains nothing.
            if [.noDecoder, .noEncoder].contains(candidate.path.cause) {
                guard candidate.entry.servesSessions else { continue }
                candidate.path.claimed = false
            }
            paths.append(candidate.path)
            if candidate.path.verified { verified.append(candidate) }
        }
        let encoders = verified.filter { $0.entry.operation == .encode }
        let isCard = CodecInterface(node: node.description.node) == .nvidia
        let works = isCard ? verified.contains { $0.entry.servesSessions } : !encoders.isEmpty
        node.description.reason = works ? nil : Self.reason(paths, isCard ? .decode : .encode)
        if !works {
            let claimed = paths.first { $0.operation == (isCard ? .decode : .encode) && $0.claimed }
            node.description.cause = claimed.map(\.cause) ?? (isCard ? .noDecoder : .noEncoder)
            if verifier.isBusy { (node.description.state, node.description.cause) = (.busy, .busy) }
        }
        if let file = node.fileDescriptor,
            let fault = VideoFirmware.fault(node: file, node.description.kernelDriver, paths)
        {
            let before = node.description.reason.map { "\($0): " } ?? ""
            node.description.reason = before + fault.reason
            node.description.cause = fault.cause
        }
        return ProbeAnswer(
            node: node.description, encoders: Self.encoder(encoders, node.description).map { [$0] } ?? [],
            paths: paths, record: verifier.record,
            hardware: Self.hardwareEncoder(encoders, node.description).map { [$0] } ?? [],
            untried: verifier.untried, isWhole: reference != nil || verifier.untried.isEmpty,
            quirks: catalogue.capabilities.descriptions(of: paths))
    }

    /// Sends frames through a path; returns nil if they come back intact.
    ///
    /// - Parameters:
    ///   - node: the node's path.
    ///   - file: its descriptor, which an encoder needs.
    private func trial(
        _ entry: Capabilities.Path, _ limits: HardwareLimits?, _ hardware: HardwarePath, node: String, file: Int32?
    ) -> Verifier.Fault? {
        guard let reference else { return Verifier.Fault(reason: Verifier.noDecoder) }
        guard entry.servesSessions else {
            guard let picture = TrialPictures.picture(entry.codec, bitDepth: entry.bitDepth) else {
                return Verifier.Fault(reason: "there is no picture to verify it with")
            }
            return picture.decode(node: node, reference: reference)
        }
        let trial = HardwareTrial(bitDepth: entry.bitDepth, limits, reference: reference)
        guard entry.operation == .encode else { return trial.decode(node: node) }
        if CodecInterface(node: node) == .nvidia { return trial.encode(card: node) }
        guard let file else { return Verifier.Fault(reason: "\(node) is not open") }
        return trial.encode(node: file, hardware)
    }
}

// How sessions see a node's encoders.
extension HardwareProbe {
    /// The encoder's id, from the node's place on the bus, which unlike its number is stable over boots.
    private static func id(_ node: RenderNode) -> String {
        let name = node.pciAddress ?? node.node.split(separator: "/").last.map(String.init) ?? node.node
        return "org.hwdaemon.encoder.\(CodecInterface(node: node.node).encoderID).\(name)"
    }

    /// The encoder that sessions may choose on a node; nil if nothing was verified.
    private static func encoder(_ verified: [Candidate], _ node: RenderNode) -> EncoderDescription? {
        guard let first = verified.first else { return nil }
        let driver = first.path.driver
        // Pictures below the driver's minimum are padded; those above its maximum cannot be encoded.
        let sizes = PictureSizes(
            maxWidth: verified.compactMap { $0.path.hardware?.maxWidth }.min(),
            maxHeight: verified.compactMap { $0.path.hardware?.maxHeight }.min())
        return EncoderDescription(
            id: id(node), name: "\(driver) on \(node.node)", codec: first.entry.codec, hardware: true,
            version: driver, bitDepths: verified.map(\.entry.bitDepth).sorted(),
            pixelFormats: verified.flatMap(\.entry.pixelFormats) + PixelFormat.rgb.map(\.rawValue),
            device: node.node, pciAddress: node.pciAddress, sizes: sizes)
    }

    /// How workers open a node's encoder; nil if nothing was verified.
    private static func hardwareEncoder(_ verified: [Candidate], _ node: RenderNode) -> HardwareEncoder? {
        let paths = verified.compactMap { candidate in
            candidate.hardware.map {
                HardwareEncoder.Path(
                    bitDepth: candidate.entry.bitDepth, vaProfile: $0.vaProfile, vaEntrypoint: $0.vaEntrypoint,
                    vaRTFormat: $0.vaRTFormat, features: $0.features, adjustments: $0.adjustments)
            }
        }
        return paths.isEmpty ? nil : HardwareEncoder(encoderID: id(node), node: node.node, paths: paths)
    }

    /// Why a node whose driver started has no encoder, or a card of NVIDIA's no decoder.
    private static func reason(_ paths: [CodecPath], _ operation: CodecOperation) -> String {
        let noun = operation == .encode ? "encoder" : "decoder"
        let own = paths.filter { $0.operation == operation }
        guard let claimed = own.first(where: \.claimed) else { return "its driver has no HEVC \(noun)" }
        return "its HEVC \(noun) is not used: \(claimed.reason ?? Verifier.notTried)"
    }
}
