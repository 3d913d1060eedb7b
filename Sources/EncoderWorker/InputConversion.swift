// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDTransport
internal import HWDWire

/// Brings frames in RGB to the Y'CbCr that an encoder takes; used from the codec thread.
final class InputConversion {
    /// What converts, in words.
    var device: String { converter.device }
    /// Why it is that device.
    let reason: String
    /// Why that is no GPU, when one was allowed.
    let fallbackReason: String?

    private let converter: any PixelConverter
    private let gpu = SharedGPU()
    private let memory: Memory
    private let layout: FrameLayout

    /// Whole pages for one picture, which a GPU can write in place.
    private final class Memory {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ size: Int) { bytes = .allocate(byteCount: (size + 4095) & ~4095, alignment: 4096) }

        deinit { bytes.deallocate() }
    }

    /// A conversion to what the configuration's encoder takes, with the colour that its stream tells.
    ///
    /// - Parameter vulkan: what is known of this machine's Vulkan.
    /// - Throws: `PixelTransferNotSupported`, by name, for a colour that is not converted.
    init(
        _ settings: FrameConversionSettings, _ configuration: EncoderConfiguration, _ vulkan: VulkanHints
    ) throws(SessionError) {
        let request = configuration.request
        let (width, height) = (request.width, request.height)
        let chosen = try ConverterChoice.choose(
            for: try Self.conversion(settings, configuration),
            ConverterChoice.Request(
                ConverterChoice.Device(rawValue: settings.light.device) ?? .auto, preferred: vulkan.preferred,
                faults: vulkan.faults, avoidReason: vulkan.avoidReason), sharing: gpu)
        converter = chosen.converter
        (reason, fallbackReason) = (chosen.reason, chosen.fallbackReason)
        let packed = FrameLayout.packed(request.pixelFormat, width: width, height: height)
        layout = packed.layout
        memory = Memory(packed.size)
        gpu.use(UnsafeRawBufferPointer(memory.bytes), isWritable: true, of: memory)
    }

    /// Checks that a session's frames can be converted, if they are to be.
    ///
    /// - Throws: `PixelTransferNotSupported`, by name, for a colour that is not converted.
    static func check(_ session: CompressionSession) throws(SessionError) {
        let configuration = try EncoderConfiguration(request: session.request, properties: session.properties)
        guard let settings = configuration.conversion else { return }
        try conversion(settings, configuration).validate()
    }

    private static func conversion(
        _ settings: FrameConversionSettings, _ configuration: EncoderConfiguration
    ) throws(SessionError) -> Conversion {
        let request = configuration.request
        let (width, height) = (request.width, request.height)
        var options = ConversionOptions()
        options.referenceWhite = settings.light.referenceWhite
        options.hlgPeak = settings.light.hlgPeak
        // Without an alpha layer colours stay as they come: laid over black, if they are multiplied.
        let alpha = configuration.alpha
        return Conversion(
            source: ImageDescription(
                format: settings.format, width: width, height: height,
                signal: try SignalDescription(settings.color),
                alpha: alpha.map { AlphaMode($0.sourceMode) } ?? .premultiplied),
            target: ImageDescription(
                format: request.pixelFormat, width: width, height: height,
                signal: try SignalDescription(configuration.color, width: width, height: height),
                alpha: alpha.map { AlphaMode($0.mode) } ?? .premultiplied),
            options: options)
    }

    /// The double of a frame that lies in a pool; it stays until the next one.
    func convert(
        _ planes: [PlaneView], in pool: SharedMemory
    ) throws(SessionError) -> [PlaneView] {
        guard let base = memory.bytes.baseAddress else {
            throw SessionError(.allocationFailed, "there is no memory for a converted frame")
        }
        gpu.use(pool.bytes, isWritable: pool.access == .readWrite, of: pool)
        try converter.convert(planes, into: layout.mutablePlanes(at: base))
        return layout.planes(at: base)
    }

    /// Lets go of a pool that was removed.
    func forget(_ pool: SharedMemory) { gpu.forget(pool) }
}

extension AlphaMode {
    fileprivate init(_ mode: AlphaChannelMode) { self = mode == .premultiplied ? .premultiplied : .straight }
}
