// SPDX-License-Identifier: GPL-2.0-or-later
internal import HEVC
internal import LibAV
internal import Model
internal import Probing
internal import Sessions

/// `hwdaemon-verify`: a probe that also sends frames through, and has libavcodec judge what came out.
@main
struct VerifyWorkerMain {
    static func main() { ProbeProcess.run(judge: LibAVJudge()) }
}

/// libavcodec's software decoder.
private struct LibAVJudge: StreamJudge {
    var name: String { "libavcodec \(HEVCDecoder.libraryVersion)" }
    var isAvailable: Bool { HEVCDecoder.isAvailable }

    func decode(_ units: [[UInt8]], record: [UInt8]) throws(JudgeError) -> [JudgedPicture] {
        do throws(LibAVError) {
            let decoder = try HEVCDecoder(record: record)
            var pictures: [DecodedPicture] = []
            for unit in units { pictures += try decoder.decode(unit) }
            pictures += try decoder.finish()
            return pictures.map {
                JudgedPicture(width: $0.width, height: $0.height, bitDepth: $0.bitDepth, planes: $0.planes)
            }
        } catch {
            throw JudgeError(error.description)
        }
    }

    func decode(_ units: [[UInt8]], record: [UInt8], device: String) throws(JudgeError) -> [JudgedPicture] {
        do throws(SessionError) {
            var options = StreamDecoder.Options()
            options.device = device
            options.target = .i010
            let memory = HeapMemory()
            let decoder = try StreamDecoder(StreamFormat(description: record), options, memory: memory)
            var pictures: [JudgedPicture] = []
            let take: DecoderEventHandler = { (event) throws(SessionError) in
                switch event {
                case .damage(_, let reason): throw SessionError(.videoDecoderBadData, reason)
                case .picture(let picture, let owner):
                    guard picture.isHardware else {
                        throw SessionError(
                            .videoDecoderMalfunction, decoder.fallbackReason ?? "libavcodec fell back to software")
                    }
                    withExtendedLifetime(owner) { pictures.append(memory.judged(picture)) }
                }
            }
            for (index, unit) in units.enumerated() { try decoder.decode(unit, sequence: Int64(index), take) }
            try decoder.finish(take)
            return pictures
        } catch {
            throw JudgeError(error.reason)
        }
    }
}
