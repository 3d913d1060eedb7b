// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy
internal import HWDWire
internal import HWDWorker

extension DecodeThread {
    /// Sends a picture to the client, with the metadata of its packet.
    mutating func emit(_ picture: OutputPicture, _ owner: any AnyObject & Sendable) throws(SessionError) {
        guard let entry = sent.removeValue(forKey: picture.sequence) else { return }
        if picture.isKeyFrame { forget(before: picture.sequence) }
        if picture.isHardware { hasBeenHardware = true }
        try noteHardware(picture.isHardware, decoder?.fallbackReason)
        if picture.isDamaged { damage.damage(picture.sequence) }
        guard entry.packet.isOutput else { return }
        try worker.waitForCredit()
        var flags: FrameDecoded.Flags = []
        if picture.isKeyFrame { flags.insert(.sync) }
        if picture.isHardware { flags.insert(.hardware) }
        if damage.isDamaged(picture.sequence, entry.type ?? .trailR) { flags.insert(.damaged) }
        var color = picture.color
        if let transfer = entry.unit.preferredTransfer, transfer != ColorDescription.unspecified {
            color.transfer = transfer
        }
        var (picture, owner) = (picture, owner)
        if let conversion {
            let mode = worker.withSession { $0.destinationAlphaMode }
            let mapping = mapping(entry, of: picture)
            if mapping != nil { flags.insert(.metadataApplied) }
            (picture, color, owner) = try conversion.convert(picture, owner, color, mapping, alpha: mode)
        }
        flags.formUnion(FrameDecoded.Flags(picture.alpha))
        lastPicture += 1
        worker.send(message(picture, entry, color, flags), slot: picture.slot, owner)
    }

    /// The mapping of a picture; nil without one, and where it cannot be applied, which is reported.
    private func mapping(_ entry: Sent, of picture: OutputPicture) -> SignalMapping? {
        guard let mapping = entry.mapping else { return nil }
        do throws(SessionError) {
            let found = try mapping.get()
            try found.check(picture.format)
            return found
        } catch {
            report(entry.packet, error.status, .metadataNotApplied, error.reason)
            return nil
        }
    }

    /// Describes a picture to the client.
    private func message(
        _ picture: OutputPicture, _ entry: Sent, _ color: ColorDescription, _ flags: FrameDecoded.Flags
    ) -> FrameDecoded {
        let (aperture, carriesMetadata) = worker.withSession { session in
            (session.cleanAperture(width: picture.width, height: picture.height), session.carriesHDRMetadata)
        }
        let info = FrameInfo(
            pts: entry.packet.pts, duration: entry.packet.duration, size: (picture.width, picture.height),
            format: picture.format, color: color)
        var message = FrameDecoded(
            info, pictureID: lastPicture, frameID: entry.packet.frameID,
            arenaID: PictureStore.arena(of: picture.slot), layout: picture.layout,
            codedBitDepth: UInt8(picture.bitDepth),
            cleanAperture: aperture
                ?? PictureRectangle(x: 0, y: 0, width: UInt32(picture.width), height: UInt32(picture.height)))
        (message.flags, message.sampleAspectRatio) = (flags, picture.sampleAspectRatio ?? Rational(0))
        if carriesMetadata {
            if entry.unit.hasLostSideData { message.flags.insert(.sideDataLost) }
            message.add(entry.unit.sideData)
        }
        return message
    }

    /// Publishes and reports a switch between hardware and software.
    mutating func noteHardware(_ isNowHardware: Bool, _ cause: String?) throws(SessionError) {
        guard worker.setup.choice.decoder.hardware, isNowHardware != isHardware else { return }
        isHardware = isNowHardware
        let reason = isNowHardware ? nil : cause ?? "the driver provided no surfaces"
        if let reason, worker.setup.requirements.requireHardware {
            throw SessionError(
                hasBeenHardware ? .videoDecoderMalfunction : .videoDecoderNotAvailableNow,
                "hardware is required, but \(reason)")
        }
        worker.withSession { session in
            session.publish(.usingHardwareDecoder, .bool(isNowHardware))
            session.publish(.fallbackReason, reason.map(PropertyValue.string))
        }
        worker.report(isHardware: isNowHardware, reason)
    }

    /// Reports packets before `limit` as lost whose pictures the decoder has not output.
    mutating func reportLost(before limit: Int64) {
        guard sent.count > Int(Self.maxDelay) || limit == .max else { return }
        for (sequence, entry) in sent.sorted(by: { $0.key < $1.key }) where sequence < limit {
            sent[sequence] = nil
            guard entry.type != nil, entry.packet.isOutput else { continue }
            report(entry.packet, .videoDecoderBadData, .dropped, "the packet yielded no picture")
        }
    }

    /// Sends a packet's report.
    func report(
        _ packet: DecodeFrame, _ status: Status, _ flags: PacketReport.Flags, _ reason: String
    ) {
        if flags.contains(.dropped) { worker.countDropped() }
        worker.send(PacketReport(frameID: packet.frameID, status: status, flags: flags, reason: reason))
    }
}
