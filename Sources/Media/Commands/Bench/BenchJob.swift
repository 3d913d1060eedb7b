// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVWriting
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
    /// x265's presets; the encoder's default where there are none.
    let presets: [String]
    let device: String?
    let hardware: Bool
    let software: Bool
    let plot: String?
    let keep: String?
    /// Whether decoding and converting are measured too.
    let measures: (decoding: Bool, converting: Bool)
    /// `x264`, or a document of an earlier run.
    let against: String?
    /// The program that measures VMAF; nil looks for `ffmpeg` on PATH.
    let ffmpeg: String?
    let json: Bool

    /// One session: an encoder at a bit rate.
    private struct Run {
        var isHardware: Bool
        var rate: Int64
        var preset: String?
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
        let before = try against.flatMap { $0 == "x264" ? nil : try BenchDocument.read($0) }
        var report = BenchReport(input, clip, try BenchMachine(daemon))
        let quality = try meter(clip, interruption, &report)
        for line in clip.warnings { Console.note(line) }
        let runs = try planRuns(daemon, clip, &report)

        var progress = Progress(total: runs.count * clip.frames.count)
        defer { progress.clear() }
        for (index, run) in runs.enumerated() {
            var done = index * clip.frames.count
            let row = try measure(run, (daemon, clip, quality), interruption) {
                done += 1
                progress.update(done: done)
            }
            report.runs.append(row)
        }
        progress.clear()
        try compare(&report, clip, quality, before)
        let speeds = BenchSpeeds(daemon: daemon, interruption: interruption)
        if measures.decoding {
            report.decoding = speeds.decoding(
                input, frames: clip.frames.count, hardware: hardware, software: software)
        }
        if measures.converting { report.converting = speeds.converting(clip) }
        if interruption.isSet { throw CommandFailure.interrupted }
        report.machine.keep(encoders: Set(report.runs.map(\.encoderID)))
        report.warnings += report.missedRates
        report.missedRates.forEach(Console.note)
        if let plot {
            try WholeFile.write(Array(BenchPlot(report).svg.utf8), to: plot, inputs: [input])
            Console.note("wrote \(plot)")
        }
        if json { try Console.json(report) } else { try Console.result(report.table) }
        if let error = report.runs.first(where: { $0.error != nil })?.error {
            throw CommandFailure(.software, "a session failed: \(error)")
        }
    }

    /// What measures VMAF; nil where no program does, or the input is a pipe.
    private func meter(
        _ clip: BenchClip, _ interruption: Interruption, _ report: inout BenchReport
    ) throws -> BenchQuality? {
        let program = FFmpegProgram(ffmpeg ?? "ffmpeg", interruption)
        if let reason = whyNoMeter(program) {
            if ffmpeg != nil || against == "x264" { throw CommandFailure(.unavailable, reason) }
            Console.note("VMAF is not measured: \(reason)")
            return nil
        }
        report.machine.ffmpeg = program?.version
        return try program.map { try BenchQuality($0, input, clip) }
    }

    private func whyNoMeter(_ program: FFmpegProgram?) -> String? {
        guard input != "-" else { return "ffmpeg reads the input again, which standard input cannot" }
        guard let program else { return "\(ffmpeg ?? "ffmpeg") is not there or does not run" }
        guard program.measuresVMAF else { return "\(program.version) has no filter libvmaf" }
        guard against != "x264" || program.codesH264 else { return "\(program.version) has no libx264" }
        return nil
    }

    /// Compares the curves with the reference: the first of them, x264's, or those of a document.
    private func compare(
        _ report: inout BenchReport, _ clip: BenchClip, _ quality: BenchQuality?, _ before: BenchDocument?
    ) throws {
        let curves = report.curves
        if let first = curves.first, curves.count > 1 {
            report.bitSavings += BenchComparison.all(Array(curves.dropFirst()), against: first)
        }
        if against == "x264", let quality {
            Console.note("coding with x264")
            let curve = try quality.x264(rates ?? clip.usualRates)
            report.reference = curve
            report.bitSavings += BenchComparison.all(curves, against: curve)
        }
        guard let before else { return }
        if before.sha256 != report.sha256 || before.frames != report.frames {
            let warning = "warning: \(against ?? "") measured another clip or another number of frames"
            report.warnings.append(warning)
            Console.note(warning)
        }
        for curve in curves {
            let same = before.curves.first { $0.encoderID == curve.encoderID && $0.preset == curve.preset }
            guard let reference = same ?? before.curves.first else { continue }
            report.bitSavings += BenchComparison.all([curve], against: reference)
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
        guard software else { return runs }
        let presets: [String?] = presets.isEmpty ? [nil] : presets
        return runs + presets.flatMap { preset in rates.map { run(isHardware: false, rate: $0, preset) } }
    }

    private func run(isHardware: Bool, rate: Int64, _ preset: String? = nil) -> Run {
        var run = Run(
            isHardware: isHardware, rate: rate, preset: preset, specification: [:], properties: properties)
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
        _ run: Run, _ on: (daemon: Daemon, clip: BenchClip, quality: BenchQuality?), _ interruption: Interruption,
        _ onPacket: () -> Void
    ) throws -> BenchReport.Row {
        let (daemon, clip, quality) = on
        var encoderID = "unknown"
        do {
            let session = try BenchSession(
                daemon, clip, specification: run.specification, properties: run.properties,
                interruption: interruption, onPacket: onPacket)
            encoderID = session.created.encoderID
            if let keep {
                let kind = run.isHardware ? "hardware" : "software"
                let name =
                    "\(keep)/\(kind)\(presets.count > 1 ? run.preset.map { "-" + $0 } ?? "" : "")-\(run.rate).hevc"
                try WholeFile.write(session.pictures, record: session.record, toAnnexB: name, inputs: [input])
            }
            var row = BenchReport.Row(session, clip, targetBitRate: run.rate)
            row.preset = run.preset
            row.note(try session.quality(clip, interruption))
            row.vmaf = try quality?.vmaf(session)
            return row
        } catch {
            let failure = CommandFailure(error)
            // Other exit codes are of failures that every session would meet.
            guard failure.exitCode == ExitStatus.software.rawValue else { throw failure }
            var row = BenchReport.Row(
                encoderID: encoderID, usingHardware: run.isHardware, targetBitRate: run.rate, error: failure.reason)
            row.preset = run.preset
            return row
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
