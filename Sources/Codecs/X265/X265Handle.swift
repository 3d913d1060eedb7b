// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// An open encoder of libx265 with the pictures of its calls; closed with the last reference.
final class X265Handle {
    let api: UnsafePointer<x265_api>
    let encoder: OpaquePointer
    /// For what a call reads.
    let picture: UnsafeMutablePointer<x265_picture>
    /// What the last call wrote.
    let output: UnsafeMutablePointer<x265_picture>
    /// Kept as long as x265 may write to them.
    private let statistics: X265Statistics?

    /// Opens an encoder.
    ///
    /// - Parameter statistics: of two passes, for the configuration's pass; nil codes the frames once.
    init(
        _ api: UnsafePointer<x265_api>, _ parameters: X265Parameters, _ configuration: EncoderConfiguration,
        _ statistics: X265Statistics? = nil
    ) throws(SessionError) {
        self.statistics = statistics
        let encoder = try Self.open(api, parameters, configuration, statistics)
        let pictures = (api.pointee.picture_alloc(), api.pointee.picture_alloc())
        guard let picture = pictures.0, let output = pictures.1 else {
            api.pointee.picture_free(pictures.0)
            api.pointee.picture_free(pictures.1)
            api.pointee.encoder_close(encoder)
            throw SessionError(.allocationFailed, "no memory for x265's pictures")
        }
        api.pointee.picture_init(parameters.pointer, picture)
        api.pointee.picture_init(parameters.pointer, output)
        self.api = api
        self.encoder = encoder
        self.picture = picture
        self.output = output
    }

    /// Opens an encoder for a pass over the frames, where there are statistics.
    private static func open(
        _ api: UnsafePointer<x265_api>, _ parameters: X265Parameters, _ configuration: EncoderConfiguration,
        _ statistics: X265Statistics?
    ) throws(SessionError) -> OpaquePointer {
        guard let statistics, let pass = configuration.pass else {
            return try parameters.openEncoder(configuration)
        }
        try parameters.use(statistics, in: pass)
        let encoder = try parameters.openEncoder(configuration)
        guard pass == .final || statistics.isCollecting else {
            api.pointee.encoder_close(encoder)
            throw SessionError(
                .videoEncoderMalfunction, "MultiPassStorage: this libx265 does not write its statistics to memory")
        }
        return encoder
    }

    deinit {
        api.pointee.encoder_close(encoder)
        api.pointee.picture_free(picture)
        api.pointee.picture_free(output)
        // x265's cleanup() frees tables that all encoders of the process share; they are left to the process's end.
    }

    /// The parameters that x265 uses, which may differ from those that it was given.
    func parameters() throws(SessionError) -> x265_param {
        guard let parameters = api.pointee.param_alloc() else {
            throw SessionError(.allocationFailed, "no memory for x265's parameters")
        }
        defer { api.pointee.param_free(parameters) }
        api.pointee.encoder_parameters(encoder, parameters)
        return parameters.pointee
    }

    /// The parameter sets and SEI messages, as NAL units.
    func headers() throws(SessionError) -> [[UInt8]] {
        var nals: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        guard api.pointee.encoder_headers(encoder, &nals, &count) > 0, let nals else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned no parameter sets")
        }
        return UnsafeBufferPointer(start: nals, count: Int(count)).map(X265AccessUnit.contents)
    }

    /// One call into x265; nil when no picture came out.
    ///
    /// - Parameters:
    ///   - input: nil for the pictures that are still inside.
    ///   - parameterSets: left out where they begin the access unit.
    func encode(
        _ input: UnsafeMutablePointer<x265_picture>?, without parameterSets: Set<[UInt8]>
    ) throws(SessionError) -> X265AccessUnit? {
        var nals: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        errno = 0
        let result = api.pointee.encoder_encode(encoder, &nals, &count, input, output)
        let isOutOfMemory = errno == ENOMEM
        guard result >= 0 else {
            guard !isOutOfMemory else { throw SessionError(.allocationFailed, "x265 failed while encoding") }
            throw SessionError(.videoEncoderMalfunction, "x265 failed while encoding (\(result))")
        }
        guard result > 0, let nals, count > 0 else { return nil }
        return try X265AccessUnit(UnsafeBufferPointer(start: nals, count: Int(count)), without: parameterSets)
    }
}
