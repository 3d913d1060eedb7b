// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Checks before encoding whether a source can be exported as HEVC with alpha.
public enum AlphaExport {
    public struct Source: Hashable, Sendable {
        /// Whether the pictures have an alpha channel.
        public var hasAlpha: Bool
        public var width: Int
        public var height: Int
        /// Bits of a sample.
        public var bitDepth: Int
        public var color: ColorDescription

        public init(
            hasAlpha: Bool, width: Int, height: Int, bitDepth: Int = 8, color: ColorDescription = ColorDescription()
        ) {
            self.hasAlpha = hasAlpha
            self.width = width
            self.height = height
            self.bitDepth = bitDepth
            self.color = color
        }
    }

    /// The format to export.
    public struct Settings: Hashable, Sendable {
        /// `ProfileLevel`; nil for the session's default.
        public var profileLevel: ProfileLevel?
        /// The file name extension: mov, mp4 or hevc.
        public var fileEnding: String

        public init(profileLevel: ProfileLevel? = nil, fileEnding: String = "mov") {
            self.profileLevel = profileLevel
            self.fileEnding = fileEnding
        }
    }

    public struct Verdict: Hashable, Sendable {
        /// Why the source cannot be exported; empty when it can.
        public var reasons: [String] = []
        /// Losses and risks of the export, a clause each.
        public var notes: [String] = []

        public var isPossible: Bool { reasons.isEmpty }
    }

    /// Whether a source can be exported with alpha.
    public static func check(_ source: Source, _ settings: Settings = Settings()) -> Verdict {
        var verdict = Verdict()
        if !source.hasAlpha { verdict.reasons.append("the source has no alpha channel") }
        do throws(SessionError) {
            _ = try CompressionRequest(
                codec: CompressionRequest.alphaCodec, width: source.width, height: source.height,
                pixelFormat: PixelFormat.yuva.rawValue, timeBase: Rational(1))
        } catch { verdict.reasons.append(error.reason) }
        if let wanted = settings.profileLevel, wanted.profile != .main {
            verdict.reasons.append(
                "\(wanted.name) has \(wanted.profile.bitDepth) bits; streams with alpha are Main, with 8")
        }
        switch settings.fileEnding {
        case "mov", "mp4": break
        case "hevc":
            verdict.notes.append("players without support for alpha may fail on a raw stream with an alpha layer")
        default: verdict.reasons.append("a .\(settings.fileEnding) file cannot contain HEVC with alpha")
        }
        if source.bitDepth > 8 { verdict.notes.append("\(source.bitDepth) bits are reduced to 8") }
        if source.color.isHDR { verdict.notes.append("HDR with 8 bits per sample shows banding") }
        if source.color.isFullRange { verdict.notes.append("full range becomes video range") }
        return verdict
    }
}
