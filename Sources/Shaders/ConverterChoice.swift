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
    /// - Parameter gpu: What the converters of a session share; one that nobody else has is of this converter alone.
    /// - Returns: the converter, whether it is a real GPU and, where one was allowed and it is none, why.
    /// - Throws: what `Conversion.validate` does; `PixelTransferNotSupported` where Vulkan is asked for and there is none.
    public static func makeConverter(
        for conversion: Conversion, device: Device = .auto, threads: Int? = nil,
        sharing gpu: SharedGPU = SharedGPU()
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
                let opened = try gpu.open(allowsSoftware: true)
                return (try VulkanConverter(plan, on: opened), opened.description.kind != .software, nil)
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
                    let converter = try VulkanConverter(plan, on: gpu.open())
                    return (GPUConverter(converter, conversion, threads: threads), true, nil)
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
