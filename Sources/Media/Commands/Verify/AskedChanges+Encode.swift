// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDEdits
internal import HWDExport
internal import HWDModel

extension AskedChanges {
    /// What the options of `hwctl encode` change.
    init(_ command: EncodeCommand) {
        self.init()
        let (coding, properties) = (command.coding, command.coding.properties)
        hdr = coding.hdr
        maxLevel = command.maxLevel
        frameRate = command.frameRate.flatMap { Rational(text: $0) }
        isCopy = command.copy
        range = command.time.range
        beginsWithKeyFrame = command.copy && range != nil && !command.time.exact
        let sound = command.sound.options
        if sound.form == SoundOptions.Form.none || sound.track != nil || sound.bitRate != nil
            || sound.dropsUnsupported
        {
            names.insert("audio")
        }
        if command.sound.subtitle == TextForm.none { names.insert("subtitle") }
        let picture = command.picture.request
        if picture.size != nil || picture.maxHeight != nil || coding.exportPreset?.maxSize != nil {
            names.formUnion(["size", "aspect"])
        }
        (crop, rotation) = (picture.crop, picture.rotation)
        if picture.background != nil { names.formUnion(["alpha", "pictures"]) }
        // EncodeColor leaves HDR metadata and the ICC profile out.
        if !picture.effects.isEmpty {
            names.formUnion(["pictures", "icc", "mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+"])
        }
        if picture.orientation != nil { names.insert("rotation") }
        if picture.frameRate != nil {
            names.formUnion(["frames", "timestamps", "duration", "pictures", "captions"])
        }
        for (key, name) in Self.verifiedProperties where properties[key] != nil { names.insert(name) }
        retags = coding.retag
        if properties[.hdrMetadataInsertionMode] == .string("None"), !coding.hdr.converts { hdr = .drop }
        if properties[.preserveDynamicHDRMetadata] == .bool(false), coding.hdr == .preserve { hdr = .regenerate }
        if case .string(let text)? = properties[.sourceAlphaMode], let mode = AlphaChannelMode(rawValue: text) {
            sourceAlphaMode = mode
        }
    }

    /// Properties that change what a line of the receipt compares.
    private static let verifiedProperties: [(PropertyKey, String)] = [
        (.colorPrimaries, "color"), (.transferFunction, "color"), (.yCbCrMatrix, "color"),
        (.fullRangeVideo, "color"), (.chromaLocation, "color"),
        (.pixelAspectRatio, "aspect"), (.cleanAperture, "size"), (.fieldCount, "fields"), (.fieldDetail, "fields"),
        (.masteringDisplayColorVolume, "mastering"), (.contentLightLevelInfo, "light"),
    ]
}
