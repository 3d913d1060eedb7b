// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDModel
import Testing

/// Faults of VA-API drivers, each of which must lead to an error with its reason and never to an invalid stream.
@Suite(
    .enabled(
        if: SimulatedDriver.unavailableReason == nil, Comment(rawValue: SimulatedDriver.unavailableReason ?? "")))
struct DriverFaultTests {
    private let job = EncodeJob(Clip(format: .nv12, width: 144, height: 128, frames: 9))

    /// Personalities with a fault; the driver's picture 0 is the gray one that opening codes.
    static let faults: [(personality: String, status: Status, words: String, isTransient: Bool)] = [
        ("full,busy", .videoEncoderNotAvailableNow, "busy", true),
        ("full,busy-maximum", .videoEncoderNotAvailableNow, "vaCreateContext", true),
        ("full,fail-init", .videoEncoderNotAvailableNow, "vaInitialize", true),
        ("full,liar", .videoEncoderMalfunction, "0 bytes", false),
        ("full,fail-at-1", .videoEncoderMalfunction, "asked to fail", false),
        ("full,fail-at-4", .videoEncoderMalfunction, "asked to fail", false),
        ("nvidia", .videoEncoderMalfunction, "no VAEntrypointEncSlice", false),
        ("no such driver", .videoEncoderMalfunction, "vaInitialize", false),
    ]

    @Test(arguments: sampled(faults.indices))
    func reportsTheFault(index: Int) throws {
        let fault = Self.faults[index]
        let result = try SimulatedDriver.run(job, fault.personality).result
        let reason = try #require(result.failure)
        #expect(reason.lowercased().contains(fault.words.lowercased()), "\(reason)")
        #expect(Status(rawValue: result.status) == fault.status, "\(reason)")
        #expect(result.isTransient == fault.isTransient)
    }

    /// A driver that has no rate control without firmware names the firmware; a session without a rate is coded.
    @Test func namesTheFirmwareOfRateControl() throws {
        let rated = EncodeJob(job.clip, ["AverageBitRate": .int(1_000_000)])
        let refused = try SimulatedDriver.run(rated, "ihd-tgl,no-huc").result
        #expect(refused.failure?.contains("HuC firmware") == true, "\(refused.failure ?? "")")
        #expect(Status(rawValue: refused.status) == .couldNotFindVideoEncoder)
        let coded = try SimulatedDriver.run(job, "ihd-tgl,no-huc").result
        #expect(coded.failure == nil && coded.pictures.count == 9)
    }

    @Test func endsAHangAfterTheTimeout() throws {
        let result = try SimulatedDriver.run(job, "full,hang-at-3").result
        #expect(result.failure?.contains("the wait for a picture") == true, "\(result.failure ?? "")")
    }

    @Test func refusesSizesAboveTheDriversLimit() throws {
        let large = EncodeJob(Clip(format: .nv12, width: 1296, height: 64, frames: 1))
        let result = try SimulatedDriver.run(large, "full,size-limited").result
        #expect(result.failure?.contains("1280x720") == true, "\(result.failure ?? "")")
        #expect(Status(rawValue: result.status) == .couldNotFindVideoEncoder)
    }

    @Test func refusesMain10WithEightBitDrivers() throws {
        let deep = EncodeJob(Clip(format: .p010, width: 144, height: 128, frames: 1))
        let result = try SimulatedDriver.run(deep, "full,8-bit-only").result
        #expect(result.failure?.contains("VAProfileHEVCMain10") == true, "\(result.failure ?? "")")
    }

    /// The suite's own checks detect a driver that damages its output.
    @Test func checksDetectACorruptStream() throws {
        let outcome = try SimulatedDriver.run(job, "full,corrupt")
        var isDetected = outcome.result.failure != nil
        if !isDetected {
            let decoded = try? StreamDecoders.ffmpeg(try outcome.result.stream(), pixelFormat: "yuv420p")
            isDetected = try decoded != outcome.shown()
        }
        #expect(isDetected)
    }

    /// Imported frames are coded to the same bytes as copied ones.
    @Test(arguments: [PixelFormat.nv12, .p010])
    func codesImportedFramesInPlace(format: PixelFormat) throws {
        var job = EncodeJob(Clip(format: format, width: 192, height: 128, frames: 11))
        let copied = try SimulatedDriver.run(job, "full").result
        job.importsFrames = true
        let imported = try SimulatedDriver.run(job, "full").result
        #expect(imported.failure == nil, "\(imported.failure ?? "")")
        #expect(imported.pictures.count == 11)
        #expect(imported.pictures.map(\.bytes) == copied.pictures.map(\.bytes))
        let refused = try SimulatedDriver.run(job, "full,no-import").result
        #expect(Status(rawValue: refused.status) == .parameter && refused.failure?.contains("dma-buf") == true)
    }

    /// A refused dma-buf frame does not end the session.
    @Test func refusesDMABufsThatCannotBeImported() throws {
        var job = EncodeJob(Clip(format: .nv12, width: 144, height: 128, frames: 5))
        job.offersDMABufs = true
        let result = try SimulatedDriver.run(job, "full").result
        #expect(result.failure == nil && result.pictures.count == 5)
        let refusals = result.notes
        try #require(refusals.count == 3)
        #expect(refusals[0].contains("146x128") && refusals[0].contains("Parameter"), "\(refusals[0])")
        #expect(refusals[1].contains("vaCreateSurfaces of a dma-buf"), "\(refusals[1])")
        // Read as rows, a tiled frame would be coded scrambled: the driver must learn its modifier.
        #expect(refusals[2].contains("vaCreateSurfaces of a dma-buf"), "\(refusals[2])")
    }

    /// The stream does not depend on how surfaces are written and coded buffers are chained.
    @Test(arguments: [PixelFormat.yu12, .p010])
    func streamIsTheSameForAllTransfers(format: PixelFormat) throws {
        let job = EncodeJob(Clip(format: format, width: 145, height: 129, frames: 6))
        let plain = try SimulatedDriver.run(job, "full").result
        try #require(plain.failure == nil)
        for personality in ["full,no-derive", "full,two-segments", "full,padded-pitch", "full,luma-map"] {
            let other = try SimulatedDriver.run(job, personality).result
            #expect(other.failure == nil, "\(other.failure ?? "")")
            #expect(other.formatDescription == plain.formatDescription)
            #expect(other.pictures.map(\.bytes) == plain.pictures.map(\.bytes))
        }
    }
}
