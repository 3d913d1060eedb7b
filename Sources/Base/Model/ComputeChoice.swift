// SPDX-License-Identifier: MIT

/// The choice of the Vulkan device that converts; sessions and the reply of `Probe` both use it.
public struct ComputeChoice: Hashable, Sendable {
    /// A device to choose from.
    public struct Candidate: Hashable, Sendable {
        /// The driver's name for it.
        public var name: String
        public var kind: ComputeDevice.Kind
        /// Its PCI address in lower case, if known.
        public var pciAddress: String?
        /// Why it must not be used; nil if it may be.
        public var fault: String?

        public init(name: String, kind: ComputeDevice.Kind, pciAddress: String? = nil, fault: String? = nil) {
            self.name = name
            self.kind = kind
            self.pciAddress = pciAddress
            self.fault = fault
        }

        init(_ device: ComputeDevice, fault: String?) {
            self.init(name: device.name, kind: device.kind, pciAddress: device.pciAddress, fault: fault)
        }

        /// Why this device was not chosen.
        func rejection(for other: ComputeDevice?) -> String {
            if let fault { return "not used: \(fault)" }
            if kind == .cpu { return "software: only where a session asks for Vulkan and there is no GPU" }
            return "another GPU comes first\(other.map { ": \($0.name)" } ?? "")"
        }
    }

    /// The requirements of a session.
    public struct Request: Hashable, Sendable {
        /// The PCI address of the only acceptable device; nil for any.
        public var required: String?
        /// The PCI address of the GPU to prefer, in whose memory pictures can stay.
        public var preferred: String?
        /// Whether a software device is acceptable where there is no GPU.
        public var allowsSoftware: Bool

        public init(required: String? = nil, preferred: String? = nil, allowsSoftware: Bool = false) {
            self.required = required
            self.preferred = preferred
            self.allowsSoftware = allowsSoftware
        }
    }

    /// The device's index among the candidates.
    public let index: Int
    /// Why that device was chosen.
    public let reason: String

    /// Chooses the required device; else a GPU, the preferred one first, then by kind; else software if acceptable.
    ///
    /// - Throws: `CouldNotCreateInstance`, listing the devices that exist.
    public init(of candidates: [Candidate], _ request: Request) throws(SessionError) {
        if let required = request.required?.lowercased() {
            guard let index = candidates.firstIndex(where: { $0.pciAddress == required }) else {
                throw Self.none(" at \(required)", candidates)
            }
            if let fault = candidates[index].fault {
                throw SessionError(.couldNotCreateInstance, "\(candidates[index].name) is not used: \(fault)")
            }
            (self.index, reason) = (index, "asked for by its PCI address, \(required)")
            return
        }
        let usable = candidates.indices.filter { candidates[$0].fault == nil }
        let gpus = usable.filter { candidates[$0].kind != .cpu }
        if let preferred = request.preferred?.lowercased(),
            let index = gpus.first(where: { candidates[$0].pciAddress == preferred })
        {
            (self.index, reason) = (index, "the GPU that VA-API uses, at \(preferred)")
        } else if let index = gpus.min(by: { (candidates[$0].kind.rank, $0) < (candidates[$1].kind.rank, $1) }) {
            let kind = candidates[index].kind
            let name = kind == .other ? "GPU of unknown kind" : "\(kind.rawValue) GPU"
            (self.index, reason) = (
                index, gpus.count == 1 ? "the only GPU" : "the first of \(gpus.count) GPUs: a \(name)"
            )
        } else if request.allowsSoftware, let index = usable.first {
            (self.index, reason) = (index, "software: Vulkan is asked for, and there is no GPU")
        } else {
            throw Self.none("", candidates)
        }
    }

    private static func none(_ place: String, _ candidates: [Candidate]) -> SessionError {
        let there = candidates.map { $0.name + ($0.fault.map { " (not used: \($0))" } ?? "") }
        return SessionError(
            .couldNotCreateInstance,
            "no Vulkan GPU\(place); the devices here: \(there.isEmpty ? "none" : there.joined(separator: ", "))")
    }
}
