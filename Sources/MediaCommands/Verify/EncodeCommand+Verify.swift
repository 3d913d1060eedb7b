// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDMediaFile
internal import HWDModel
internal import HWDSystem

extension EncodeCommand {
    /// What this command's options change, for the verification of its output; nil without `--verify`.
    var asked: AskedChanges? {
        guard verify else { return nil }
        var asked = AskedChanges()
        asked.hdr = hdr
        asked.maxLevel = maxLevel
        asked.frameRate = frameRate.flatMap { Rational(text: $0) }
        asked.isCopy = copy
        let properties = properties
        for (key, name) in Self.verifiedProperties where properties[key] != nil { asked.names.insert(name) }
        // Without --retag the samples are converted; with it, metadata that no longer hold are left out.
        if asked.names.contains("color") {
            asked.names.formUnion(
                retag ? ["mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+"] : ["pictures"])
        }
        if case .string(let text)? = properties[.sourceAlphaMode], let mode = AlphaChannelMode(rawValue: text) {
            asked.sourceAlphaMode = mode
        }
        return asked
    }

    /// Properties that change what a line of the receipt compares.
    private static let verifiedProperties: [(PropertyKey, String)] = [
        (.colorPrimaries, "color"), (.transferFunction, "color"), (.yCbCrMatrix, "color"),
        (.fullRangeVideo, "color"),
        (.pixelAspectRatio, "aspect"), (.cleanAperture, "size"), (.fieldCount, "fields"), (.fieldDetail, "fields"),
        (.masteringDisplayColorVolume, "mastering"), (.contentLightLevelInfo, "light"),
    ]

    func validateVerify() throws {
        guard verify else { return }
        if input == "-" { throw ValidationError("--verify reads the input twice, which standard input cannot.") }
        var status = stat()
        if stat(FileName.bytes(input), &status) == 0,
            [S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.st_mode & S_IFMT)
        {
            throw ValidationError("--verify reads the input twice, and \(input) can be read only once.")
        }
        if output == "-" { throw ValidationError("--verify reads the output, which standard output cannot.") }
    }
}
