// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// Gives samples of a hardware encoder's output to a process that checks them, and holds their packets until it has found them
/// right; used from the codec thread.
final class OutputSampler {
    /// A packet that is held.
    typealias Held = (picture: EncodedPicture, bytes: [UInt8])

    /// What is checked, by the session's properties.
    struct Mode {
        let checksAll: Bool
        /// Whether packets do not wait.
        private(set) var onlyReports: Bool
        /// Pictures of a sample: fewer of large frames, which the client has to keep as long as packets are held.
        let sampleSize: Int
        /// Pictures of the first sample: fewer where a session continues another, whose client waits for the first packet.
        let firstSampleSize: Int

        /// Nil where nothing is.
        init?(
            _ session: CompressionAdmission, _ configuration: EncoderConfiguration, isContinuation: Bool = false
        ) {
            let mode = session.properties.string(.verifyOutput) ?? "sampled"
            guard mode != "off", configuration.alpha == nil else { return nil }
            checksAll = mode == "all"
            onlyReports = Self.onlyReports(configuration)
            sampleSize = configuration.request.width * configuration.request.height > 4 << 20 ? 4 : 8
            firstSampleSize = isContinuation ? min(sampleSize, 4) : sampleSize
        }

        static func onlyReports(_ configuration: EncoderConfiguration) -> Bool {
            configuration.realTime || configuration.maxFrameDelay != nil
        }

        mutating func change(to configuration: EncoderConfiguration) {
            onlyReports = Self.onlyReports(configuration)
        }

        /// The most packets that are held, which a client has to expect.
        var maxHeld: Int { onlyReports ? 0 : sampleSize + (checksAll ? 2 * Self.margin : Self.margin) }

        /// Packets that may come while a sample is checked, or that a decoder of all needs before it returns the first.
        private static let margin = 4
    }

    private let memory: SampleMemory
    private var configuration: EncoderConfiguration
    private var mode: Mode
    private let rowStep: Int

    /// Frames and key frames counted so far, and the frames inside the encoder by pts.
    private var frameCount = 0
    private var numbers: [Int64: Int] = [:]
    private var lastKeyFrame = 0
    /// The first frame of the last sample.
    private var lastSample: Int?
    /// Frames whose luma is still to be recorded for the next sample.
    private var toRecord = 0
    private var lumas: [Int64: Int] = [:]
    private var freeSlots = Array((0..<SampleMemory.slotCount).reversed())
    /// The sample that is being made, and whether the one before it in its group of pictures was complete.
    private var sample: OutputSample?
    private var sampleBytes = 0
    private var isUnbroken = false
    /// Whether the checker was given a sample.
    private var hasGiven = false
    /// Whether the checker's decoder has returned all pictures.
    private var isDrained = false
    /// The key frame of its group of pictures.
    private var groupStart: Int64 = 0
    private var half = 0
    /// The slots of the sample that is being checked, and when its answer is overdue.
    private var given: (slots: [Int], deadline: MonotonicTime)?
    private(set) var held: [Held] = []
    /// How many of them the sample that is being checked, and what is before it, has.
    private var givenCount = 0
    /// Why nothing more is checked.
    private var endReason: String? { didSet { notesVersion += 1 } }
    /// Why some pictures that should be checked were not.
    private var gapReason: String? { didSet { notesVersion += 1 } }
    /// A number that changes whenever `notes` may have changed.
    private(set) var notesVersion = 0

    /// What the client should know, a clause each.
    var notes: [String] {
        (endReason.map { ["the encoder's pictures are no longer verified: \($0)"] } ?? [])
            + (gapReason.map { ["not all \(checksAll ? "pictures" : "samples") were verified: \($0)"] } ?? [])
    }

    /// Frames from one sample to the next.
    private static let interval = 250
    /// Frames that a hardware encoder's pyramid reorders.
    private static let mostReordered = 8
    /// How long an answer may take.
    private static let timeout = Duration.seconds(2)
    /// How long a sample waits for more pictures while the client sends none.
    static let idleTime = Duration.milliseconds(15)

    init(_ memory: SampleMemory, _ configuration: EncoderConfiguration, _ mode: Mode) {
        (self.memory, self.configuration, self.mode) = (memory, configuration, mode)
        let (width, height) = (configuration.request.width, configuration.request.height)
        var step = 1
        while width * ((height + step - 1) / step) > SampleMemory.slotSize { step += 1 }
        rowStep = step
    }

    private var checksAll: Bool { mode.checksAll }
    private var onlyReports: Bool { mode.onlyReports }
    /// Pictures of the present sample, or of the next one.
    private var sampleSize: Int { hasGiven ? mode.sampleSize : mode.firstSampleSize }

    /// Applies what a running session may change.
    func change(to configuration: EncoderConfiguration) {
        self.configuration = configuration
        // What waits is sent without an answer.
        if isHolding, !onlyReports, Mode.onlyReports(configuration) { recordGap("RealTime was switched on") }
        mode.change(to: configuration)
    }

    // MARK: - Frames

    /// Records a frame's luma, where it may belong to a sample.
    func add(_ luma: PlaneView, pts: Int64, isForced: Bool) {
        guard endReason == nil else { return }
        let number = frameCount
        frameCount += 1
        numbers[pts] = number
        let interval = configuration.keyFrameInterval
        let isKeyFrame = number == 0 || isForced || number == lastKeyFrame + interval
        if isKeyFrame, toRecord == 0, lastSample.map({ number - $0 >= Self.interval }) ?? true {
            // Pictures are coded before some that are shown earlier.
            toRecord = sampleSize + Self.mostReordered
        }
        guard checksAll || toRecord > 0 else { return }
        if toRecord > 0 { toRecord -= 1 }
        guard let slot = freeSlots.popLast() else { return recordGap("too many waited at once") }
        copy(luma, to: memory.slot(slot))
        lumas[pts] = slot
    }

    private func copy(_ luma: PlaneView, to slot: UnsafeMutableRawBufferPointer) {
        guard let base = slot.baseAddress else { return }
        let (width, height) = (configuration.request.width, configuration.request.height)
        let format = configuration.request.pixelFormat
        var target = base
        for row in stride(from: 0, to: height, by: rowStep) {
            let source = luma.base + row * luma.stride
            if format.bytesPerSample == 1 {
                target.copyMemory(from: source, byteCount: width)
            } else {
                // The high bits are the second byte of P010's words, and bits 2 to 9 of I010's.
                let shift = format.isSemiPlanar ? 8 : 2
                let words = source.assumingMemoryBound(to: UInt16.self)
                let bytes = target.assumingMemoryBound(to: UInt8.self)
                for column in 0..<width { bytes[column] = UInt8(truncatingIfNeeded: words[column] >> shift) }
            }
            target += width
        }
    }

    // MARK: - Packets

    /// Takes a packet that belongs to a sample, or follows one that is being checked.
    ///
    /// - Parameter record: the stream's format description.
    /// - Returns: whether it is held.
    func take(_ picture: EncodedPicture, _ bytes: RawSpan, record: [UInt8]) -> Bool {
        let number = numbers.removeValue(forKey: picture.pts)
        if picture.isSync, let number { lastKeyFrame = max(lastKeyFrame, number) }
        let luma = lumas.removeValue(forKey: picture.pts)
        if endReason == nil { addToSample(picture, bytes, number: number, luma, record) } else { free(luma) }
        guard !onlyReports, sample != nil || given != nil || !held.isEmpty else { return false }
        held.append((picture, bytes.withUnsafeBytes { Array($0) }))
        if let sample, sample.units.count >= sampleSize { give(isLast: !checksAll) }
        return true
    }

    private func addToSample(
        _ picture: EncodedPicture, _ bytes: RawSpan, number: Int?, _ luma: Int?, _ record: [UInt8]
    ) {
        if picture.isSync, !checksAll, sample != nil { give(isLast: true) }
        if sample == nil { begin(with: picture, number: number, luma, record) }
        // Leading pictures may refer to pictures before the key frame.
        guard sample != nil, picture.pts >= groupStart else {
            if sample == nil { isUnbroken = false }
            return free(luma)
        }
        let count = sample?.units.count ?? 0
        let isTooLarge = sampleBytes + bytes.byteCount > SampleMemory.packetSize
        if isTooLarge || count >= OutputSample.maxCount {
            free(luma)
            // A sample grows beyond its size only while the checker has another: where packets do not wait, the checker may not
            // keep up.
            recordGap(
                isTooLarge && count < sampleSize
                    ? "the packets of one sample were too large"
                    : "the process that checks them did not keep up")
            return abandon()
        }
        bytes.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(rebasing: memory.packets(half)[sampleBytes...]).copyMemory(from: source)
        }
        sample?.units.append(OutputSample.Unit(pts: picture.pts, offset: sampleBytes, size: bytes.byteCount))
        if let luma { sample?.lumas.append(OutputSample.Luma(pts: picture.pts, slot: luma)) }
        sampleBytes += bytes.byteCount
        if onlyReports, let sample, sample.units.count >= sampleSize { give(isLast: !checksAll) }
    }

    /// Begins a sample with a key frame, or where all are checked with the picture after the last sample.
    private func begin(with picture: EncodedPicture, number: Int?, _ luma: Int?, _ record: [UInt8]) {
        let continues = checksAll && isUnbroken
        guard continues || picture.isSync && luma != nil else { return }
        sample = OutputSample(
            width: configuration.request.width, height: configuration.request.height, rowStep: rowStep,
            record: Hexadecimal.text(record), half: half, units: [], lumas: [], continues: continues,
            isLast: false, onlyReports: onlyReports)
        sampleBytes = 0
        if !continues { (lastSample, groupStart) = (number, picture.pts) }
    }

    private func recordGap(_ reason: String) {
        guard checksAll || !onlyReports, gapReason == nil else { return }
        gapReason = reason
        memory.hasUnverifiedPackets = true
    }

    private func free(_ slot: Int?) { if let slot { freeSlots.append(slot) } }

    private func abandon() {
        for luma in sample?.lumas ?? [] { free(luma.slot) }
        (sample, isUnbroken, toRecord) = (nil, false, 0)
    }

    /// Gives the sample to the checker, unless that has another; the last one makes its decoder return all pictures.
    ///
    /// Where all pictures are checked, others may continue it.
    private func give(isLast: Bool) {
        if sample == nil, isLast, isUnbroken, !isDrained {
            sample = OutputSample(
                width: configuration.request.width, height: configuration.request.height, rowStep: rowStep,
                record: "", half: half, units: [], lumas: [], continues: true, isLast: true,
                onlyReports: onlyReports)
        }
        guard var sample, given == nil else { return }
        sample.isLast = isLast
        memory.turn = .checker
        guard WorkerStartup.report(.sample(sample)) else { return stop("its output cannot be checked any more") }
        given = (sample.lumas.map(\.slot), MonotonicTime.now + Self.timeout)
        (givenCount, hasGiven) = (held.count, true)
        (self.sample, isUnbroken, half, toRecord) = (nil, checksAll || !isLast, 1 - half, 0)
        isDrained = isLast
    }

    /// Gives what there is of a sample, because no more packets come soon.
    func close(isLast: Bool) { give(isLast: isLast || !checksAll) }

    /// Gives what there is while the client sends nothing, and then makes the decoder return what it keeps: the client may wait
    /// for these packets.
    func closeIdle() { close(isLast: sample == nil && given == nil) }

    // MARK: - Answers

    /// The packets that need not be held any longer.
    ///
    /// - Throws: where one of them was found wrong; the broker ends this process for that.
    func takeReady() throws(SessionError) -> [Held] {
        var ready = 0
        if let given {
            switch memory.turn {
            case .encoder:
                for slot in given.slots { free(slot) }
                let confirmed = memory.confirmedTime
                ready = held.prefix(givenCount).prefix { $0.picture.pts < confirmed }.count
                if memory.hasUndecodedPictures {
                    recordGap("the decoder that checks them could not continue before the next IDR picture")
                }
                self.given = nil
            case .nobody:
                // The broker ends this process with the checker's reason.
                if MonotonicTime.now >= given.deadline + Self.timeout {
                    throw SessionError(.videoEncoderMalfunction, "the encoder's pictures are wrong")
                }
            case .ended: stop("there is no process that checks its output")
            case .checker:
                if MonotonicTime.now >= given.deadline {
                    stop("its output was not checked within \(Self.timeout.components.seconds) s")
                }
            }
        }
        if endReason != nil || onlyReports || given == nil && sample == nil && (isDrained || !isUnbroken) {
            ready = held.count
        }
        let packets = Array(held.prefix(ready))
        held.removeFirst(ready)
        if let sample, sample.units.count >= sampleSize { give(isLast: !checksAll) }
        return packets
    }

    private func stop(_ reason: String) {
        endReason = reason
        if checksAll || isHolding { memory.hasUnverifiedPackets = true }
        given = nil
        abandon()
    }

    /// Whether packets wait for an answer, or for the rest of their sample.
    var isHolding: Bool { !held.isEmpty || given != nil && !onlyReports }
    /// Whether an answer must come before the next packet.
    var isFull: Bool { given != nil && held.count > mode.maxHeld }
}
