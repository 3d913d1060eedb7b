// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDModel
import HWDPolicy
import HWDX265
import Testing

/// An encoder under test.
enum Backend: Hashable, CustomTestStringConvertible {
    /// libx265, in this process.
    case x265
    /// The driver of Tests/HWSim with a personality, in a separate process.
    case vaapi(String)
    /// NVIDIA's libraries of Tests/HWSim, in a separate process.
    case nvenc

    /// The simulated drivers: one with all features, and the limits of real ones.
    static let personalities = ["full", "ihd-icl", "ihd-tgl", "radeonsi-22", "radeonsi-25"]

    /// Every backend; x265 alone where the simulated driver cannot be compiled, with the reason on standard error.
    static let all: [Backend] = {
        guard let reason = SimulatedDriver.unavailableReason else {
            return [.x265, .nvenc] + personalities.map(Backend.vaapi)
        }
        FileHandle.standardError.write(Data("VA-API encoders: \(reason)\n".utf8))
        return [.x265]
    }()

    var kind: PropertySpec.Backend { self == .x265 ? .x265 : .vaapi }

    /// Whether a key frame follows each flush, and each change of a rate.
    var beginsAgain: Bool { self == .x265 || self == .nvenc }

    /// Whether temporal levels are coded.
    var hasLevels: Bool { ![.vaapi("radeonsi-22"), .vaapi("radeonsi-25"), .nvenc].contains(self) }

    var testDescription: String {
        switch self {
        case .x265: "x265"
        case .vaapi(let personality): "VA-API as \(personality)"
        case .nvenc: "NVENC"
        }
    }

    /// Encodes a job; the result contains an encoder's failure.
    func run(_ job: EncodeJob) throws -> EncodeResult { try outcome(of: job).result }

    /// Encodes a job and returns the result, and the pictures that a decoder must output where the driver dumps them.
    func outcome(of job: EncodeJob) throws -> (result: EncodeResult, shown: [UInt8]?) {
        switch self {
        case .x265:
            do {
                guard job.changes.isEmpty, job.flushes.isEmpty else {
                    return (try job.run(.x265) { (it) throws(SessionError) in try X265Encoder(it) }, nil)
                }
                return (try job.run(try X265Encoder(try job.configuration(.x265))), nil)
            } catch let error as SessionError {
                var result = EncodeResult()
                (result.failure, result.status) = (error.reason, error.status.rawValue)
                return (result, nil)
            }
        case .nvenc: return (try SimulatedDriver.runCard(job, "full").result, nil)
        case .vaapi(let personality):
            let outcome = try SimulatedDriver.run(job, personality)
            // A new encoder codes a gray picture of its own when it opens.
            let isWhole = outcome.result.failure == nil && job.abandonAfter == nil && job.changes.isEmpty
            return (outcome.result, isWhole ? try outcome.shown() : nil)
        }
    }
}
