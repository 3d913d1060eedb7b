// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDWire
internal import Logging

/// How values of one kind are written in configuration files.
struct SettingKind<Value>: Sendable {
    let takes: String
    let read: @Sendable (String) throws(SettingFault) -> Value
    let show: @Sendable (Value) -> String
}

/// Splits text into a number and the unit after it.
private func split(_ text: String) -> (number: Substring, unit: String) {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    return (number, String(text.dropFirst(number.count).drop { $0 == " " }))
}

extension SettingKind<Int> {
    /// A whole number.
    static func count(_ range: ClosedRange<Int>) -> SettingKind {
        SettingKind(takes: "\(range.lowerBound) to \(range.upperBound)") { (text) throws(SettingFault) in
            guard let value = Int(text) else { throw SettingFault("'\(text)' is not a whole number") }
            guard range.contains(value) else { throw SettingFault("\(value) is out of range") }
            return value
        } show: {
            "\($0)"
        }
    }
}

extension SettingKind<UInt64> {
    private static let units = ["": 0, "K": 10, "M": 20, "G": 30, "T": 40]

    /// A number of bytes, with K, M, G or T for powers of 1024.
    static func size(_ range: ClosedRange<UInt64>) -> SettingKind {
        SettingKind(takes: "\(written(range.lowerBound)) to \(written(range.upperBound)) (bytes, K, M, G, T)") {
            (text) throws(SettingFault) in
            let (number, unit) = split(text)
            guard let shift = units[unit], let value = UInt64(number) else {
                throw SettingFault("'\(text)' is not a size")
            }
            let (bytes, overflow) = value.multipliedReportingOverflow(by: 1 << UInt64(shift))
            guard !overflow, range.contains(bytes) else { throw SettingFault("\(text) is out of range") }
            return bytes
        } show: {
            written($0)
        }
    }

    private static func written(_ bytes: UInt64) -> String {
        let fitting = units.filter { bytes % (1 << UInt64($0.value)) == 0 }.max { $0.value < $1.value }
        return fitting.map { "\(bytes >> UInt64($0.value))\($0.key)" } ?? "\(bytes)"
    }
}

extension SettingKind<MemoryLimit> {
    /// A number of bytes, a share of the machine's memory, or none.
    static func memory(_ range: ClosedRange<UInt64>) -> SettingKind {
        let size = SettingKind<UInt64>.size(range)
        return SettingKind(
            takes: "\(size.takes), 1% to 100% of the machine's or control group's memory, or unlimited"
        ) {
            (text) throws(SettingFault) in
            if text == "unlimited" { return .unlimited }
            guard text.hasSuffix("%") else { return .bytes(try size.read(text)) }
            guard let percent = Int(text.dropLast()), 1...100 ~= percent else {
                throw SettingFault("\(text) is out of range")
            }
            return .percent(percent)
        } show: { limit in
            switch limit {
            case .bytes(let bytes): size.show(bytes)
            case .percent(let percent): "\(percent)%"
            case .unlimited: "unlimited"
            }
        }
    }
}

extension SettingKind<SessionShare> {
    /// A number of sessions, or a share of the processors.
    static func sessionShare(_ range: ClosedRange<Int>) -> SettingKind {
        let count = SettingKind<Int>.count(range)
        return SettingKind(takes: "\(count.takes), or 1% to 1000% of the processors") {
            (text) throws(SettingFault) in
            guard text.hasSuffix("%") else { return .count(try count.read(text)) }
            guard let percent = Int(text.dropLast()), 1...1000 ~= percent else {
                throw SettingFault("\(text) is out of range")
            }
            return .percent(percent)
        } show: { share in
            switch share {
            case .count(let number): count.show(number)
            case .percent(let percent): "\(percent)%"
            }
        }
    }
}

extension SettingKind<Duration> {
    private static let units = ["": 1, "s": 1, "ms": 0.001, "min": 60, "h": 3600]

    /// Seconds, or a number with ms, s, min or h.
    static func time(_ range: ClosedRange<Double>) -> SettingKind {
        let takes = "\(written(range.lowerBound)) to \(written(range.upperBound)) seconds (s, ms, min, h)"
        return SettingKind(takes: takes) { (text) throws(SettingFault) in
            let (number, unit) = split(text)
            guard let factor = units[unit], let value = Double(number) else {
                throw SettingFault("'\(text)' is not a time")
            }
            guard range.contains(value * factor) else { throw SettingFault("\(text) is out of range") }
            return .milliseconds(Int64(value * factor * 1000))
        } show: { duration in
            written(Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18)
        }
    }

    private static func written(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? "\(Int64(seconds))" : "\(seconds)"
    }
}

extension SettingKind<String?> {
    /// Absolute paths separated by colons.
    static func paths(atMost limit: Int) -> SettingKind {
        SettingKind(takes: "absolute paths, separated by colons") { (text) throws(SettingFault) in
            let paths = Devices.parse(text)
            guard !paths.isEmpty, paths.count <= limit else {
                throw SettingFault("1 to \(limit) paths are needed")
            }
            if let path = paths.first(where: { !$0.hasPrefix("/") }) {
                throw SettingFault("'\(path)' is not an absolute path")
            }
            return text
        } show: {
            $0 ?? ""
        }
    }
}

extension SettingKind<SandboxRequest.Mode> {
    /// The name of a mode.
    static var sandboxMode: SettingKind {
        let names = SandboxRequest.Mode.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingKind(takes: "one of \(names)") { (text) throws(SettingFault) in
            guard let mode = SandboxRequest.Mode(rawValue: text) else {
                throw SettingFault("'\(text)' is not one of them")
            }
            return mode
        } show: {
            $0.rawValue
        }
    }
}

extension SettingKind<Logger.Level> {
    /// The name of a log level.
    static var logLevel: SettingKind {
        let levels: [Logger.Level] = [.debug, .info, .notice, .warning, .error]
        let names = levels.map(\.rawValue).joined(separator: ", ")
        return SettingKind(takes: "one of \(names)") { (text) throws(SettingFault) in
            guard let level = levels.first(where: { $0.rawValue == text }) else {
                throw SettingFault("'\(text)' is not one of them")
            }
            return level
        } show: {
            $0.rawValue
        }
    }
}
