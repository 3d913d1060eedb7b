// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

extension VulkanTrial {
    private static let pictures = (unmeasured: 1, measured: 5)

    /// Times a conversion of 1080p pictures on a device and on the CPU, from and to the same memory.
    ///
    /// - Parameter opening: how long loading the drivers took.
    static func speed(
        of device: ComputeDevice, opening: Duration
    ) throws(SessionError) -> ComputeDevice.Speed {
        let signal = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        let conversion = Conversion(
            source: ImageDescription(format: .p010, width: 1920, height: 1080, signal: signal),
            target: ImageDescription(format: .rgba16f, width: 1920, height: 1080, signal: light))
        let from = FrameLayout.packed(.p010, width: 1920, height: 1080)
        let to = FrameLayout.packed(.rgba16f, width: 1920, height: 1080, base: from.size)
        let memory = try PageMemory(size: from.size + to.size)
        guard let base = memory.bytes.baseAddress else { throw SessionError(.allocationFailed, "no memory") }
        // All tones, in every page before it is imported.
        let samples = memory.bytes.bindMemory(to: UInt16.self)
        for index in samples.indices { samples[index] = UInt16(64 + index % 877) << 6 }

        let start = ContinuousClock.now
        let gpu = try VulkanDevice(surveyed: device)
        let converter = try VulkanConverter(try ConversionPlan(conversion), on: gpu)
        let cpu = try CPUConverter(conversion)
        let whole = opening + (.now - start)
        if device.imports.hostMemoryVerified {
            try gpu.importMemory(UnsafeRawBufferPointer(memory.bytes), isWritable: true)
        }
        defer { if device.imports.hostMemoryVerified { gpu.forgetMemory(base) } }
        func time(_ converter: any PixelConverter) throws(SessionError) -> Double {
            var times: [Duration] = []
            for _ in 0..<pictures.unmeasured + pictures.measured {
                let start = ContinuousClock.now
                try converter.convert(
                    from.layout.planes(at: base), into: to.layout.mutablePlanes(at: base))
                times.append(.now - start)
            }
            return (times.suffix(pictures.measured).min() ?? .zero) / .milliseconds(1)
        }
        return ComputeDevice.Speed(
            picture: try time(converter), cpuPicture: try time(cpu), cpuThreads: Int(cpu.threads),
            opening: whole / .milliseconds(1))
    }
}
