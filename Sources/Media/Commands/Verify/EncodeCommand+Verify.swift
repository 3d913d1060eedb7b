// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDComparison
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDModel

extension EncodeCommand {
    /// What this command's options change, where its output is verified; nil without `--verify`.
    var asked: AskedChanges? { verify ? changes : nil }

    /// What this command's options change.
    var changes: AskedChanges {
        var asked = AskedChanges()
        asked.hdr = hdr
        asked.maxLevel = maxLevel
        asked.frameRate = frameRate.flatMap { Rational(text: $0) }
        asked.isCopy = copy
        asked.range = time.range
        asked.beginsWithKeyFrame = copy && time.range != nil && !time.exact
        let sound = sound.options
        if sound.form == SoundOptions.Form.none || sound.track != nil || sound.bitRate != nil
            || sound.dropsUnsupported
        {
            asked.names.insert("audio")
        }
        if self.sound.subtitle == TextForm.none { asked.names.insert("subtitle") }
        let picture = picture.request
        if picture.size != nil || picture.maxHeight != nil || exportPreset?.maxSize != nil {
            asked.names.formUnion(["size", "aspect"])
        }
        (asked.crop, asked.rotation) = (picture.crop, picture.rotation)
        if picture.background != nil { asked.names.formUnion(["alpha", "pictures"]) }
        if picture.orientation != nil { asked.names.insert("rotation") }
        if picture.frameRate != nil {
            asked.names.formUnion(["frames", "timestamps", "duration", "pictures", "captions"])
        }
        let properties = properties
        for (key, name) in Self.verifiedProperties where properties[key] != nil { asked.names.insert(name) }
        asked.retags = retag
        if properties[.hdrMetadataInsertionMode] == .string("None"), !hdr.converts { asked.hdr = .drop }
        if properties[.preserveDynamicHDRMetadata] == .bool(false), hdr == .preserve { asked.hdr = .regenerate }
        if case .string(let text)? = properties[.sourceAlphaMode], let mode = AlphaChannelMode(rawValue: text) {
            asked.sourceAlphaMode = mode
        }
        return asked
    }

    /// Properties that change what a line of the receipt compares.
    private static let verifiedProperties: [(PropertyKey, String)] = [
        (.colorPrimaries, "color"), (.transferFunction, "color"), (.yCbCrMatrix, "color"),
        (.fullRangeVideo, "color"), (.chromaLocation, "color"),
        (.pixelAspectRatio, "aspect"), (.cleanAperture, "size"), (.fieldCount, "fields"), (.fieldDetail, "fields"),
        (.masteringDisplayColorVolume, "mastering"), (.contentLightLevelInfo, "light"),
    ]

    func validateVerify() throws {
        guard verify else { return }
        for input in outputs.outputDir == nil ? [input] : files {
            if input == "-" {
                throw ValidationError("--verify reads the input twice, which standard input cannot.")
            }
            if InputFile.isReadOnce(input) {
                throw ValidationError("--verify reads the input twice, and \(input) can be read only once.")
            }
        }
        guard outputs.outputDir == nil else { return }
        if output == "-" { throw ValidationError("--verify reads the output, which standard output cannot.") }
    }
}
