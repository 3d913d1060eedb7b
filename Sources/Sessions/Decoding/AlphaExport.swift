// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether something can be exported as HEVC with alpha, told before anything is encoded.
public enum AlphaExport {
    /// What is to be exported.
    public struct Source: Hashable, Sendable {
        /// Whether its pictures have an alpha channel.
        public var hasAlpha: Bool
        /// Samples a row.
        public var width: Int
        /// Rows.
        public var height: Int
        /// Bits of a sample.
        public var bitDepth: Int
        /// Its colour.
        public var color: ColorDescription

        /// A source by what is known of it.
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

    /// What it is to become.
    public struct Settings: Hashable, Sendable {
        /// `ProfileLevel`; nil leaves it to the session.
        public var profileLevel: ProfileLevel?
        /// The ending of the file: mov, mp4 or hevc.
        public var fileEnding: String

        /// Settings; by default a .mov in the profile that fits.
        public init(profileLevel: ProfileLevel? = nil, fileEnding: String = "mov") {
            self.profileLevel = profileLevel
            self.fileEnding = fileEnding
        }
    }

    /// The answer.
    public struct Verdict: Hashable, Sendable {
        /// Why it cannot be; empty when it can.
        public var reasons: [String] = []
        /// What is lost or risked where it can, a sentence each.
        public var notes: [String] = []

        /// Whether it can be exported with alpha.
        public var isPossible: Bool { reasons.isEmpty }
    }

    /// Whether a source can be exported with alpha, and why not.
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
                "\(wanted.name) has \(wanted.profile.bitDepth) bits; streams with alpha are Main, of 8")
        }
        switch settings.fileEnding {
        case "mov", "mp4": break
        case "hevc":
            verdict.notes.append("a raw stream with an alpha layer confuses players that know none")
        default: verdict.reasons.append("a .\(settings.fileEnding) file does not hold HEVC with alpha")
        }
        if source.bitDepth > 8 { verdict.notes.append("\(source.bitDepth) bits are reduced to 8") }
        if source.color.isHDR { verdict.notes.append("HDR in 8 bits a sample shows banding") }
        if source.color.isFullRange { verdict.notes.append("full range becomes video range") }
        return verdict
    }
}
