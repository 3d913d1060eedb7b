// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The choice of decoder: one pure function, so that every refusal and every fallback can be tested.
public enum DecoderPolicy {
    /// What the client wants of the decoder.
    public struct Request: Hashable, Sendable {
        /// Hardware may be used.
        public var enableHardware: Bool
        /// Nothing but hardware will do.
        public var requireHardware: Bool
        /// This decoder and no other.
        public var decoderID: String?
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// Samples a row and rows, 0 where they are not known yet.
        public var width = 0, height = 0

        /// Reads a decoder specification.
        ///
        /// - Throws: `PropertyNotSupported` for a key that does not belong there, `Parameter` for a wrong type.
        public init(
            specification: [String: PropertyValue], bitDepth: Int, width: Int = 0, height: Int = 0
        ) throws(SessionError) {
            self.bitDepth = bitDepth
            self.width = width
            self.height = height
            requireHardware = false
            var enable: Bool?
            for (name, value) in specification.sorted(by: { $0.key < $1.key }) {
                switch (PropertyKey(rawValue: name), value) {
                case (.enableHardwareDecoder, .bool(let value)): enable = value
                case (.requireHardwareDecoder, .bool(let value)): requireHardware = value
                case (.decoderID, .string(let value)): decoderID = value
                case (.enableHardwareDecoder, _), (.requireHardwareDecoder, _), (.decoderID, _):
                    throw SessionError(.parameter, "\(name) is of the wrong type: \(value)")
                default:
                    throw SessionError(.propertyNotSupported, "\(name) does not belong in a decoder specification")
                }
            }
            // VideoToolbox: require implies enable.
            enableHardware = requireHardware || enable ?? true
        }
    }

    /// A decoder that a session may use.
    public struct Candidate: Hashable, Sendable {
        /// The value of `DecoderID`, stable over boots.
        public var id: String
        /// The render node; nil in software.
        public var device: String?
        /// The GPU, by PCI address where it has one; nil in software.
        public var gpu: String?
        /// Whether it is hardware.
        public var isHardware: Bool { device != nil }

        /// The software decoder.
        public static let software = Candidate(id: "org.hwdaemon.decoder.libavcodec")
    }

    /// A decoder that was tried for this session and did not open.
    public struct Failure: Hashable, Sendable {
        /// Which.
        public var decoderID: String
        /// Why; a sentence without its full stop.
        public var reason: String
        /// Whether it may work later (busy, at its limit).
        public var isTransient: Bool

        /// Remembers a failure.
        public init(decoderID: String, reason: String, isTransient: Bool) {
            self.decoderID = decoderID
            self.reason = reason
            self.isTransient = isTransient
        }
    }

    /// What was chosen.
    public struct Choice: Hashable, Sendable {
        /// The decoder to open.
        public var decoder: Candidate
        /// Why it is not hardware although hardware was allowed; nil otherwise.
        public var fallbackReason: String?

        /// A choice.
        public init(decoder: Candidate, fallbackReason: String? = nil) {
            self.decoder = decoder
            self.fallbackReason = fallbackReason
        }
    }

    /// Chooses the decoder to open next.
    ///
    /// - Throws: `CouldNotFindVideoDecoder` when nothing fits, `VideoDecoderNotAvailableNow` when something would if
    ///   it were not busy; the reason says what an admin can do.
    public static func choose(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure] = []
    ) throws(SessionError) -> Choice {
        let failed = Set(failures.map(\.decoderID))
        if request.enableHardware {
            let usable = hardware(snapshot).first { decoder, path in
                path.bitDepth == request.bitDepth && path.verified && fits(request, path)
                    && (request.decoderID ?? decoder.id) == decoder.id && !failed.contains(decoder.id)
            }
            if let usable { return Choice(decoder: usable.decoder) }
        }
        let reason = hardwareReason(request, snapshot, failures)
        if request.requireHardware {
            let isBusy = failures.contains(where: \.isTransient)
            throw SessionError(
                isBusy ? .videoDecoderNotAvailableNow : .couldNotFindVideoDecoder,
                "hardware is required, but \(reason)")
        }
        guard (request.decoderID ?? Candidate.software.id) == Candidate.software.id else {
            throw SessionError(.couldNotFindVideoDecoder, reason)
        }
        return Choice(decoder: .software, fallbackReason: request.enableHardware ? reason : nil)
    }

    /// Every decoder that was found, hardware first, whether it is used or not.
    public static func candidates(_ snapshot: ProbeSnapshot) -> [Candidate] {
        var seen: Set<String> = []
        return (hardware(snapshot).map(\.decoder) + [.software]).filter { seen.insert($0.id).inserted }
    }

    /// Every hardware decoder that was found, with the path it stands for.
    private static func hardware(_ snapshot: ProbeSnapshot) -> [(decoder: Candidate, path: CodecPath)] {
        snapshot.paths.compactMap { path in
            guard path.operation == .decode, path.codec == "hevc", path.claimed, let device = path.device else {
                return nil
            }
            // By its place on the bus, which outlives the node's number.
            let address = snapshot.nodes.first { $0.node == device }?.pciAddress
            let name = address ?? device.split(separator: "/").last.map(String.init) ?? device
            return (
                Candidate(id: "org.hwdaemon.decoder.vaapi.\(name)", device: device, gpu: address ?? device), path
            )
        }
    }

    private static func fits(_ request: Request, _ path: CodecPath) -> Bool {
        request.width <= path.hardware?.maxWidth ?? .max && request.height <= path.hardware?.maxHeight ?? .max
    }

    /// Why no hardware decoder can serve the request: the failures, else what the probe found.
    private static func hardwareReason(
        _ request: Request, _ snapshot: ProbeSnapshot, _ failures: [Failure]
    ) -> String {
        if let failure = failures.first { return "\(failure.decoderID) failed: \(failure.reason)" }
        let found = hardware(snapshot)
        if let id = request.decoderID, id != Candidate.software.id, !found.contains(where: { $0.decoder.id == id })
        {
            let known = Set(found.map(\.decoder.id)).sorted() + [Candidate.software.id]
            return "there is no decoder \(id) here; there is \(known.joined(separator: ", "))"
        }
        if snapshot.nodes.isEmpty { return "this machine has no render node (/dev/dri/renderD*)" }
        let depth = found.filter { $0.path.bitDepth == request.bitDepth }
        if let (decoder, path) = depth.first(where: { $0.path.verified }), !fits(request, path) {
            return "\(decoder.id) takes no picture of \(request.width)x\(request.height)"
        }
        if let (decoder, path) = depth.first {
            return "\(decoder.id) is not used: \(path.reason ?? "no frames were sent through it yet")"
        }
        if !found.isEmpty { return "no hardware decoder here reads \(request.bitDepth)-bit HEVC" }
        let why = snapshot.nodes.map { node in
            "\(node.node): \(node.opened ? "no HEVC decoder found on it" : node.reason ?? "it cannot be used")"
        }
        return why.joined(separator: "; ")
    }
}
