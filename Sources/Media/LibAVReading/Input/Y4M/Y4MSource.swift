// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// Reads Y4M, each frame with read(2) into its final memory.
final class Y4MSource: InputReader {
    /// The stream's header, with the format of the frames that are returned.
    let header: Y4MHeader
    let video: VideoDescription
    private(set) var report = DecodeReport()
    /// Bytes after each frame's samples that are skipped: alpha that is not requested.
    private let skipped: Int
    /// The conversion of samples that frames do not have; nil where they are read as they are.
    private let conversion: Y4MConversion?
    private let file: InputFile
    private let name: String
    private let cancelFlag: CancelFlag
    /// The destination of frames while it has a free slot.
    private var memory: (any FrameMemory)?
    /// The destination of skipped bytes; allocated on first use.
    private var scratch: UnsafeMutableRawBufferPointer?

    let decodes = true
    let isUntimed = true
    let otherStreams: [OtherStream] = []
    let levelReport: LevelReport? = nil
    let slotsHeld = 0
    var directByteCount: Int { header.frameByteCount }

    /// Reads the header of the stream.
    /// - Throws: `badInput`, `unsupported`, `usage` for options that do not fit Y4M.
    init(_ file: InputFile, options: MediaReader.Options, cancelFlag: CancelFlag) throws(MediaError) {
        guard options.frameRate == nil else {
            throw MediaError(.usage, "\(file.name) is Y4M, which has its own frame rate")
        }
        guard options.maxLevel == nil else { throw MediaError.noLevels(file.name, codec: "Y4M") }
        let alpha = options.alpha
        guard let descriptor = file.descriptor else {
            throw MediaError(.badInput, "\(file.name) is not Y4M")
        }
        name = file.name
        self.file = file
        self.cancelFlag = cancelFlag
        // A reader before this one may have moved the position; standard input is read from where it is.
        if file.isSeekable { lseek(descriptor, 0, SEEK_SET) }
        var header = try Self.readHeader(file, name, cancelFlag)
        conversion =
            header.chroma.native == nil ? try Y4MConversion(header, alpha: alpha, name: name) : nil
        if let conversion { header.format = conversion.description.target }
        let whole = header.frameByteCount
        if header.format == .yuva, alpha == nil { header.format = .yu12 }
        (self.header, skipped) = (header, whole - header.frameByteCount)
        let hasAlpha = header.format == .yuva
        guard alpha == nil || hasAlpha || options.isAlphaOptional else {
            throw MediaError(.badInput, "\(name) has no alpha channel: it is Y4M with C\(header.chromaName)")
        }
        var video = VideoDescription(header, conversion?.description)
        // Samples that are not converted keep their mode.
        let mode = conversion?.description.alpha?.frameMode(of: SampleFormats.traits(header.chroma.samples))
        video.alphaMode = hasAlpha ? mode ?? alpha?.source : nil
        self.video = video
        // Frames of a pipe are read once.
        file.head?.endRecording()
    }

    var warnings: [String] {
        [
            header.frameRate == nil ? "warning: the Y4M header has no frame rate: 25 per second is assumed" : nil,
            skipped > 0 ? "warning: the input's alpha (C\(header.chromaName)) is left out" : nil,
            video.interlacedWarning,
        ].compactMap { $0 }
    }

    deinit { scratch?.deallocate() }

    func decodeInProcess() {}

    func use(_ memory: any FrameMemory) { self.memory = memory }

    func next() throws(MediaError) -> MediaReader.Item? {
        guard try readFrameLine() else { return nil }
        let samples = try readSamples()
        let index = report.frames
        report.frames += 1
        if samples.direct != nil { report.directFrames += 1 }
        let info = FrameInfo(
            pts: Int64(index), duration: 1, size: (video.width, video.height), format: video.format,
            color: video.color)
        return .frame(SourceFrame(index: index, info, alphaMode: video.alphaMode, samples))
    }

    private func readSamples() throws(MediaError) -> DecodedSamples {
        if let conversion {
            return DecodedSamples(
                try conversion.picture { bytes throws(MediaError) in try read(bytes) }, direct: nil)
        }
        let samples = PackedSamples(header, memory: memory)
        try read(UnsafeMutableRawBufferPointer(start: samples.base, count: header.frameByteCount))
        try skip()
        return DecodedSamples(samples, direct: samples.direct)
    }

    private func read(_ bytes: UnsafeMutableRawBufferPointer) throws(MediaError) {
        let count = try Self.read(file, into: bytes, name, cancelFlag)
        guard count == bytes.count else {
            throw MediaError(
                .badInput, "\(name) ends inside frame \(report.frames): \(count) of \(bytes.count) bytes are left")
        }
    }

    private func skip() throws(MediaError) {
        guard skipped > 0 else { return }
        let bytes = scratch ?? .allocate(byteCount: skipped, alignment: 1)
        scratch = bytes
        guard try Self.read(file, into: bytes, name, cancelFlag) == skipped else {
            throw MediaError(.badInput, "\(name) ends inside the alpha of frame \(report.frames)")
        }
    }

    /// Reads `FRAME…` up to its line feed; false at the end of the stream.
    private func readFrameLine() throws(MediaError) -> Bool {
        let magic = "FRAME".utf8
        var head: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0, 0, 0)
        let (file, name, cancelFlag) = (file, name, cancelFlag)
        let count = try withUnsafeMutableBytes(of: &head) { bytes throws(MediaError) in
            try Self.read(file, into: bytes, name, cancelFlag)
        }
        if count == 0 { return false }
        let isFrame = withUnsafeBytes(of: head) {
            $0.prefix(min(count, magic.count)).elementsEqual(magic.prefix(count))
        }
        guard isFrame else {
            throw MediaError(.badInput, "\(name) is damaged: frame \(report.frames) does not begin with FRAME")
        }
        guard count > magic.count else {
            throw MediaError(.badInput, "\(name) ends inside the header of frame \(report.frames)")
        }
        if head.5 == UInt8(ascii: "\n") { return true }
        guard head.5 == UInt8(ascii: " "), try Self.readLine(file, name, cancelFlag).isWhole else {
            throw MediaError(.badInput, "\(name) is damaged: the header of frame \(report.frames) does not end")
        }
        return true
    }

    private static func readHeader(
        _ file: InputFile, _ name: String, _ cancelFlag: CancelFlag
    ) throws(MediaError) -> Y4MHeader {
        let (line, isWhole) = try readLine(file, name, cancelFlag)
        if line.isEmpty, !isWhole { throw MediaError(.badInput, "\(name) is empty") }
        guard isWhole || !line.starts(with: Y4MHeader.magic.utf8) else {
            throw MediaError(.badInput, "\(name) is damaged: its Y4M header does not end")
        }
        return try Y4MHeader(line: line, name: name)
    }

    /// Reads up to a line feed, one byte per read(2), so that none of the samples after it is consumed.
    private static func readLine(
        _ file: InputFile, _ name: String, _ cancelFlag: CancelFlag
    ) throws(MediaError) -> (line: [UInt8], isWhole: Bool) {
        var line: [UInt8] = []
        while line.count < Y4MHeader.maxLength {
            var byte: UInt8 = 0
            let count = try withUnsafeMutableBytes(of: &byte) { bytes throws(MediaError) in
                try read(file, into: bytes, name, cancelFlag)
            }
            if count == 0 { return (line, false) }
            if byte == UInt8(ascii: "\n") { return (line, true) }
            line.append(byte)
        }
        return (line, false)
    }

    /// Reads until `buffer` is full or the stream ends.
    private static func read(
        _ file: InputFile, into buffer: UnsafeMutableRawBufferPointer, _ name: String, _ cancelFlag: CancelFlag
    ) throws(MediaError) -> Int {
        var filled = file.head?.take(into: buffer) ?? 0
        guard let descriptor = file.descriptor else { return filled }
        while filled < buffer.count, let base = buffer.baseAddress {
            repeat { try cancelFlag.check() } while !cancelFlag.waitUntilReadable(descriptor)
            let count = Glibc.read(descriptor, base + filled, buffer.count - filled)
            if count == 0 { break }
            if count > 0 {
                filled += count
            } else if errno == EISDIR {
                throw .opening(name, errno: EISDIR)
            } else if errno != EINTR {
                throw MediaError(.io, "\(name) cannot be read: \(MediaError.text(ofErrno: errno))")
            }
        }
        return filled
    }
}

/// Owner of one frame's samples without gaps between rows or planes, as in Y4M; immutable once read.
final class PackedSamples: PictureSamples, @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let direct: DirectFrame?
    private let memory: (any FrameMemory)?
    private let strides: [Int]
    private let offsets: [Int]

    /// Allocates a frame: in a slot of `memory` if one is free, else on the heap.
    init(_ header: Y4MHeader, memory: (any FrameMemory)?) {
        var offset = 0
        var offsets: [Int] = []
        var strides: [Int] = []
        for plane in 0..<header.format.planeCount {
            offsets.append(offset)
            strides.append(header.format.rowBytes(plane: plane, width: header.width))
            offset += strides[plane] * header.format.rows(plane: plane, height: header.height)
        }
        self.offsets = offsets
        self.strides = strides
        let sampleBytes = header.format.bytesPerSample
        if let memory, let slot = memory.allocate(byteCount: offset) {
            if slot.byteCount >= offset, slot.poolOffset % UInt64(sampleBytes) == 0 {
                self.memory = memory
                base = slot.base
                direct = DirectFrame(
                    slot: slot.id,
                    layout: FrameLayout(
                        planes: zip(offsets, strides).map {
                            .init(offset: slot.poolOffset + UInt64($0), stride: UInt32($1))
                        }))
                return
            }
            memory.free(slot.id)
        }
        self.memory = nil
        direct = nil
        base = UnsafeMutableRawPointer.allocate(byteCount: offset, alignment: FrameLayout.rowAlignment)
    }

    deinit {
        if let direct, let memory { memory.free(direct.slot) } else { base.deallocate() }
    }

    func copy(to target: PlaneTarget) -> Bool {
        target.fill(from: zip(offsets, strides).map { PlaneView(base: base + $0, stride: $1) })
    }
}

extension VideoDescription {
    /// Describes the stream behind a Y4M header; without a rate it is 25, as in libavformat.
    init(_ header: Y4MHeader, _ conversion: SampleConversion?) {
        let rate = header.frameRate ?? Rational(25)
        self.init(
            streamIndex: 0, codec: "rawvideo", codecConfiguration: [], width: header.width, height: header.height,
            sourceFormat: SampleFormats.name(header.chroma.samples),
            sourceBitDepth: SampleFormats.bitDepth(header.chroma.samples), format: header.format,
            conversion: conversion?.summary, isInterlaced: header.isInterlaced, fieldDetail: header.fieldDetail,
            color: conversion?.color
                ?? ColorDescription(isFullRange: header.isFullRange, chromaLocation: header.chroma.location),
            averageFrameRate: rate, baseFrameRate: rate, timeBase: rate.inverse ?? Rational(1), duration: nil,
            frameCount: nil, sampleAspectRatio: header.sampleAspectRatio, displayMatrix: nil, rotation: 0)
    }
}
