// SPDX-License-Identifier: GPL-2.0-or-later
internal import LibAV
internal import Probing

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
}
