// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding

/// A profile, entry point and attributes that the driver accepted.
struct Config: ~Copyable {
    let id: VAConfigID
    private let display: Display

    init(
        _ display: Display, _ profile: VAProfile, _ entrypoint: VAEntrypoint, _ attributes: [VAConfigAttrib]
    ) throws(VAError) {
        var list = attributes
        var id = VAConfigID()
        try display.check(
            vaCreateConfig(display.handle, profile, entrypoint, &list, Int32(list.count), &id), "vaCreateConfig")
        self.id = id
        self.display = display
    }

    deinit { vaDestroyConfig(display.handle, id) }
}

/// Surfaces of one size and format, created and destroyed together, lent one by one.
final class SurfacePool {
    let ids: [VASurfaceID]
    private let display: Display
    /// First in, first out: the driver may still read the surfaces that were returned last.
    private var free: [VASurfaceID]

    init(_ display: Display, _ settings: EncoderSettings, count: Int) throws(VAError) {
        let format = VASurfaceAttrib(VASurfaceAttribPixelFormat, Int32(bitPattern: settings.fourcc))
        let hint = VASurfaceAttrib(VASurfaceAttribUsageHint, VA_SURFACE_ATTRIB_USAGE_HINT_ENCODER)
        var ids = [VASurfaceID](repeating: 0, count: count)
        func create(_ attributes: [VASurfaceAttrib]) -> VAStatus {
            var list = attributes
            return vaCreateSurfaces(
                display.handle, settings.rtFormat, UInt32(settings.size.width), UInt32(settings.size.height), &ids,
                UInt32(count), &list, UInt32(list.count))
        }
        var status = create([format, hint])
        // Drivers may ignore the usage hint, and some refuse it.
        if status == VA_STATUS_ERROR_ATTR_NOT_SUPPORTED { status = create([format]) }
        try display.check(status, "vaCreateSurfaces")
        self.ids = ids
        self.display = display
        free = ids
    }

    deinit {
        var list = ids
        vaDestroySurfaces(display.handle, &list, Int32(list.count))
    }

    /// Lends a surface; nil when none is free.
    func take() -> VASurfaceID? { free.isEmpty ? nil : free.removeFirst() }

    /// Returns a surface; ignores those of other pools.
    func put(_ id: VASurfaceID) {
        if ids.contains(id) { free.append(id) }
    }
}

/// A context and its surfaces; destroyed before its surfaces and its config.
struct Context: ~Copyable {
    let id: VAContextID
    let config: Config
    let sources: SurfacePool
    let reconstructions: SurfacePool
    private let display: Display

    init(
        _ display: Display, config: consuming Config, _ size: CodedSize, sources: SurfacePool,
        reconstructions: SurfacePool
    ) throws(VAError) {
        var surfaces = sources.ids + reconstructions.ids
        var id = VAContextID()
        try display.check(
            vaCreateContext(
                display.handle, config.id, Int32(size.width), Int32(size.height), Int32(VA_PROGRESSIVE),
                &surfaces, Int32(surfaces.count), &id), "vaCreateContext")
        self.id = id
        self.config = config
        self.sources = sources
        self.reconstructions = reconstructions
        self.display = display
    }

    deinit { vaDestroyContext(display.handle, id) }
}

extension VASurfaceAttrib {
    /// An attribute to create a surface with.
    init(_ type: VASurfaceAttribType, _ value: Int32) {
        self.init()
        self.type = type
        flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        self.value.type = VAGenericValueTypeInteger
        self.value.value.i = value
    }
}

/// A buffer of a context.
struct Buffer: ~Copyable {
    let id: VABufferID
    private let display: Display

    /// A buffer of `size` bytes, filled from `data` unless that is nil.
    init(
        _ display: Display, _ context: VAContextID, _ type: VABufferType, size: Int,
        data: UnsafeMutableRawPointer? = nil
    ) throws(VAError) {
        var id = VABufferID()
        try display.check(
            vaCreateBuffer(display.handle, context, type, UInt32(size), 1, data, &id), "vaCreateBuffer")
        self.id = id
        self.display = display
    }

    /// A buffer with these bytes.
    init(
        _ display: Display, _ context: VAContextID, _ type: VABufferType, bytes: [UInt8]
    ) throws(VAError) {
        var copy = bytes
        var id = VABufferID()
        try display.check(
            vaCreateBuffer(display.handle, context, type, UInt32(copy.count), 1, &copy, &id), "vaCreateBuffer")
        self.id = id
        self.display = display
    }

    deinit { vaDestroyBuffer(display.handle, id) }

    /// Maps the buffer's memory.
    func map() throws(VAError) -> MappedBuffer { try MappedBuffer(display, id) }

    /// Stores one parameter structure `offset` bytes from the buffer's start.
    func write<Parameters>(_ parameters: Parameters, at offset: Int = 0) throws(VAError) {
        let mapped = try map()
        (mapped.base + offset).storeBytes(of: parameters, as: Parameters.self)
        mapped.end()
    }
}

/// A buffer's memory while it is mapped.
struct MappedBuffer: ~Copyable {
    let base: UnsafeMutableRawPointer
    private let id: VABufferID
    private let display: Display

    init(_ display: Display, _ id: VABufferID) throws(VAError) {
        var memory: UnsafeMutableRawPointer?
        try display.check(vaMapBuffer(display.handle, id, &memory), "vaMapBuffer")
        guard let memory else {
            vaUnmapBuffer(display.handle, id)
            throw VAError(VA_STATUS_ERROR_INVALID_BUFFER, "vaMapBuffer", message: "the driver returned no memory")
        }
        base = memory
        self.id = id
        self.display = display
    }

    deinit { vaUnmapBuffer(display.handle, id) }

    /// Unmaps the buffer here; a value that is not consumed may be destroyed directly after its last use.
    consuming func end() {}
}
