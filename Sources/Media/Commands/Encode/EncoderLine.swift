// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDWire
internal import Synchronization

/// The line before the first frame: what encodes, and why it is not hardware.
enum EncoderLine {
    private static let last = Mutex<String>("")

    /// Prints the line; of several files, where it is not the one before.
    static func announce(_ created: CreateCompressionSession.Reply, _ daemon: Daemon) {
        let line: String
        if created.usingHardware {
            // Only the daemon knows the GPU's name; without it the line has the encoder's id.
            let encoders = try? daemon.call(ListEncoders.self, Empty()).encoders
            line = hardware(encoders?.first { $0.id == created.encoderID }?.name ?? created.encoderID)
        } else {
            line = software(created.encoderID, created.fallbackReason)
        }
        let isNew = last.withLock { last in
            defer { last = line }
            return last != line
        }
        if isNew { Console.file(line) }
    }

    /// - Parameter name: of the encoder and its GPU.
    static func hardware(_ name: String) -> String { "encoding in hardware: \(name), verified" }

    /// - Parameter reason: why it is not hardware; nil where software was requested.
    static func software(_ encoderID: String, _ reason: String?) -> String {
        let name = encoderID.split(separator: ".").last.map(String.init) ?? encoderID
        guard let reason else { return "encoding in software (\(name)), as requested" }
        if let cause = optionCause(reason) { return "encoding in software (\(name)): \(cause)" }
        return "encoding in software (\(name)): \(reason); see hwctl doctor"
    }

    /// A reason that lies in the command line, in its words; nil for others.
    private static func optionCause(_ reason: String) -> String? {
        let prefix = "only software supports "
        guard reason.hasPrefix(prefix) else { return nil }
        let names = reason.dropFirst(prefix.count).split(separator: ",").map { $0.drop { $0 == " " } }
        let options = names.map { name in
            switch PropertyKey(rawValue: String(name)) {
            case .x265Preset: "--preset"
            case .multiPassStorage: "--two-pass"
            default: "--property \(name)"
            }
        }
        let hint = options == ["--preset"] ? "; --speed works for both" : ""
        return "the GPU is not used because \(options.joined(separator: " and ")) "
            + "\(options.count == 1 ? "was" : "were") given\(hint)"
    }
}
