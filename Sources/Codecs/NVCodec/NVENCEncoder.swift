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

    /// Whether this libavcodec has an encoder that uses NVENC.
    public static var isAvailable: Bool { NVENCContext.isAvailable }

    private static let frameQPNotice = "BaseFrameQP: libavcodec's hevc_nvenc ignores the QP of single pictures"

    /// Opens an encoder on a card.
    ///
    /// A chip that lacks B pictures, or references to them, codes without.
    ///
    /// - Parameter node: the card's node (`/dev/nvidia0`); a process uses one card.
    /// - Throws: why it does not open, and whether another attempt may succeed later.
    public init(node: String, _ configuration: EncoderConfiguration) throws(NVENCFailure) {
        settings = try NVENCSettings(configuration)
        let (context, lacking) = try Self.open(node, settings)
        self.context = context
        let reorderDepth: Int
        do throws(SessionError) {
            (formatDescription, reorderDepth) = try NVENCStream.describe(
                context.parameterSets, configuration, settings, context.pictures)
        } catch { throw NVENCFailure(error) }
        if let most = configuration.request.maxReorder, reorderDepth > most {
            throw NVENCFailure(
                cannot: "NVENC may reorder \(reorderDepth) pictures by its parameter sets, and the stream \(most)")
        }
        let tick = configuration.request.timeBase.value
        decodeTimes = DecodeTimes(
            reorderDepth: reorderDepth,
            nominalDuration: Int64((1 / (configuration.frameRate.value * tick)).rounded()))
        notes = settings.notes + (lacking.map { ["AllowFrameReordering: \($0)"] } ?? [])
    }

    /// Opens the best structure of pictures that the chip has; also returns what it lacks for a better one.
    private static func open(
        _ node: String, _ settings: NVENCSettings
    ) throws(NVENCFailure) -> (NVENCContext, lacking: String?) {
        var lacking: String?
        for pictures in settings.pictures.dropLast() {
            do throws(NVENCFailure) {
                return (try NVENCContext(node, settings, pictures), lacking)
            } catch {
                guard error.isAboutBPictures else { throw error }
                lacking = error.error.reason
            }
        }
        return (try NVENCContext(node, settings, .inOrder), lacking)
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
            let next = settings.changed(to: requested, opened: context.settings.keyFrameInterval)
        else { return false }
        if next.rate != settings.rate {
            context.change(next.rate)
            lastKeyFrame = nil
        }
        settings = next
        notes = next.notes
        return true
    }

    /// Encodes a frame and emits the pictures that are ready.
    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        if picture.baseFrameQP != nil, !notes.contains(Self.frameQPNotice) { notes.append(Self.frameQPNotice) }
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
            throw SessionError(.videoEncoderMalfunction, "NVENC returned \(frames.count) pictures too few")
        }
        lastKeyFrame = nil
    }

    private func emit(
        _ number: Int, _ bytes: UnsafeRawBufferPointer, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        let (sample, slice) = try NVENCStream.picture(bytes)
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
