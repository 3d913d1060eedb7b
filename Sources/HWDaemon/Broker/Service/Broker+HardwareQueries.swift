// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

// Device nodes that come and go; answers ListDecoders and whether hardware encodes, decodes and writes stills.
extension Broker {
    /// Probes the machine again whenever a device node comes, goes or is replaced.
    func watchNodes() {
        guard !configuration.isPrivate else { return }
        nodeWatch = NodeWatch(loop: loop) { [weak self] in
            self?.prober.nodes ?? []
        } onChange: { [weak self] names in
            guard let self, !isStopping else { return }
            let state = names.map { access($0, F_OK) == 0 ? "\($0) is there" : "\($0) is gone" }
            logger.notice("the device nodes have changed: \(state.joined(separator: ", "))")
            prober.forget(nodes: names)
            runProbe { [weak self] _ in self?.verifyVulkan() }
        }
        if nodeWatch == nil {
            logger.warning("device nodes that come or go are noticed at SIGHUP only: inotify is not available")
        }
    }

    /// Replies with the decoders that were found.
    func listDecoders(_ connection: ClientConnection) {
        prober.whenKnown { snapshot in
            connection.reply(with: ListDecoders.Reply(decoders: DecoderPolicy.list(snapshot)))
        }
    }

    /// Replies whether hardware encodes what the caller asks about, once hardware is verified.
    func isEncodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        try answer(call, for: .compression) { question, snapshot, failures in
            let support = HardwareSupport(
                encoding: question.codec, bitDepth: question.bitDepth ?? 8, size: question.size, snapshot: snapshot,
                failures: failures)
            connection.reply(
                with: IsHardwareEncodeSupported.Reply(encoderID: support.codecID, reason: support.reason))
        }
    }

    /// Replies whether hardware decodes what the caller asks about, once hardware is verified.
    func isDecodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        try answer(call, for: .decompression) { question, snapshot, failures in
            let support = HardwareSupport(
                decoding: question.codec, bitDepth: question.bitDepth ?? 8, size: question.size, snapshot: snapshot,
                failures: failures)
            connection.reply(
                with: IsHardwareDecodeSupported.Reply(decoderID: support.codecID, reason: support.reason))
        }
    }

    /// Replies whether a HEIC file can be written, once hardware is verified.
    func isStillEncodeSupported(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let question = try call.checkedParameters(StillQuestion.self)
        try HardwareQuestion(bitDepth: question.bitDepth).check()
        let sides = 1...Self.maxStillSide
        if let width = question.width, !sides.contains(width) { throw .invalidParameter("width") }
        if let height = question.height, !sides.contains(height) { throw .invalidParameter("height") }
        if (question.width == nil) != (question.height == nil) {
            throw .invalidParameter(question.width == nil ? "width" : "height")
        }
        let tiles = StillTiling.minSide...CompressionRequest.maxDimension
        if let tile = question.tile, tile != 0, !tiles.contains(tile) || tile % 2 != 0 {
            throw .invalidParameter("tile")
        }
        prober.whenVerified(for: .compression, isRequired: true) { [weak self] snapshot in
            guard let self else { return }
            let size = question.width.flatMap { width in
                question.height.map { PictureSize(width: width, height: $0) }
            }
            let support = StillSupport(
                bitDepth: question.bitDepth ?? 8, size: size, tile: question.tile, snapshot: snapshot,
                failures: failures(of: .compression, snapshot))
            connection.reply(
                with: IsStillEncodeSupported.Reply(
                    encoderID: support.codecID, isHardware: support.isHardware, tiling: support.tiling,
                    reason: support.reason))
        }
    }

    /// Samples on a side of a still picture that can be asked about.
    private static let maxStillSide = 1 << 24

    private func answer(
        _ call: VarlinkCall, for kind: SessionKind,
        _ reply: @escaping (HardwareQuestion, ProbeSnapshot, [CodecFailure]) -> Void
    ) throws(VarlinkError) {
        let question = try call.checkedParameters(HardwareQuestion.self)
        try question.check()
        prober.whenVerified(for: kind, isRequired: true) { [weak self] snapshot in
            guard let self else { return }
            reply(question, snapshot, failures(of: kind, snapshot))
        }
    }
}

extension HardwareQuestion {
    /// Nil where no size is given.
    fileprivate var size: PictureSize? {
        guard let width, let height else { return nil }
        return PictureSize(width: width, height: height)
    }

    fileprivate func check() throws(VarlinkError) {
        let dimensions = 1...CompressionRequest.maxDimension
        if let bitDepth, !(1...16 ~= bitDepth) { throw .invalidParameter("bit_depth") }
        if let width, !dimensions.contains(width) { throw .invalidParameter("width") }
        if let height, !dimensions.contains(height) { throw .invalidParameter("height") }
        if (width == nil) != (height == nil) { throw .invalidParameter(width == nil ? "width" : "height") }
    }
}
