// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDWire

/// What a measurement was taken on and with.
struct BenchMachine: Encodable {
    /// When the measurement began, in UTC (ISO 8601).
    let date: String
    let hwctl = HWCtlVersion.text
    /// The name and the version of each encoder that was measured, by its id.
    private(set) var encoders: [String: String] = [:]
    /// The program that measured VMAF and coded H.264; nil without one.
    var ffmpeg: String?
    let cpu: String
    let processors: Int
    let kernel: String
    /// Those of the machine, in bytes.
    let memory: Int

    /// Describes this machine.
    ///
    /// - Parameter daemon: lists the encoders, with their libraries and drivers.
    init(_ daemon: Daemon) throws {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        date =
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):"
            + "\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
        for encoder in try daemon.call(ListEncoders.self, Empty()).encoders { encoders[encoder.id] = encoder.name }
        cpu = Self.cpuName ?? "unknown"
        processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        var names = utsname()
        uname(&names)
        kernel = [Self.text(names.sysname), Self.text(names.release), Self.text(names.machine)].joined(
            separator: " ")
    }

    /// Keeps the encoders that were measured.
    mutating func keep(encoders ids: Set<String>) { encoders = encoders.filter { ids.contains($0.key) } }

    /// The name of an encoder.
    func name(of encoderID: String) -> String { encoders[encoderID] ?? encoderID }

    /// The model of the first processor (proc(5)).
    private static var cpuName: String? {
        guard let file = fopen("/proc/cpuinfo", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("model name"), let colon = text.firstIndex(of: ":") else { continue }
            return String(text[text.index(after: colon)...].drop { $0 == " " }.prefix { $0 != "\n" }).printable()
        }
        return nil
    }

    private static func text<Name>(_ name: Name) -> String {
        withUnsafeBytes(of: name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// The facts in lines.
    var lines: [String] {
        let programs = ["hwctl \(hwctl)"] + encoders.values.sorted() + [ffmpeg].compactMap { $0 }
        return [programs.joined(separator: ", "), "\(cpu), \(processors) processors, \(kernel), \(date)"]
    }
}
