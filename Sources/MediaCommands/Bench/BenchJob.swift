// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
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

    /// Encodes, measures and tells.
    ///
    /// - Throws: what keeps every session from starting; one that fails half-way is a line of the result.
    func run() throws {
        let interruption = try Interruption()
        if let keep { try makeFolder(keep) }
        Console.note("decoding \(input)")
        let clip = try BenchClip(input, amount, interruption)
        let daemon = try Daemon.findAndReport()
        var report = BenchReport(input, clip, preset: preset)
        for line in clip.warnings { Console.note(line) }
        let rates = rates ?? clip.usualRates
        var kinds: [(isHardware: Bool, specification: [PropertyKey: PropertyValue])] = []
        if hardware {
            let specification = try hardwareSpecification(daemon)
            let refusal = try whyNoHardware(daemon, clip, specification, rates[0])
            report.hardware = BenchReport.Hardware(available: refusal == nil, reason: refusal?.reason)
            if let refusal {
                guard software else { throw refusal }
                Console.note("no hardware is measured: \(refusal.reason)")
            } else {
                kinds.append((true, specification))
            }
        }
        if software { kinds.append((false, [.enableHardware: .bool(false)])) }

        var progress = Progress(total: kinds.count * rates.count * clip.frames.count)
        defer { progress.clear() }
        var done = 0
        for (isHardware, specification) in kinds {
            for rate in rates {
                var wanted = properties
                wanted[.averageBitRate] = .int(rate)
                if !isHardware, let preset { wanted[.x265Preset] = .string(preset) }
                let before = done
                let row = try measure(daemon, clip, specification, wanted, rate, isHardware, interruption) {
                    done += 1
                    progress.update(done: done)
                }
                done = before + clip.frames.count
                report.runs.append(row)
            }
        }
        progress.clear()
        if let plot {
            try WholeFile.write(Array(BenchPlot(report).svg.utf8), to: plot, inputs: [input])
            Console.note("drew \(plot)")
        }
        if json { try Console.json(report) } else { try Console.result(report.table) }
        if let error = report.runs.first(where: { $0.error != nil })?.error {
            throw CommandFailure(.software, "not every session came to its end: \(error)")
        }
    }

    /// One session; what goes wrong in it is its row's error.
    private func measure(
        _ daemon: Daemon, _ clip: BenchClip, _ specification: [PropertyKey: PropertyValue],
        _ properties: [PropertyKey: PropertyValue], _ rate: Int64, _ isHardware: Bool, _ interruption: Interruption,
        _ onPacket: () -> Void
    ) throws -> BenchReport.Row {
        var encoderID = "unknown"
        do {
            let session = try BenchSession(
                daemon, clip, specification: specification, properties: properties, interruption: interruption,
                onPacket: onPacket)
            encoderID = session.created.encoderID
            if let keep {
                let name = "\(keep)/\(isHardware ? "hardware" : "software")-\(rate).hevc"
                try WholeFile.write(session.pictures, record: session.record, toAnnexB: name, inputs: [input])
            }
            var row = BenchReport.Row(session, clip, targetBitRate: rate)
            row.note(try session.quality(clip, interruption))
            return row
        } catch {
            let failure = CommandFailure(error)
            // What would go wrong with every session is not one session's.
            guard failure.exitCode == ExitStatus.software.rawValue else { throw failure }
            return BenchReport.Row(
                encoderID: encoderID, usingHardware: isHardware, targetBitRate: rate, error: failure.reason)
        }
    }

    /// What names the hardware that is wanted.
    private func hardwareSpecification(_ daemon: Daemon) throws -> [PropertyKey: PropertyValue] {
        var specification: [PropertyKey: PropertyValue] = [.requireHardware: .bool(true)]
        if let device { specification[.requiredGPU] = .string(device) }
        return specification
    }

    /// Why no session in hardware can be had; nil when one can.
    private func whyNoHardware(
        _ daemon: Daemon, _ clip: BenchClip, _ specification: [PropertyKey: PropertyValue], _ rate: Int64
    ) throws -> ClientError? {
        var wanted = properties
        wanted[.averageBitRate] = .int(rate)
        do throws(ClientError) {
            try CompressionSession(
                daemon,
                CreateCompressionSession.Parameters(
                    width: clip.video.width, height: clip.video.height, pixelFormat: clip.video.format,
                    timeBase: clip.video.timeBase, encoderSpecification: specification, properties: wanted)
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
        guard mkdir(path, 0o777) != 0, errno != EEXIST else { return }
        throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
    }
}
