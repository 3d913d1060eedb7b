// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite("Hardware requirements of specifications")
struct HardwareRequirementTests {
    @Test(
        arguments: [
            ([:], HardwareRequirement.preferred), ([.enableHardware: .bool(true)], .preferred),
            ([.enableHardware: .bool(false)], .none), ([.requireHardware: .bool(false)], .preferred),
            ([.requireHardware: .bool(true)], .required),
            ([.enableHardware: .bool(false), .requireHardware: .bool(true)], .required),
            ([.enableHardware: .bool(false), .requiredGPU: .string("0000:03:00.0")], .required),
            ([.preferredGPU: .string("0000:03:00.0")], .preferred), ([.requireHardware: .int(1)], .preferred),
        ] as [([PropertyKey: PropertyValue], HardwareRequirement)])
    func readsEncoderSpecifications(_ specification: [PropertyKey: PropertyValue], _ expected: HardwareRequirement)
        throws
    {
        let named = Dictionary(uniqueKeysWithValues: specification.map { ($0.key.rawValue, $0.value) })
        #expect(HardwareRequirement(encoderSpecification: named) == expected)
        guard specification[.requireHardware] != .int(1) else {
            #expect(throws: SessionError.self) { try EncoderPolicy.Request(specification: named, bitDepth: 8) }
            return
        }
        // The choice of encoder follows the same rule.
        let request = try EncoderPolicy.Request(specification: named, bitDepth: 8)
        #expect(request.enableHardware == (expected != .none))
        #expect(request.requireHardware == (expected == .required))
    }

    @Test(
        arguments: [
            ([:], HardwareRequirement.preferred), ([.enableHardwareDecoder: .bool(false)], .none),
            ([.requireHardwareDecoder: .bool(true), .enableHardwareDecoder: .bool(false)], .required),
            // Keys of encoders do not count.
            ([.requireHardware: .bool(true)], .preferred),
        ] as [([PropertyKey: PropertyValue], HardwareRequirement)])
    func readsDecoderSpecifications(_ specification: [PropertyKey: PropertyValue], _ expected: HardwareRequirement)
    {
        let named = Dictionary(uniqueKeysWithValues: specification.map { ($0.key.rawValue, $0.value) })
        #expect(HardwareRequirement(decoderSpecification: named) == expected)
    }
}
