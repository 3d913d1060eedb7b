// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
internal import HWDModel

/// What a source is asked for; it takes what is nearest, and its format says what that is.
package struct CaptureRequest: Sendable {
    /// The part of the name behind the kind and the colon; empty for a kind without parts.
    package var part: String
    package var width: Int?
    package var height: Int?
    package var rate: CaptureRate?
    /// Whether what the source codes itself is wanted, and not pictures.
    package var copies = false
    /// Of a screen or a window; nil for what the desktop does by default.
    package var cursor: CaptureArguments.Cursor?
    /// Whether a person is asked again for what they have chosen before.
    package var choosesAgain = false
    /// Whether `part` is a name, and neither a serial nor an id.
    package var isByName = false

    package init(part: String = "", width: Int? = nil, height: Int? = nil, rate: CaptureRate? = nil) {
        (self.part, self.width, self.height, self.rate) = (part, width, height, rate)
    }

    /// In pixels; nil where it does not matter.
    package var size: (width: Int, height: Int)? {
        guard let width, let height else { return nil }
        return (width, height)
    }

    /// What a source does not do as asked, as ends of sentences that begin with its name.
    package func differences(from format: CaptureFormat) -> [String] {
        var lines: [String] = []
        if let size, size != (format.width, format.height) {
            lines.append("sends \(format.width)x\(format.height), not \(size.width)x\(size.height)")
        }
        // 29.97 is enough for 30.
        if let asked = rate?.perSecond, format.rate.map({ abs($0.perSecond - asked) > asked / 100 }) ?? true {
            let own = format.rate.map { "\(DecimalText.text($0.perSecond, 2)) frames a second" }
            let wanted = "\(DecimalText.text(asked, 2)) a second"
            lines.append("sends \(own ?? "a frame when something changes"), not \(wanted)")
        }
        return lines
    }
}

/// A source as `--list` describes it.
package struct CaptureListing: Encodable, Sendable {
    /// What `--source` takes.
    package var name: String
    package var description: String
    /// The formats of its frames, such as "NV12 1280x720 30".
    package var formats: [String]
    /// What is recorded of it, the first by default.
    package var recorded: [String]

    package init(name: String, description: String, formats: [String], recorded: [String] = ["hevc"]) {
        (self.name, self.description, self.formats, self.recorded) = (name, description, formats, recorded)
    }
}

/// A kind of source: the word before the colon of `--source`.
package struct CaptureKind: Sendable {
    package var name: String
    /// Whether a part follows the name, as in `v4l2:/dev/video0`.
    package var hasPart: Bool
    /// Whether a source that went away can come back under its name.
    package var comesBack = false
    /// The request for a source that was opened and has gone away, where that is not the first one.
    package var again: @Sendable (CaptureRequest, any CaptureSource) throws(CommandFailure) -> CaptureRequest
    /// Whether sources may code themselves.
    package var hasCoded = false
    package var list: @Sendable () throws(CommandFailure) -> [CaptureListing]
    package var open: @Sendable (CaptureRequest) throws(CommandFailure) -> any CaptureSource

    package init(
        _ name: String, hasPart: Bool = false,
        list: @escaping @Sendable () throws(CommandFailure) -> [CaptureListing],
        open: @escaping @Sendable (CaptureRequest) throws(CommandFailure) -> any CaptureSource
    ) {
        (self.name, self.hasPart, self.list, self.open) = (name, hasPart, list, open)
        again = { request, _ throws(CommandFailure) in request }
    }

    /// The kind of a name of `--source`, and its part.
    /// - Throws: `usage` for a name that no kind has.
    package static func find(_ text: String, in kinds: [CaptureKind]) throws(CommandFailure) -> (
        CaptureKind, String
    ) {
        let pair = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let part = pair.count > 1 ? String(pair[1]) : ""
        if let kind = kinds.first(where: { $0.name == pair[0] }), kind.hasPart == !part.isEmpty {
            return (kind, part)
        }
        let names = kinds.map { $0.hasPart ? "\($0.name):…" : $0.name }.joined(separator: ", ")
        throw CommandFailure(
            .usage, "there is no source '\(text)': \(names); hwctl capture --list has more about them")
    }
}

/// Where sound comes from in a build: what opens and lists the names of `--audio`.
package struct CaptureSoundKind: Sendable {
    package var list: @Sendable () throws(CommandFailure) -> [CaptureSoundListing]
    /// Opens `default`, `monitor` or a node's name.
    package var open: @Sendable (String) throws(CommandFailure) -> any CaptureSoundSource

    package init(
        list: @escaping @Sendable () throws(CommandFailure) -> [CaptureSoundListing],
        open: @escaping @Sendable (String) throws(CommandFailure) -> any CaptureSoundSource
    ) { (self.list, self.open) = (list, open) }
}

/// A microphone, or what plays sound, as `--list` describes it.
package struct CaptureSoundListing: Encodable, Hashable, Sendable {
    /// What `--audio` takes.
    package var name: String
    package var description: String
    /// Whether it is a sink, of which is recorded what it plays.
    package var isMonitor: Bool

    enum CodingKeys: String, CodingKey {
        case name, description
        case isMonitor = "monitor"
    }

    package init(name: String, description: String, isMonitor: Bool) {
        (self.name, self.description, self.isMonitor) = (name, description, isMonitor)
    }
}
