// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// How far a session depends on hardware, as its encoder or decoder specification declares it.
public enum HardwareRequirement: Hashable, Sendable {
    /// Software only.
    case none
    /// Hardware if it is available, software otherwise: the default.
    case preferred
    /// Hardware, or the session is refused.
    case required

    /// Reads an encoder specification; values of a wrong type are ignored.
    ///
    /// Requiring a GPU requires hardware.
    public init(encoderSpecification: [String: PropertyValue]) {
        self.init(encoderSpecification, enable: .enableHardware, require: .requireHardware)
        if case .string = encoderSpecification[PropertyKey.requiredGPU.rawValue] { self = .required }
    }

    /// Reads a decoder specification; values of a wrong type are ignored.
    public init(decoderSpecification: [String: PropertyValue]) {
        self.init(decoderSpecification, enable: .enableHardwareDecoder, require: .requireHardwareDecoder)
    }

    private init(_ specification: [String: PropertyValue], enable: PropertyKey, require: PropertyKey) {
        // As in VideoToolbox, requiring hardware enables it.
        if specification[require.rawValue] == .bool(true) {
            self = .required
        } else {
            self = specification[enable.rawValue] == .bool(false) ? .none : .preferred
        }
    }
}
