// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A surface whose memory is a client's dma-bufs; nothing is copied.
final class ImportedSurface {
    let id: VASurfaceID
    private let display: Display

    /// Imports a validated frame; the driver references the dma-bufs, and does not keep their descriptors.
    init(_ display: Display, rtFormat: UInt32, _ frame: DMABufFrame) throws(VAError) {
        var descriptor = VADRMPRIMESurfaceDescriptor(frame)
        let memory = VASurfaceAttrib(
            VASurfaceAttribMemoryType, Int32(bitPattern: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)))
        var external = VASurfaceAttrib()
        external.type = VASurfaceAttribExternalBufferDescriptor
        external.flags = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        external.value.type = VAGenericValueTypePointer
        var id = VASurfaceID()
        let status = withUnsafeMutablePointer(to: &descriptor) { pointer in
            external.value.value.p = UnsafeMutableRawPointer(pointer)
            var attributes = [memory, external]
            return vaCreateSurfaces(
                display.handle, rtFormat, UInt32(frame.width), UInt32(frame.height), &id, 1, &attributes, 2)
        }
        try display.check(status, "vaCreateSurfaces of a dma-buf")
        self.id = id
        self.display = display
    }

    deinit {
        var id = id
        vaDestroySurfaces(display.handle, &id, 1)
    }
}

extension VADRMPRIMESurfaceDescriptor {
    /// One layer with all planes of the frame's format.
    init(_ frame: DMABufFrame) {
        self.init()
        fourcc = frame.fourcc
        width = UInt32(frame.width)
        height = UInt32(frame.height)
        for (index, object) in frame.objects.enumerated() {
            hwd_va_prime_object(&self, UInt32(index), object.file, object.size, frame.modifier)
        }
        for (index, plane) in frame.planes.enumerated() {
            hwd_va_prime_plane(&self, UInt32(index), UInt32(plane.object), plane.offset, plane.pitch)
        }
    }
}
