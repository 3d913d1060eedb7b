// SPDX-License-Identifier: GPL-2.0-or-later
public import Color
internal import Glibc
public import Model

/// What a conversion runs on: a real GPU first, the CPU otherwise, with the reason.
public enum ConverterChoice {
    /// What is asked for.
    public enum Device: String, CaseIterable, Hashable, Sendable {
        /// A GPU where there is one.
        case auto
        /// Vulkan, a software driver included.
        case vulkan
        /// The CPU.
        case cpu
    }

    /// Makes a converter.
    ///
    /// - Returns: the converter, whether it is a real GPU and, where one was allowed and it is none, why.
    /// - Throws: what `Conversion.validate` does; `PixelTransferNotSupported` where Vulkan is asked for and there is none.
    public static func makeConverter(
        for conversion: Conversion, device: Device = .auto, threads: Int? = nil
    ) throws(SessionError) -> (converter: any PixelConverter, isGPU: Bool, reason: String?) {
        let plan = try ConversionPlan(conversion)
        // An alpha plane of its own is the CPU's: shaders know one in RGB alone.
        let hasAlphaPlane = conversion.source.format == .yuva || conversion.target.format == .yuva
        switch device {
        case .cpu: return (try CPUConverter(conversion, threads: threads), false, nil)
        case .vulkan:
            do throws(SessionError) {
                guard !hasAlphaPlane else {
                    throw SessionError(.parameter, "YUVA is converted on the CPU alone")
                }
                let gpu = try VulkanDevice(allowsSoftware: true)
                return (try VulkanConverter(plan, on: gpu), gpu.description.kind != .software, nil)
            } catch { throw SessionError(.pixelTransferNotSupported, "Vulkan is asked for, but \(error.reason)") }
        case .auto:
            let reason: String
            if hasAlphaPlane {
                reason = "YUVA is converted on the CPU alone"
            } else if !hasGPUNode {
                // Not even the loader is opened: the software drivers that it opens take as long as many pictures.
                reason = "this process sees no GPU: there is no render node"
            } else {
                do throws(SessionError) {
                    let gpu = try VulkanConverter(plan, on: VulkanDevice())
                    return (GPUConverter(gpu, conversion, threads: threads), true, nil)
                } catch { reason = error.reason }
            }
            return (try CPUConverter(conversion, threads: threads), false, reason)
        }
    }

    /// Whether there is a device node that a GPU's driver would open.
    private static var hasGPUNode: Bool {
        if access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 { return true }
        guard let folder = opendir("/dev/dri") else { return false }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let isNode = withUnsafeBytes(of: entry.pointee.d_name) { $0.starts(with: "renderD".utf8) }
            if isNode { return true }
        }
        return false
    }
}

/// A GPU's converter that the CPU takes over from when the device is lost.
final class GPUConverter: PixelConverter {
    var device: String { current.device }

    private var current: any PixelConverter
    private let conversion: Conversion
    private let threads: Int?

    init(_ gpu: VulkanConverter, _ conversion: Conversion, threads: Int?) {
        current = gpu
        self.conversion = conversion
        self.threads = threads
    }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        do throws(SessionError) {
            try current.convert(source, into: target)
        } catch {
            // The caller's own mistakes are the same on the CPU.
            guard current is VulkanConverter, error.status != .parameter else { throw error }
            current = try CPUConverter(conversion, threads: threads)
            try current.convert(source, into: target)
        }
    }
}
