// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// An `Encoder` of a whole stream, which opens another encoder wherever the open one cannot continue.
///
/// x265 takes no frames after a flush, and neither x265 nor a driver's open context can change every property. In such a
/// case the open encoder is finished, and the next frame opens another, which begins with an IDR picture; decoding times
/// continue.
public final class StreamEncoder: Encoder {
    /// Opens an encoder for a configuration.
    public typealias Open = (EncoderConfiguration) throws(SessionError) -> any Encoder

    private let open: Open
    private var configuration: EncoderConfiguration
    /// Nil after a flush, until the next frame.
    private var encoder: (any Encoder)?
    /// The pass that the last encoder was opened for.
    private var pass: CodingPass?
    /// Whether the open encoder has been given a frame.
    private var hasFrames = false
    /// The configuration from the next frame on.
    private var pendingConfiguration: EncoderConfiguration?

    /// The hvcC record of the packets to come.
    ///
    /// A new encoder's record replaces it only if decoders need the new one (`DecoderConfigurationRecord.covers`).
    public private(set) var formatDescription: [UInt8]

    /// The open encoder's deviations from the requested properties.
    public private(set) var notes: [String]

    public private(set) var descriptionVersion = 0
    /// The open encoder's version of the notes.
    private var notesVersion: Int

    /// The decoding times of the encoder that was closed last.
    private var lastTimes: DecodeTimes

    public var decodeTimes: DecodeTimes {
        get { encoder?.decodeTimes ?? lastTimes }
        set {
            lastTimes = newValue
            encoder?.decodeTimes = newValue
        }
    }

    public var continuesAfterFinish: Bool { true }

    /// Opens the first encoder.
    ///
    /// - Parameter open: called again for each further encoder, when the one before it is closed.
    /// - Throws: what `open` throws.
    public init(_ configuration: EncoderConfiguration, open: @escaping Open) throws(SessionError) {
        let encoder = try open(configuration)
        self.open = open
        self.configuration = configuration
        self.encoder = encoder
        pass = configuration.pass
        formatDescription = encoder.formatDescription
        (notes, notesVersion) = (encoder.notes, encoder.descriptionVersion)
        lastTimes = encoder.decodeTimes
    }

    /// Applies a configuration from the next frame on; may be called at any time.
    ///
    /// - Returns: always true: the open encoder is finished, and replaced if it has to be, when that frame comes.
    public func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool {
        pendingConfiguration = configuration == self.configuration ? nil : configuration
        return true
    }

    public func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        if let pendingConfiguration {
            self.pendingConfiguration = nil
            try apply(pendingConfiguration, handler)
        }
        let current: any Encoder = if let encoder { encoder } else { try reopened() }
        hasFrames = true
        try current.encode(picture, handler)
        if current.descriptionVersion != notesVersion { takeNotes(of: current) }
    }

    public func finish(_ handler: EncodedPictureHandler) throws(SessionError) {
        guard let encoder, hasFrames else { return }
        try encoder.finish(handler)
        if !encoder.continuesAfterFinish { close() }
    }

    private func apply(
        _ configuration: EncoderConfiguration, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        self.configuration = configuration
        guard let encoder else { return }
        // The frames before the change are coded as they were meant to be.
        if hasFrames { try encoder.finish(handler) }
        if encoder.continuesAfterFinish, try encoder.change(to: configuration) {
            takeNotes(of: encoder)
        } else {
            close()
        }
    }

    /// Forgets the open encoder, which closes it: some drivers support only one context.
    private func close() {
        if let encoder { lastTimes = encoder.decodeTimes }
        encoder = nil
        hasFrames = false
    }

    private func reopened() throws(SessionError) -> any Encoder {
        if let pass, configuration.pass == pass {
            throw SessionError(.parameter, "a frame came after the end of \(pass.rawValue) (MultiPassStorage)")
        }
        var next = configuration
        if configuration.pass == pass {
            // Decoding times continue, so the encoder may not reorder more than the one before it.
            next.request.maxReorder = min(next.request.maxReorder ?? .max, lastTimes.reorderDepth)
        }
        let encoder = try open(next)
        if configuration.pass != pass {
            // The same frames come again, with the same times.
            pass = configuration.pass
            lastTimes = encoder.decodeTimes
        }
        guard let times = lastTimes.continued(by: encoder.decodeTimes) else {
            throw SessionError(
                .videoEncoderMalfunction, "the encoder reorders more frames with the changed properties")
        }
        encoder.decodeTimes = times
        if try !Self.covers(formatDescription, encoder.formatDescription) {
            formatDescription = encoder.formatDescription
        }
        takeNotes(of: encoder)
        self.encoder = encoder
        return encoder
    }

    private func takeNotes(of encoder: any Encoder) {
        (notes, notesVersion) = (encoder.notes, encoder.descriptionVersion)
        descriptionVersion += 1
    }

    private static func covers(_ record: [UInt8], _ other: [UInt8]) throws(SessionError) -> Bool {
        do throws(BitstreamError) {
            return try DecoderConfigurationRecord(bytes: record).covers(DecoderConfigurationRecord(bytes: other))
        } catch {
            throw SessionError(.videoEncoderMalfunction, "the encoder's format description: \(error.reason)")
        }
    }
}
