// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

extension VAAPIEncoder {
    /// The parts of an open encoder.
    struct Opened {
        var limits: DriverLimits
        var context: EncodingContext
        var writer: SurfaceWriter
        var parameterSets: [[UInt8]]
        var record: [UInt8]
    }

    static func open(
        _ file: Int32, _ path: HardwarePath, _ configuration: EncoderConfiguration, timeout: Double
    ) throws(VAAPIFailure) -> Opened {
        let (display, attributes, sizes) = try wrapping { () throws(VAError) in try query(file, path) }
        let limits = DriverLimits(path: path, attributes: attributes, sizes: sizes)
        let settings = try EncoderSettings(configuration, limits)
        let probe = try probe(display, path, settings, timeout: timeout)
        let record: [UInt8]
        do throws(SessionError) {
            record = try StreamDescription.record(probe.parameterSets, configuration, settings)
        } catch { throw VAAPIFailure(error) }
        let structure = settings.structure
        let context = try wrapping { () throws(VAError) in
            try EncodingContext(
                display, path: path, settings,
                EncodingContext.Capacity(
                    frames: structure.anchorDistance, references: structure.maxReferences,
                    slots: structure.picturesInFlight), timeout: timeout)
        }
        return Opened(
            limits: limits, context: context, writer: probe.writer, parameterSets: probe.parameterSets,
            record: record)
    }

    /// A node's display, and the driver's capabilities for the path.
    private static func query(
        _ file: Int32, _ path: HardwarePath
    ) throws(VAError) -> (Display, ConfigAttributes, SurfaceSizes?) {
        guard let display = try Display(node: file) else {
            throw VAError(VA_STATUS_ERROR_INVALID_DISPLAY, "vaGetDisplayDRM", message: "this is no DRM device")
        }
        guard let attributes = try display.attributes(profile: path.vaProfile, entrypoint: path.vaEntrypoint),
            let (profile, entrypoint) = try display.values(profile: path.vaProfile, entrypoint: path.vaEntrypoint)
        else {
            throw VAError(
                VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT, "vaQueryConfigEntrypoints",
                message: "no \(path.vaEntrypoint) for \(path.vaProfile)")
        }
        let format = VAConfigAttrib(
            type: VAConfigAttribRTFormat, value: ConfigAttributes.rtFormat(path.vaRTFormat) ?? 0)
        do throws(VAError) {
            let config = try Config(display, profile, entrypoint, [format])
            return (display, attributes, try display.surfaceSizes(config))
        } catch {
            // Without reported sizes, creating the context fails where the size is not supported.
            display.forgetMessages()
            return (display, attributes, nil)
        }
    }

    /// Codes a gray key frame in a separate context, for its parameter sets.
    private static func probe(
        _ display: Display, _ path: HardwarePath, _ settings: EncoderSettings, timeout: Double
    ) throws(VAAPIFailure) -> (writer: SurfaceWriter, parameterSets: [[UInt8]]) {
        let (context, writer, surface) = try wrapping { () throws(VAError) in
            let context = try EncodingContext(
                display, path: path, settings, EncodingContext.Capacity(frames: 0, references: 0, slots: 1),
                timeout: timeout)
            guard let surface = context.sources.take() else {
                throw VAError(VA_STATUS_ERROR_ALLOCATION_FAILED, "vaCreateSurfaces")
            }
            let writer = try SurfaceWriter(display, settings, surface: surface)
            try writer.writeGray(to: surface)
            return (context, writer, surface)
        }
        do throws(SessionError) {
            var planner = StructurePlanner(settings.structure)
            var queue: [PlannedPicture] = []
            planner.add(forceKeyFrame: true, to: &queue)
            var reader = AccessUnitReader()
            for picture in queue { try context.submit(picture, source: surface, frameQP: nil) }
            try context.receive { (_, output) throws(SessionError) in try reader.read(output) }
            return (writer, reader.parameterSets)
        } catch { throw VAAPIFailure(error) }
    }

    /// Converts libva's errors to failures to open.
    private static func wrapping<Result>(_ body: () throws(VAError) -> Result) throws(VAAPIFailure) -> Result {
        do throws(VAError) { return try body() } catch { throw VAAPIFailure(error) }
    }
}
