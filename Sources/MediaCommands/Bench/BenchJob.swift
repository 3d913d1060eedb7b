// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// One run of `hwctl bench`: a clip through hardware and software at several bit rates.
struct BenchJob {
    let input: String
    let amount: BenchClip.Amount
    /// Lowest first; nil leaves them to the clip.
    let rates: [Int64]?
    let properties: [PropertyKey: PropertyValue]
    let preset: String?
    let device: String?
    let hardware: Bool
    let software: Bool
    let plot: String?
    let keep: String?
    let json: Bool

    /// One session: an encoder at a bit rate.
    private struct Run {
        var isHardware: Bool
        var rate: Int64
        var specification: [PropertyKey: PropertyValue]
        var properties: [PropertyKey: PropertyValue]
    }

    /// Encodes, measures and reports.
    ///
    /// - Throws: what keeps every session from starting; a session that fails later becomes a row of the result.
    func run() throws {
        let interruption = try Interruption()
        if let keep { try makeFolder(keep) }
        Console.note("decoding \(input)")
        let clip = try BenchClip(input, amount, interruption)
        let daemon = try Daemon.findAndReport()
        var report = BenchReport(input, clip, preset: preset)
        for line in clip.warnings { Console.note(line) }
        let runs = try planRuns(daemon, clip, &report)

        var progress = Progress(total: runs.count * clip.frames.count)
        defer { progress.clear() }
        for (index, run) in runs.enumerated() {
            var done = index * clip.frames.count
            let row = try measure(run, daemon, clip, interruption) {
                done += 1
                progress.update(done: done)
            }
            report.runs.append(row)
        }
        progress.clear()
        if let plot {
            try WholeFile.write(Array(BenchPlot(report).svg.utf8), to: plot, inputs: [input])
            Console.note("wrote \(plot)")
        }
        if json { try Console.json(report) } else { try Console.result(report.table) }
        if let error = report.runs.first(where: { $0.error != nil })?.error {
            throw CommandFailure(.software, "a session failed: \(error)")
        }
    }

    /// Every session to measure, hardware first and rates rising; records in `report` whether hardware is available.
    private func planRuns(_ daemon: Daemon, _ clip: BenchClip, _ report: inout BenchReport) throws -> [Run] {
        let rates = rates ?? clip.usualRates
        var runs: [Run] = []
        if hardware {
            let hardwareRuns = rates.map { run(isHardware: true, rate: $0) }
            let refusal = try whyNoHardware(daemon, clip, hardwareRuns[0])
            report.hardware = BenchReport.Hardware(available: refusal == nil, reason: refusal?.reason)
            if let refusal {
                guard software else { throw refusal }
                Console.note("hardware is not measured: \(refusal.reason)")
            } else {
                runs += hardwareRuns
            }
        }
        return software ? runs + rates.map { run(isHardware: false, rate: $0) } : runs
    }

    private func run(isHardware: Bool, rate: Int64) -> Run {
        var run = Run(isHardware: isHardware, rate: rate, specification: [:], properties: properties)
        run.properties[.averageBitRate] = .int(rate)
        if isHardware {
            run.specification[.requireHardware] = .bool(true)
            if let device { run.specification[.requiredGPU] = .string(device) }
        } else {
            run.specification[.enableHardware] = .bool(false)
            if let preset { run.properties[.x265Preset] = .string(preset) }
        }
        return run
    }

    /// Runs one session; what goes wrong in it is its row's error.
    private func measure(
        _ run: Run, _ daemon: Daemon, _ clip: BenchClip, _ interruption: Interruption, _ onPacket: () -> Void
    ) throws -> BenchReport.Row {
        var encoderID = "unknown"
        do {
            let session = try BenchSession(
                daemon, clip, specification: run.specification, properties: run.properties,
                interruption: interruption, onPacket: onPacket)
            encoderID = session.created.encoderID
            if let keep {
                let name = "\(keep)/\(run.isHardware ? "hardware" : "software")-\(run.rate).hevc"
                try WholeFile.write(session.pictures, record: session.record, toAnnexB: name, inputs: [input])
            }
            var row = BenchReport.Row(session, clip, targetBitRate: run.rate)
            row.note(try session.quality(clip, interruption))
            return row
        } catch {
            let failure = CommandFailure(error)
            // Other exit codes are of failures that every session would meet.
            guard failure.exitCode == ExitStatus.software.rawValue else { throw failure }
            return BenchReport.Row(
                encoderID: encoderID, usingHardware: run.isHardware, targetBitRate: run.rate, error: failure.reason)
        }
    }

    /// Why the daemon creates no session in hardware; nil when it does.
    private func whyNoHardware(_ daemon: Daemon, _ clip: BenchClip, _ run: Run) throws -> ClientError? {
        do throws(ClientError) {
            try CompressionSession(
                daemon, clip.parameters(specification: run.specification, properties: run.properties)
            ).invalidate()
            return nil
        } catch {
            switch error.code {
            case .session(.couldNotFindVideoEncoder), .session(.videoEncoderNotAvailableNow):
                return error
            default: throw error
            }
        }
    }

    private func makeFolder(_ path: String) throws {
        guard mkdir(FileName.bytes(path), 0o777) != 0, errno != EEXIST else { return }
        throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
    }
}
