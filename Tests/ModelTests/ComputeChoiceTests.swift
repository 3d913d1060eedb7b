// SPDX-License-Identifier: MIT
import HWDModel
import Testing

@Suite struct ComputeChoiceTests {
    private let software = ComputeChoice.Candidate(name: "llvmpipe", kind: .cpu)
    private let integrated = ComputeChoice.Candidate(name: "iGPU", kind: .integrated, pciAddress: "0000:00:02.0")
    private let first = ComputeChoice.Candidate(name: "one", kind: .discrete, pciAddress: "0000:03:00.0")
    private let second = ComputeChoice.Candidate(name: "two", kind: .discrete, pciAddress: "0000:0a:00.0")

    private func choose(
        _ candidates: [ComputeChoice.Candidate], _ request: ComputeChoice.Request = ComputeChoice.Request()
    ) throws -> String {
        let choice = try ComputeChoice(of: candidates, request)
        return "\(candidates[choice.index].name): \(choice.reason)"
    }

    @Test func choosesGPUsByKindThenByOrder() throws {
        let all = try choose([software, integrated, first, second])
        #expect(all == "one: the first of 3 GPUs: a discrete GPU")
        #expect(try choose([software, integrated]) == "iGPU: the only GPU")
    }

    @Test func prefersTheGPUOfVAAPI() throws {
        let request = ComputeChoice.Request(preferred: "0000:00:02.0")
        let reason = "the GPU that VA-API uses, at 0000:00:02.0"
        #expect(try choose([software, first, integrated], request) == "iGPU: \(reason)")
        // Vulkan may not list that GPU, or it may be faulty.
        #expect(try choose([software, first], request) == "one: the only GPU")
        var broken = integrated
        broken.fault = "it is wrong"
        #expect(try choose([broken, first], request) == "one: the only GPU")
    }

    @Test func choosesSoftwareOnlyWhereItIsAllowed() throws {
        #expect(throws: SessionError.self) { try choose([software]) }
        let request = ComputeChoice.Request(allowsSoftware: true)
        #expect(try choose([software], request).hasPrefix("llvmpipe: software: "))
        #expect(try choose([software, integrated], request) == "iGPU: the only GPU")
    }

    @Test func choosesNoOtherThanARequiredDevice() throws {
        let chosen = try choose([first, second], ComputeChoice.Request(required: "0000:0A:00.0"))
        #expect(chosen == "two: asked for by its PCI address, 0000:0a:00.0")
        let none = #expect(throws: SessionError.self) {
            try choose([first, software], ComputeChoice.Request(required: "0000:0b:00.0", allowsSoftware: true))
        }
        #expect(none?.reason == "no Vulkan GPU at 0000:0b:00.0; the devices here: one, llvmpipe")
        var broken = first
        broken.fault = "half floats came out wrong"
        let refused = #expect(throws: SessionError.self) {
            try choose([broken, second], ComputeChoice.Request(required: "0000:03:00.0"))
        }
        #expect(refused?.reason == "one is not used: half floats came out wrong")
    }

    private func device(_ id: String, _ candidate: ComputeChoice.Candidate, verified: Bool) -> ComputeDevice {
        var device = ComputeDevice(
            id: id, name: candidate.name, driver: "d", apiVersion: "1.3.0", kind: candidate.kind,
            pciAddress: candidate.pciAddress, claimed: true,
            imports: ComputeDevice.Imports(hostMemoryAlignment: nil, dmaBufs: false, dmaBufModifiers: false),
            limits: ComputeDevice.Limits(
                maxStorageBufferRange: 1 << 27, maxStorageBuffers: 8, timestampPeriod: nil, storage16Bit: false,
                float16: false))
        (device.tried, device.verified) = (true, verified)
        if !verified { device.reason = "half floats came out wrong" }
        return device
    }

    @Test func choosesNoDeviceThatIsSlowerThanTheCPU() {
        var slow = device("a", first, verified: true)
        slow.speed = ComputeDevice.Speed(picture: 17, cpuPicture: 0.514, cpuThreads: 16, opening: 300)
        var fast = device("b", integrated, verified: true)
        fast.speed = ComputeDevice.Speed(picture: 0.4, cpuPicture: 0.514, cpuThreads: 16, opening: 300)
        var report = VulkanReport(state: .ready, devices: [slow, fast])
        report.choose(preferring: first.pciAddress)
        let reason = "a 1080p picture takes 17 ms on it, and 0.51 ms on the CPU"
        #expect(report.devices.map(\.choice) == ["not used: \(reason)", "the only GPU"])
        #expect(report.faults.isEmpty && Set(report.speeds.keys) == ["a", "b"])
        report.devices = [slow]
        report.choose(preferring: nil)
        #expect(report.reason?.hasSuffix("the devices here: one (not used: \(reason))") == true)
        #expect(slow.speed?.text == "1080p PQ to half floats: 17 ms; CPU 0.51 ms, 16 threads; to open: 300 ms")
    }

    @Test func fewPicturesCountWhatOpeningCosts() {
        let speed = ComputeDevice.Speed(picture: 1, cpuPicture: 3, cpuThreads: 16, opening: 300)
        #expect(speed.slowness() == nil && speed.slowness(for: 151) == nil)
        #expect(
            speed.slowness(for: 149) == "to open it takes 300 ms, in which the CPU converts so few pictures")
    }

    @Test func reportsTheReasonForEachDevice() {
        var report = VulkanReport(
            state: .ready,
            devices: [
                device("a", first, verified: false), device("b", integrated, verified: true),
                device("c", software, verified: true),
            ])
        report.choose(preferring: "0000:03:00.0")
        #expect(report.devices.map(\.chosen) == [false, true, false] && report.reason == nil)
        #expect(
            report.devices.map(\.choice) == [
                "not used: half floats came out wrong", "the only GPU",
                "software: only where a session asks for Vulkan and there is no GPU",
            ])
        #expect(report.faults == ["a": "half floats came out wrong"] && report.avoidReason == nil)
        report.devices.remove(at: 1)
        report.choose(preferring: nil)
        #expect(report.devices.allSatisfy { !$0.chosen })
        #expect(
            report.reason == "color conversion is done on the CPU: no Vulkan GPU; the devices here: "
                + "one (not used: half floats came out wrong), llvmpipe")
    }
}
