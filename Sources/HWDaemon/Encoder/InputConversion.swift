// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDTransport
internal import HWDWire

/// Converts RGB frames to the encoder's Y'CbCr format, and frames of another size; used from the codec thread.
final class InputConversion {
    /// The converting device's name.
    var device: String { converter.device }
    /// Why that device was chosen.
    let reason: String
    /// Why no GPU converts, where one was allowed: all frames, or those of a color of their own.
    private(set) var fallbackReason: String?

    private let converter: any PixelConverter
    /// How a frame's colors are coded.
    private struct FrameColor: Hashable {
        var alphaMode: AlphaChannelMode?
        var color: ColorDescription
    }

    /// For frames whose alpha mode or color is not the session's; opened with the first of them.
    private var otherConverters: [FrameColor: any PixelConverter] = [:]
    private static let maxConverters = 4
    private let settings: FrameConversionSettings
    private let scaling: ScalingOptions
    private let configuration: EncoderConfiguration
    private let request: ConverterChoice.Request
    private let gpu = SharedGPU()
    private let memory: Memory
    private let layout: FrameLayout

    /// Page-aligned memory for one picture, which a GPU can write in place.
    private final class Memory {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ size: Int) { bytes = .allocate(byteCount: (size + 4095) & ~4095, alignment: 4096) }

        deinit { bytes.deallocate() }
    }

    /// Opens a converter to the format, size and color that the configuration's stream has.
    ///
    /// - Parameter frames: the number of frames to convert; nil where it is unknown.
    /// - Throws: `PixelTransferNotSupported`, naming a color that cannot be converted.
    init(
        _ settings: FrameConversionSettings, _ scaling: ScalingOptions, _ configuration: EncoderConfiguration,
        _ vulkan: VulkanHints, frames: Int?
    ) throws(SessionError) {
        let picture = configuration.request
        (self.settings, self.scaling, self.configuration) = (settings, scaling, configuration)
        var request = ConverterChoice.Request(
            ConverterChoice.Device(rawValue: settings.light.device) ?? .auto, preferred: vulkan.preferred,
            faults: vulkan.faults, speeds: vulkan.speeds, avoidReason: vulkan.avoidReason)
        request.pictures = frames
        self.request = request
        let chosen = try ConverterChoice.choose(
            for: try Self.conversion(settings, scaling, configuration, Self.color(settings, configuration)),
            request, sharing: gpu)
        converter = chosen.converter
        (reason, fallbackReason) = (chosen.reason, chosen.fallbackReason)
        let packed = FrameLayout.packed(picture.pixelFormat, width: picture.width, height: picture.height)
        layout = packed.layout
        memory = Memory(packed.size)
        gpu.use(UnsafeRawBufferPointer(memory.bytes), isWritable: true, of: memory)
    }

    /// The color of frames that have none of their own.
    private static func color(
        _ settings: FrameConversionSettings, _ configuration: EncoderConfiguration
    ) -> FrameColor { FrameColor(alphaMode: configuration.alpha?.sourceMode, color: settings.color) }

    /// Checks that a session's frames can be converted, if they need to be.
    ///
    /// - Throws: `PixelTransferNotSupported`, naming a color that cannot be converted; `Parameter` for sizes that cannot be
    ///   scaled to each other.
    static func check(_ session: CompressionAdmission, _ scaling: ScalingOptions) throws(SessionError) {
        let configuration = session.configuration
        guard let settings = configuration.conversion else { return }
        try conversion(settings, scaling, configuration, color(settings, configuration)).validate()
    }

    private static func conversion(
        _ settings: FrameConversionSettings, _ scaling: ScalingOptions, _ configuration: EncoderConfiguration,
        _ source: FrameColor
    ) throws(SessionError) -> Conversion {
        let request = configuration.request
        let (width, height, frames) = (request.width, request.height, request.frameSize)
        var options = ConversionOptions()
        options.scaling = scaling
        options.referenceWhite = settings.light.referenceWhite
        options.hlgPeak = settings.light.hlgPeak
        // Without an alpha layer alpha is dropped: premultiplied colors then look composited over black.
        let alpha = configuration.alpha
        // What is assumed of small pictures follows from the frames' size, so that scaling does not change colors.
        let signal = try SignalDescription(source.color, width: frames.width, height: frames.height)
        return Conversion(
            source: ImageDescription(
                format: settings.format, width: frames.width, height: frames.height, signal: signal,
                alpha: source.alphaMode.map { AlphaMode($0) } ?? .premultiplied),
            target: ImageDescription(
                format: request.pixelFormat, width: width, height: height,
                signal: settings.format.isYCbCr
                    ? signal : try SignalDescription(configuration.color, width: width, height: height),
                alpha: alpha.map { AlphaMode($0.mode) } ?? .premultiplied),
            options: options)
    }

    /// Converts a frame in a pool; the result is valid until the next call.
    ///
    /// It may change `fallbackReason`.
    func convert(
        _ planes: [PlaneView], of frame: EncodeFrame, in pool: SharedMemory
    ) throws(SessionError) -> [PlaneView] {
        guard let base = memory.bytes.baseAddress else {
            throw SessionError(.allocationFailed, "memory for a converted frame is missing")
        }
        gpu.use(pool.bytes, isWritable: pool.access == .readWrite, of: pool)
        try converter(for: frame).convert(planes, into: layout.mutablePlanes(at: base))
        return layout.planes(at: base)
    }

    private func converter(for frame: EncodeFrame) throws(SessionError) -> any PixelConverter {
        let session = Self.color(settings, configuration)
        let color = FrameColor(
            alphaMode: configuration.alpha == nil ? nil : frame.sourceAlphaMode ?? session.alphaMode,
            // Admission has found that Y'CbCr frames have the stream's color.
            color: settings.format.isYCbCr
                ? session.color : frame.metadata?.color?.withoutIdentityMatrix ?? session.color)
        if color == session { return converter }
        if let known = otherConverters[color] { return known }
        let chosen = try ConverterChoice.choose(
            for: try Self.conversion(settings, scaling, configuration, color), request, sharing: gpu)
        if otherConverters.count >= Self.maxConverters { otherConverters = [:] }
        otherConverters[color] = chosen.converter
        fallbackReason = fallbackReason ?? chosen.fallbackReason
        return chosen.converter
    }

    /// Makes the GPU forget a removed pool.
    func forget(_ pool: SharedMemory) { gpu.forget(pool) }
}

extension AlphaMode {
    fileprivate init(_ mode: AlphaChannelMode) { self = mode == .premultiplied ? .premultiplied : .straight }
}
