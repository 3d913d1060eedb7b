// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// NVIDIA's HEVC encoder (NVENC), through libavcodec, behind the `Encoder` protocol; used from one thread.
///
/// libavcodec opens NVIDIA's libraries when this is created. Closed groups of pictures and IDR pictures only.
public final class NVENCEncoder: Encoder {
    /// A frame whose picture was not emitted yet.
    private struct Frame {
        var id: UInt64
        var pts: Int64
        var isKeyFrame: Bool
    }

    private let context: NVENCContext
    private var settings: NVENCSettings
    /// What the chip lacks for the best structure of pictures; nil if nothing.
    private let limit: BPictureLimit?
    /// Whether a frame had a QP of its own.
    private var hasFrameQP = false
    private let stream: NVENCStream
    public var decodeTimes: DecodeTimes
    /// Frames by their number in presentation order.
    private var frames: [Int: Frame] = [:]
    private var nextFrame = 0
    /// The number of the last key frame; nil where the next frame must be one.
    private var lastKeyFrame: Int?

    /// The hvcC record of the packets to come.
    public let formatDescription: [UInt8]

    /// A sentence for each deviation from the session's request.
    public private(set) var notes: [String] { didSet { descriptionVersion += 1 } }

    public private(set) var descriptionVersion = 0

    public var continuesAfterFinish: Bool { true }

    private static let frameQPNotice = "BaseFrameQP: libavcodec's hevc_nvenc ignores the QP of single pictures"

    /// Opens an encoder on a card.
    ///
    /// A chip that lacks B pictures, or references to them, codes without.
    ///
    /// - Parameter node: the card's node (`/dev/nvidia0`); a process uses one card.
    /// - Throws: why it does not open, and whether another attempt may succeed later.
    public init(node: String, _ configuration: EncoderConfiguration) throws(NVENCFailure) {
        settings = try NVENCSettings(configuration)
        (context, limit) = try Self.open(node, settings, maxDepth: configuration.request.maxReorder ?? .max)
        do throws(SessionError) {
            stream = try NVENCStream(context.parameterSets, configuration, settings, context.pictures)
        } catch { throw NVENCFailure(error) }
        formatDescription = stream.record
        let reorderDepth = stream.reorderDepth
        if let most = configuration.request.maxReorder, reorderDepth > most {
            throw NVENCFailure(
                cannot: "NVENC may reorder \(reorderDepth) pictures by its parameter sets, and the stream \(most)")
        }
        decodeTimes = DecodeTimes(reorderDepth: reorderDepth, configuration)
        notes = Self.notes(settings, limit, hasFrameQP: false)
    }

    /// Opens the best structure of pictures that the chip has; also returns what it lacks for a better one.
    ///
    /// - Parameter maxDepth: how many pictures the stream may reorder.
    private static func open(
        _ node: String, _ settings: NVENCSettings, maxDepth: Int
    ) throws(NVENCFailure) -> (NVENCContext, BPictureLimit?) {
        var limit: BPictureLimit?
        for pictures in settings.pictures.dropLast() where pictures.reorderDepth <= maxDepth {
            // Each attempt starts CUDA.
            guard limit?.allows(pictures) ?? true else { continue }
            do throws(NVENCFailure) {
                return (try NVENCContext(node, settings, pictures), limit)
            } catch {
                guard let found = error.limit else { throw error }
                limit = found
            }
        }
        return (try NVENCContext(node, settings, .inOrder), limit)
    }

    private static func notes(_ settings: NVENCSettings, _ limit: BPictureLimit?, hasFrameQP: Bool) -> [String] {
        settings.notes + (limit.map { [$0.notice] } ?? []) + (hasFrameQP ? [frameQPNotice] : [])
    }

    private func updateNotes() {
        let new = Self.notes(settings, limit, hasFrameQP: hasFrameQP)
        if new != notes { notes = new }
    }

    /// Checks that NVENC can code with a configuration, as far as that is known without opening it.
    ///
    /// - Throws: `PropertyNotSupported` with the limitation.
    public static func check(_ configuration: EncoderConfiguration) throws(SessionError) {
        do throws(NVENCFailure) {
            _ = try NVENCSettings(configuration)
        } catch { throw SessionError(.propertyNotSupported, error.error.reason) }
    }

    /// Applies the rates and the key frame interval of a configuration; false if it differs otherwise.
    ///
    /// libavcodec codes a key frame where the rate changes.
    public func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool {
        guard let requested = try? NVENCSettings(configuration),
            let next = settings.changed(to: requested, opened: context.settings.keyFrameInterval),
            next.rate.target <= context.settings.rate.target || stream.covers(configuration)
        else { return false }
        if next.rate != settings.rate {
            context.change(next.rate)
            lastKeyFrame = nil
        }
        settings = next
        updateNotes()
        return true
    }

    /// Encodes a frame and emits the pictures that are ready.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        if picture.baseFrameQP != nil, !hasFrameQP {
            hasFrameQP = true
            updateNotes()
        }
        let isDue = lastKeyFrame.map { nextFrame - $0 >= settings.keyFrameInterval } ?? true
        let isKeyFrame = picture.forceKeyFrame || isDue
        if isKeyFrame { lastKeyFrame = nextFrame }
        frames[nextFrame] = Frame(id: picture.frameID, pts: picture.pts, isKeyFrame: isKeyFrame)
        decodeTimes.frameIn(pts: picture.pts)
        try context.send(picture.planes, number: nextFrame, isKeyFrame: isKeyFrame)
        nextFrame += 1
        try context.receive { (number, bytes) throws(SessionError) in try emit(number, bytes, handler) }
    }

    /// Emits every picture still inside; the next frame is a key frame.
    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard !frames.isEmpty else { return }
        try context.finish { (number, bytes) throws(SessionError) in try emit(number, bytes, handler) }
        guard frames.isEmpty else {
            throw SessionError(.videoEncoderMalfunction, "NVENC did not return \(frames.count) of its pictures")
        }
        lastKeyFrame = nil
    }

    private func emit(
        _ number: Int, _ bytes: UnsafeRawBufferPointer, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        let (sample, slice) = try stream.picture(bytes)
        guard let frame = frames.removeValue(forKey: number), let dts = decodeTimes.next() else {
            throw SessionError(.videoEncoderMalfunction, "NVENC returned a picture that it was not given")
        }
        guard slice.nalUnitType.isIRAP || !frame.isKeyFrame else {
            throw SessionError(
                .videoEncoderMalfunction, "NVENC coded a picture of type \(slice.nalUnitType), not a key frame")
        }
        guard dts <= frame.pts else {
            throw SessionError(.videoEncoderMalfunction, "NVENC reorders more pictures than its parameter sets say")
        }
        let coded = EncodedPicture(
            frameID: frame.id, pts: frame.pts, dts: dts, nalUnitType: slice.nalUnitType.rawValue,
            temporalLevel: 0)
        try handler(coded, sample.span.bytes)
    }
}
