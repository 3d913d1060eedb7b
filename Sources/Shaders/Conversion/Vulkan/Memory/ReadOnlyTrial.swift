// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDColor
internal import HWDModel

/// Finds out whether a device can import read-only pages, such as those of a sealed pool.
///
/// Vulkan has no query for it: most kernel drivers pin pages for writing and fail, some only when the device runs. So a
/// small picture is converted from such pages on a separate logical device, which may be lost.
enum ReadOnlyTrial {
    /// Whether it works; takes at most a conversion's timeout.
    static func passes(_ device: VulkanDevice) -> Bool {
        do throws(SessionError) { return try run(VulkanDevice(like: device)) } catch { return false }
    }

    private static func run(_ device: VulkanDevice) throws(SessionError) -> Bool {
        let (width, height) = (64, 64)
        func image(_ format: PixelFormat) -> ImageDescription {
            ImageDescription(
                format: format, width: width, height: height, signal: SignalDescription(transfer: .sRGB))
        }
        let plan = try ConversionPlan(Conversion(source: image(.rgba8), target: image(.bgra8)))
        // Source and target in whole units of the device's alignment, which may exceed a page.
        let unit = max(device.description.hostMemoryAlignment, Int(getpagesize()))
        let byteCount = (width * height * 4).roundedUp(to: unit)
        let mapped = 2 * byteCount + unit
        let memory = mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            throw SessionError(.allocationFailed, "no memory for a trial of \(mapped) bytes")
        }
        // A lost device may still read the memory.
        defer { if device.failure == nil { munmap(memory, mapped) } }
        let source = memory + (Int(bitPattern: memory).roundedUp(to: unit) - Int(bitPattern: memory))
        let target = source + byteCount
        let pixels = UnsafeMutableRawBufferPointer(start: source, count: byteCount)
        for index in pixels.indices {
            pixels[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: index &* 37 >> 2)
        }
        guard mprotect(source, byteCount, PROT_READ) == 0 else {
            throw SessionError(.allocationFailed, "the trial's memory cannot be protected")
        }
        device.readsReadOnlyPages = true  // lets importMemory pass
        defer {
            device.forgetMemory(source)
            device.forgetMemory(target)
        }
        try device.importMemory(UnsafeRawBufferPointer(pixels), isWritable: false)
        try device.importMemory(UnsafeRawBufferPointer(start: target, count: byteCount), isWritable: true)
        let converter = try VulkanConverter(plan, on: device)
        try converter.convert(
            [PlaneView(base: source, stride: width * 4)], into: [MutablePlaneView(base: target, stride: width * 4)])
        let result = UnsafeRawBufferPointer(start: target, count: byteCount)
        return device.picturesInPlace == 1
            && (0..<width * height).allSatisfy { pixel in
                let at = pixel * 4
                return result[at] == pixels[at + 2] && result[at + 1] == pixels[at + 1]
                    && result[at + 2] == pixels[at] && result[at + 3] == 255
            }
    }
}
