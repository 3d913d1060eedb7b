// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDSystem
internal import HWDTransport
public import HWDWire

/// A picture in dma-bufs of the app's, for sessions that read or write it in place of a pool's slot.
///
/// The daemon checks everything; this object only keeps the descriptors, so that a session that continues in another
/// process can send them again.
public final class DMABufPicture: Sendable {
    /// The planes as frames name them.
    public let layout: FrameLayout

    private let message: AddPicture
    private let files: [Int32]
    /// Which files they are: several pictures may be in one dma-buf.
    private let identities: [FileIdentity?]

    /// Describes a picture, and duplicates the descriptors of its dma-bufs.
    ///
    /// - Parameters:
    ///   - fourcc: DRM's (drm_fourcc.h).
    ///   - width: in luma samples.
    ///   - height: in rows of luma samples.
    ///   - modifier: DRM's format modifier, of all planes; sessions import linear pictures only.
    ///   - uses: whether frames are read from it, written to it, or both.
    ///   - objects: descriptors of 1 to 4 dma-bufs, which stay the caller's.
    ///   - planes: their places in the dma-bufs, in the format's order.
    /// - Throws: `Parameter` for another number of dma-bufs; where no descriptor is left, or one is not open.
    public init(
        fourcc: UInt32, width: UInt32, height: UInt32, modifier: UInt64 = AddPicture.linear,
        uses: AddPicture.Uses, objects: [Int32], planes: [AddPicture.Plane]
    ) throws(ClientError) {
        guard 1...AddPicture.maxObjects ~= objects.count else {
            throw ClientError(
                SessionError(
                    .parameter,
                    "a picture has \(objects.count) dma-bufs, not 1 to \(AddPicture.maxObjects)"))
        }
        message = AddPicture(
            poolID: 0, fourcc: fourcc, width: width, height: height, uses: uses, modifier: modifier, planes: planes)
        layout = message.layout
        var copies: [Int32] = []
        do throws(SystemError) {
            for object in objects { copies.append(try OwnedFD.duplicate(object, atLeast: 3).take()) }
        } catch {
            for copy in copies { _ = OwnedFD(copy) }
            throw ClientError(error, whileDoing: "a picture's dma-buf cannot be kept")
        }
        files = copies
        identities = copies.map { FileIdentity($0) }
    }

    deinit { for file in files { _ = OwnedFD(file) } }

    /// Registers it with a session's process.
    func register(_ id: UInt32, _ send: (AddPicture, [Int32]) throws(ClientError) -> Void) throws(ClientError) {
        var message = message
        message.poolID = id
        try send(message, files)
    }
}

extension DMABufPicture {
    /// The bytes of its dma-bufs that a frame takes; nil where they cannot be determined.
    func regions(_ format: PixelFormat, height: Int) -> [FrameRegion]? {
        FrameRegion.regions(message.planes, in: identities, format, height: height)
    }
}

/// A sync file of the app's.
final class KeptFence: Sendable {
    let file: Int32

    init(_ fence: Int32) throws(ClientError) {
        do throws(SystemError) { file = try OwnedFD.duplicate(fence, atLeast: 3).take() } catch {
            throw ClientError(error, whileDoing: "a fence cannot be kept")
        }
    }

    deinit { _ = OwnedFD(file) }
}
