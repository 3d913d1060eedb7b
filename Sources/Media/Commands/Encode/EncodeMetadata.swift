// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDBoxes
internal import HWDMetadata
internal import HWDModel

/// A source's HDR metadata, pixel aspect ratio and fields: set as session properties, and copied from these into the track.
enum EncodeMetadata {
    /// The properties that follow from a source's description.
    static func properties(_ video: VideoDescription) -> [(PropertyKey, PropertyValue)] {
        var properties: [(PropertyKey, PropertyValue)] = []
        if let bytes = video.masteringDisplay {
            properties.append((.masteringDisplayColorVolume, .string(Hexadecimal.text(bytes))))
        }
        if let bytes = video.contentLight {
            properties.append((.contentLightLevelInfo, .string(Hexadecimal.text(bytes))))
        }
        if let bytes = video.ambientViewing {
            properties.append((.ambientViewingEnvironment, .string(Hexadecimal.text(bytes))))
        }
        if let aspect = video.sampleAspectRatio, aspect != Rational(1) {
            properties.append((.pixelAspectRatio, .string("\(aspect.numerator):\(aspect.denominator)")))
        }
        if let detail = video.fieldDetail, video.isInterlaced {
            properties.append((.fieldDetail, .string(detail.interleaved.rawValue)))
        } else if video.isInterlaced {
            properties.append((.fieldCount, .int(2)))
        }
        return properties
    }

    /// Properties with static HDR metadata.
    private static let hdrKeys: Set<PropertyKey> = [
        .masteringDisplayColorVolume, .contentLightLevelInfo, .ambientViewingEnvironment,
    ]

    /// Sets the properties that the user did not set; returns a warning for each that the session refuses.
    ///
    /// One call each: the session accepts all properties of a call or none.
    static func send(
        _ video: VideoDescription, _ hdr: EncodeHDR, to session: CompressionSession,
        unless userProperties: [PropertyKey: PropertyValue]
    ) throws(ClientError) -> [String] {
        var warnings: [String] = []
        for (key, value) in hdr.properties where userProperties[key] == nil {
            do throws(ClientError) {
                try session.setProperties([key: value])
            } catch {
                guard error.code == .session(.propertyNotSupported) else { throw error }
                hdr.refused()
            }
        }
        let setsFields = userProperties[.fieldCount] != nil || userProperties[.fieldDetail] != nil
        for (key, value) in properties(video) where userProperties[key] == nil {
            if setsFields, [.fieldCount, .fieldDetail].contains(key) { continue }
            if !hdr.keepsStatic, hdrKeys.contains(key) { continue }
            do throws(ClientError) {
                try session.setProperties([key: value])
            } catch {
                guard case .session(let status) = error.code,
                    [.propertyNotSupported, .propertyReadOnly, .parameter].contains(status)
                else { throw error }
                warnings.append("warning: the source's \(key) is not written to the coded stream: \(error.reason)")
            }
        }
        return warnings
    }

    /// Copies the session's properties, as far as they are set, into the track.
    static func apply(_ properties: [PropertyKey: PropertyValue], to track: inout VideoTrack) {
        if case .string(let text)? = properties[.masteringDisplayColorVolume], let bytes = Hexadecimal.bytes(text),
            bytes.count == 24
        {
            track.masteringDisplay = bytes
        }
        if case .string(let text)? = properties[.contentLightLevelInfo], let bytes = Hexadecimal.bytes(text),
            bytes.count == 4
        {
            track.contentLight = bytes
        }
        if case .string(let text)? = properties[.ambientViewingEnvironment], let bytes = Hexadecimal.bytes(text),
            bytes.count == 8
        {
            track.ambientViewing = bytes
        }
        if case .string(let text)? = properties[.pixelAspectRatio], let aspect = ratio(text) {
            track.sampleAspectRatio = aspect
        }
        if case .string(let text)? = properties[.fieldDetail], let detail = FieldDetail(rawValue: text) {
            (track.isInterlaced, track.fieldDetail) = (true, detail)
        } else if case .int(let count)? = properties[.fieldCount] {
            (track.isInterlaced, track.fieldDetail) = (count == 2, nil)
        }
        if case .string(let text)? = properties[.cleanAperture], let aperture = aperture(text, track) {
            track.cleanAperture = aperture
        }
    }

    /// Parses `WxH+X+Y`, for a track whose pictures are coded at an even size.
    private static func aperture(_ text: String, _ track: VideoTrack) -> CleanAperture? {
        let numbers = text.split(whereSeparator: { $0 == "x" || $0 == "+" }).map { Int($0) ?? -1 }
        guard numbers.count == 2 || numbers.count == 4 else { return nil }
        return CleanAperture(
            x: numbers.count == 4 ? numbers[2] : 0, y: numbers.count == 4 ? numbers[3] : 0, width: numbers[0],
            height: numbers[1], ofCodedWidth: (track.width + 1) / 2 * 2, codedHeight: (track.height + 1) / 2 * 2)
    }

    private static func ratio(_ text: String) -> Rational? {
        let parts = text.split(separator: ":").map { Int32($0) }
        guard parts.count == 2, let over = parts[0], let under = parts[1], over > 0 else { return nil }
        return Rational(over, under)
    }
}
