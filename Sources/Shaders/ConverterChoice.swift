// SPDX-License-Identifier: GPL-2.0-or-later
public import Color
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
        try conversion.validate()
        let noGPU = "conversions run on the CPU here: Vulkan is not in this build"
        switch device {
        case .cpu: return (try CPUConverter(conversion, threads: threads), false, nil)
        case .vulkan: throw SessionError(.pixelTransferNotSupported, noGPU)
        case .auto: return (try CPUConverter(conversion, threads: threads), false, noGPU)
        }
    }
}
