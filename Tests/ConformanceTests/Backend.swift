// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDModel
import HWDSessions
import HWDX265
import Testing

/// An encoder under test.
enum Backend: Hashable, CustomTestStringConvertible {
    /// libx265, in this process.
    case x265
    /// A VA-API driver of Tests/HWSim, by its personality, in a process of its own.
    case vaapi(String)

    /// The drivers that the simulation plays: one that has everything, and what real ones leave.
    static let personalities = ["full", "intel-lp", "mesa22", "mesa25"]

    /// All of them; without a driver to compile, x265 alone, and the reason on standard error.
    static let all: [Backend] = {
        guard let reason = SimulatedDriver.whyNot else { return [.x265] + personalities.map(Backend.vaapi) }
        FileHandle.standardError.write(Data("VA-API encoders: \(reason)\n".utf8))
        return [.x265]
    }()

    var kind: PropertySpec.Backend { self == .x265 ? .x265 : .vaapi }

    var testDescription: String {
        switch self {
        case .x265: "x265"
        case .vaapi(let personality): "VA-API as \(personality)"
        }
    }

    /// Encodes; a failure of the encoder is in the result.
    func run(_ job: EncodeJob) throws -> EncodeResult { try outcome(of: job).result }

    /// Encodes; where the encoder tells what it reconstructed, that comes too, as decoders must show it.
    func outcome(of job: EncodeJob) throws -> (result: EncodeResult, shown: [UInt8]?) {
        switch self {
        case .x265:
            do {
                return (try job.run(try X265Encoder(try job.configuration(.x265))), nil)
            } catch let error as SessionError {
                var result = EncodeResult()
                (result.failure, result.status) = (error.reason, error.status.rawValue)
                return (result, nil)
            }
        case .vaapi(let personality):
            let outcome = try SimulatedDriver.run(job, personality)
            let isWhole = outcome.result.failure == nil && job.abandonAfter == nil
            return (outcome.result, isWhole ? try outcome.shown() : nil)
        }
    }
}
