// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A profile, entry point and attributes that were accepted by the driver.
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
    /// The one that was given back first is lent first: the driver may still look at the last ones.
    private var free: [VASurfaceID]

    init(
        _ display: Display, rtFormat: UInt32, fourcc: UInt32, width: Int, height: Int, count: Int
    ) throws(VAError) {
        var format = VASurfaceAttrib()
        format.type = VASurfaceAttribPixelFormat
        format.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        format.value.type = VAGenericValueTypeInteger
        format.value.value.i = Int32(bitPattern: fourcc)
        var hint = VASurfaceAttrib()
        hint.type = VASurfaceAttribUsageHint
        hint.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        hint.value.type = VAGenericValueTypeInteger
        hint.value.value.i = VA_SURFACE_ATTRIB_USAGE_HINT_ENCODER
        var ids = [VASurfaceID](repeating: 0, count: count)
        func create(_ attributes: [VASurfaceAttrib]) -> VAStatus {
            var list = attributes
            return vaCreateSurfaces(
                display.handle, rtFormat, UInt32(width), UInt32(height), &ids, UInt32(count), &list,
                UInt32(list.count))
        }
        var status = create([format, hint])
        // The hint is only that.
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

    /// A surface nobody uses; nil when all are lent.
    func take() -> VASurfaceID? { free.isEmpty ? nil : free.removeFirst() }

    /// Gives a surface back; one that is not of this pool is none of its business.
    func put(_ id: VASurfaceID) {
        if ids.contains(id) { free.append(id) }
    }
}

/// A context with all it encodes from and to; destroyed before its surfaces and its config.
struct Context: ~Copyable {
    let id: VAContextID
    let config: Config
    let sources: SurfacePool
    let reconstructions: SurfacePool
    private let display: Display

    init(
        _ display: Display, config: consuming Config, sources: SurfacePool, reconstructions: SurfacePool,
        width: Int, height: Int
    ) throws(VAError) {
        var surfaces = sources.ids + reconstructions.ids
        var id = VAContextID()
        try display.check(
            vaCreateContext(
                display.handle, config.id, Int32(width), Int32(height), Int32(VA_PROGRESSIVE), &surfaces,
                Int32(surfaces.count), &id), "vaCreateContext")
        self.id = id
        self.config = config
        self.sources = sources
        self.reconstructions = reconstructions
        self.display = display
    }

    deinit { vaDestroyContext(display.handle, id) }
}

/// A buffer of a context.
struct Buffer: ~Copyable {
    let id: VABufferID
    private let display: Display

    /// A buffer of `size` bytes; `data`, if any, is copied into it.
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

    /// A buffer that holds these bytes.
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

    /// Writes one parameter structure over the buffer's content.
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
            throw VAError(VA_STATUS_ERROR_INVALID_BUFFER, "vaMapBuffer", message: "it gave no memory")
        }
        base = memory
        self.id = id
        self.display = display
    }

    deinit { vaUnmapBuffer(display.handle, id) }

    /// Ends the mapping here, and no earlier.
    consuming func end() {}
}
