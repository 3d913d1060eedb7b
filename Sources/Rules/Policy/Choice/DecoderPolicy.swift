// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The choice of decoder: one pure function, so that every refusal and every fallback can be tested.
public enum DecoderPolicy {
    /// The client's requirements for the decoder.
    public struct Request: Hashable, Sendable {
        /// Hardware may be used.
        public var enableHardware: Bool
        /// Only hardware may be used.
        public var requireHardware: Bool
        /// The only decoder that may be used; nil for any.
        public var codecID: String?
        /// `hevc`, or another codec that an app asks about.
        public var codec = CompressionRequest.codec
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// Nil when it is not known yet, which fits every decoder.
        public var size: PictureSize?
        /// What the GPUs do already; those that are full are not chosen.
        public var loads: [HardwareLoad] = []
        /// The decoder that the session had before its process failed, which is chosen again if it fits.
        public var previousID: String?

        /// Reads a decoder specification.
        ///
        /// - Throws: `PropertyNotSupported` for an unknown key, `Parameter` for a value of the wrong type.
        public init(
            specification: [String: PropertyValue], bitDepth: Int, size: PictureSize? = nil
        ) throws(SessionError) {
            self.bitDepth = bitDepth
            self.size = size
            let requirement = HardwareRequirement(decoderSpecification: specification)
            requireHardware = requirement == .required
            enableHardware = requirement != .none
            for (name, value) in specification.sorted(by: { $0.key < $1.key }) {
                switch (PropertyKey(rawValue: name), value) {
                case (.enableHardwareDecoder, .bool), (.requireHardwareDecoder, .bool): break
                case (.decoderID, .string(let value)): codecID = value
                case (.enableHardwareDecoder, _), (.requireHardwareDecoder, _), (.decoderID, _):
                    throw SessionError(.parameter, "\(name) is of the wrong type: \(value)")
                default:
                    throw SessionError(.propertyNotSupported, "\(name) does not belong in a decoder specification")
                }
            }
        }
    }

    /// The chosen decoder.
    public struct Choice: Hashable, Sendable {
        /// The decoder to open.
        public var decoder: DecoderDescription
        /// Why it is not hardware although hardware was allowed; nil otherwise.
        public var fallbackReason: String?

        public init(decoder: DecoderDescription, fallbackReason: String? = nil) {
            self.decoder = decoder
            self.fallbackReason = fallbackReason
        }
    }

    /// Chooses the decoder to open next.
    ///
    /// - Throws: `CouldNotFindVideoDecoder` when none fits, `VideoDecoderNotAvailableNow` when the only ones that fit
    ///   are busy; the reason states what an administrator can do.
    public static func choose(
        _ request: Request, snapshot: ProbeSnapshot, failures: [CodecFailure] = []
    ) throws(SessionError) -> Choice {
        let failed = Set(failures.map(\.codecID))
        var full: [HardwareLoad] = []
        if request.enableHardware {
            let fitting = hardware(snapshot, request.codec).filter { decoder, path in
                path.bitDepth == request.bitDepth && path.verified && request.fits(path)
                    && (request.codecID ?? decoder.id) == decoder.id && !failed.contains(decoder.id)
            }.map(\.decoder)
            full = request.loads.filter { load in load.isFull && fitting.contains { $0.id == load.codecID } }
            let usable = fitting.filter { decoder in !full.contains { $0.codecID == decoder.id } }
            let chosen = GPULoad.leastLoaded(usable.map(\.id), request.loads, previous: request.previousID)
            if let decoder = usable.first(where: { $0.id == chosen }) { return Choice(decoder: decoder) }
        }
        let reason =
            full.isEmpty
            ? hardwareReason(request, snapshot: snapshot, failures: failures)
            : full.map(\.fullReason).joined(separator: "; ")
        if request.requireHardware {
            let isBusy = !full.isEmpty || failures.contains(where: \.isTransient)
            throw SessionError(
                isBusy ? .videoDecoderNotAvailableNow : .couldNotFindVideoDecoder,
                "hardware is required, but \(reason)")
        }
        guard (request.codecID ?? DecoderDescription.software.id) == DecoderDescription.software.id else {
            throw SessionError(.couldNotFindVideoDecoder, reason)
        }
        return Choice(decoder: .software, fallbackReason: request.enableHardware ? reason : nil)
    }

    /// Every decoder that was found, usable or not, hardware first.
    public static func candidates(_ snapshot: ProbeSnapshot) -> [DecoderDescription] {
        var seen: Set<String> = []
        return
            (hardware(snapshot, CompressionRequest.codec).sorted { $0.path.verified && !$1.path.verified }
            .map(\.decoder) + [.software]).filter { seen.insert($0.id).inserted }
    }

    /// Every decoder that was found: of hardware one for each codec and bit depth, then software's, which always works.
    public static func list(_ snapshot: ProbeSnapshot) -> [DecoderDescription] {
        let decoders = hardware(snapshot, nil).map(\.decoder)
        var software = DecoderDescription.software
        if let path = snapshot.paths.first(where: { $0.operation == .decode && $0.device == nil && $0.claimed }) {
            software.name = "\(path.driver) (software)"
        }
        return decoders + [software]
    }

    /// Every hardware decoder of a codec (nil for all) that was found, once for each of its paths.
    private static func hardware(
        _ snapshot: ProbeSnapshot, _ codec: String?
    ) -> [(decoder: DecoderDescription, path: CodecPath)] {
        snapshot.paths.compactMap { path in
            guard path.operation == .decode, path.codec == codec ?? path.codec, path.claimed,
                let device = path.device
            else { return nil }
            // The bus address is stable across boots, the node's number is not.
            let address = snapshot.nodes.first { $0.node == device }?.pciAddress
            let name = address ?? device.split(separator: "/").last.map(String.init) ?? device
            let interface = CodecInterface(node: device).decoderID
            var decoder = DecoderDescription(
                id: "org.hwdaemon.decoder.\(interface).\(name)", name: "\(path.driver) (hardware)",
                bitDepths: [path.bitDepth],
                device: device, pciAddress: address)
            decoder.codec = path.codec
            (decoder.maxWidth, decoder.maxHeight) = (path.hardware?.maxWidth, path.hardware?.maxHeight)
            (decoder.verified, decoder.reason) = (path.verified, path.reason)
            return (decoder, path)
        }
    }

    /// Why no hardware decoder can serve the request: a failure, otherwise a finding of the probe.
    private static func hardwareReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [CodecFailure]
    ) -> String {
        if let failure = failures.first { return "\(failure.codecID) failed: \(failure.reason)" }
        let found = hardware(snapshot, request.codec)
        let software = DecoderDescription.software.id
        if let id = request.codecID, id != software, !found.contains(where: { $0.decoder.id == id }) {
            let known = Set(found.map(\.decoder.id)).sorted() + [software]
            return "there is no decoder \(id) here; there is \(known.joined(separator: ", "))"
        }
        if snapshot.nodes.isEmpty { return "this machine has no render node (/dev/dri/renderD*)" }
        let depth = found.filter { $0.path.bitDepth == request.bitDepth }
        if let (decoder, path) = depth.first(where: { $0.path.verified }), let size = request.size,
            !request.fits(path)
        {
            return "\(decoder.id) does not decode pictures of \(size.width)x\(size.height)"
        }
        if let (decoder, path) = depth.first {
            return "\(decoder.id) is not used: \(path.reason ?? "it is not verified yet")"
        }
        if !found.isEmpty {
            return "no hardware decoder here decodes \(request.bitDepth)-bit \(name(of: request.codec))"
        }
        let why = snapshot.nodes.map { node in
            let isStarted = node.opened && node.state != .driverFailed
            return
                "\(node.node): \(isStarted ? "no \(name(of: request.codec)) decoder found on it" : node.reason ?? "it cannot be used")"
        }
        return why.joined(separator: "; ")
    }
}

extension DecoderPolicy {
    /// How messages name a codec.
    private static func name(of codec: String) -> String {
        ["hevc": "HEVC", "h264": "H.264", "vp9": "VP9", "av1": "AV1"][codec] ?? codec
    }
}

extension DecoderPolicy.Request {
    /// Whether a path decodes pictures of the requested size.
    fileprivate func fits(_ path: CodecPath) -> Bool {
        guard let size else { return true }
        return size.width <= path.hardware?.maxWidth ?? .max && size.height <= path.hardware?.maxHeight ?? .max
    }
}
