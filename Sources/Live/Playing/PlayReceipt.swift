// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDModel
package import HWOutput

/// What was played, as `--stats` prints it.
package struct PlayReceipt: Encodable {
    package struct Device: Encodable {
        package var name: String
        package var isHardware: Bool
        package var reason: String?

        enum CodingKeys: String, CodingKey {
            case name, reason
            case isHardware = "hardware"
        }
    }

    /// Sound that was heard.
    package struct Sound: Encodable, Sendable {
        package var rate: Int
        package var channels: Int
        /// How often its frames were not decoded in time.
        package var gaps = 0
        /// The most by which pictures were before or behind it, in milliseconds, after its first second; nil where it was shorter.
        package var offset: Double?

        enum CodingKeys: String, CodingKey {
            case rate, channels, gaps
            case offset = "offset_ms"
        }

        package init(rate: Int, channels: Int) { (self.rate, self.channels) = (rate, channels) }
    }

    package var schema = 1
    package var file: String
    package var rate: Double
    package var format: String
    /// Refreshes that were asked for a frame, and their rate in Hz; nil where it is not known.
    package var refreshes: Int
    package var displayRate: Double?
    package var shown = 0
    package var late = 0
    package var dropped = 0
    package var skipped = 0
    /// Pictures of levels above `--max-level`.
    package var leftOut = 0
    package var restarts = 0
    /// Frames by the number of refreshes for which they stayed; those of a window have no ideal.
    package var cadence: [String: Int] = [:]
    package var ideal: [String: Int]?
    package var matchesIdeal: Bool?
    /// Frames that the compositor has presented and discarded, where it says so.
    package var presented: Int?
    package var discarded: Int?
    package var decoder: Device?
    package var converter: Device?
    package var sound: Sound?

    enum CodingKeys: String, CodingKey {
        case schema, file, rate, format, refreshes, shown, late, dropped, skipped, restarts, cadence, ideal
        case presented, discarded, decoder, converter, sound
        case displayRate = "display_rate"
        case leftOut = "left_out"
        case matchesIdeal = "matches_ideal"
    }

    package init(file: String, rate: Double, format: String, refreshes: Int) {
        (self.file, self.rate, self.format, self.refreshes) = (file, rate, format, refreshes)
    }

    /// Takes an output's counts.
    package mutating func add(_ output: VideoOutput, _ times: ReadTimes) {
        let counts = output.counts
        (shown, late, dropped, skipped) = (counts.shown, counts.late, counts.dropped, counts.skipped)
        (restarts, leftOut) = (counts.restarts, times.leftOutCount)
        decoder = output.devices.decoder.map(Self.device)
        converter = output.devices.converter.map(Self.device)
    }

    package mutating func add(_ cadence: Cadence, ideal: Cadence?) {
        self.cadence = Self.members(cadence)
        self.ideal = ideal.map(Self.members)
        matchesIdeal = ideal.map { $0 == cadence }
    }

    private static func members(_ cadence: Cadence) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: cadence.frames.map { ("\($0.key)", $0.value) })
    }

    private static func device(_ device: OutputDevices.Device) -> Device {
        Device(name: device.name, isHardware: device.isHardware, reason: device.fallbackReason)
    }

    /// Prints it: one document, or lines.
    package func print(json: Bool) throws {
        if json { return try Console.json(self) }
        let hertz = displayRate.map { " at \(DecimalText.text($0, 2)) Hz" } ?? ""
        try Console.result(
            "shown \(shown), late \(late), dropped \(dropped), skipped \(skipped) in \(refreshes) refreshes\(hertz)"
        )
        if leftOut > 0 { try Console.result("left out: \(leftOut) pictures above --max-level") }
        if let presented {
            try Console.result("the compositor presented \(presented) frames and discarded \(discarded ?? 0)")
        }
        let comparison = ideal.map { matchesIdeal == true ? "; ideal: the same" : "; ideal: \(Self.text($0))" }
        try Console.result("frames by refreshes: \(Self.text(cadence))\(comparison ?? "")")
        for (verb, device) in [("decoded", decoder), ("converted", converter)] {
            guard let device else { continue }
            let kind = device.isHardware ? "hardware" : "software"
            try Console.result("\(verb) by \(device.name) (\(kind)\(device.reason.map { ": \($0)" } ?? ""))")
        }
        if let sound {
            let offset = sound.offset.map { ", pictures within \(DecimalText.text($0, 1)) ms of it" } ?? ""
            try Console.result(
                "sound: \(sound.channels) channel\(sound.channels == 1 ? "" : "s") at \(sound.rate) Hz, "
                    + "\(sound.gaps) gap\(sound.gaps == 1 ? "" : "s")\(offset)")
        }
        if restarts > 0 { try Console.result("sessions that continued in another process: \(restarts)") }
    }

    private static func text(_ members: [String: Int]) -> String {
        if members.isEmpty { return "none" }
        let sorted = members.sorted { (Int($0.key) ?? 0) < (Int($1.key) ?? 0) }
        return sorted.map { "\($0.value) for \($0.key)" }.joined(separator: ", ")
    }
}
