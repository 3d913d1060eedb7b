// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDHEVC
internal import HWDModel
internal import HWDSessions
internal import HWDWire
internal import HWDWorker

extension DecodeThread {
    /// Hands a picture over, with what its packet told of it.
    mutating func emit(_ picture: OutputPicture, _ owner: any AnyObject & Sendable) throws(SessionError) {
        guard let entry = sent.removeValue(forKey: picture.sequence) else { return }
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
            let wanted = worker.withSession { $0.destinationAlphaMode }
            (picture, color, owner) = try conversion.convert(picture, owner, color, alpha: wanted)
        }
        flags.formUnion(FrameDecoded.Flags(picture.alpha))
        let (aperture, carriesMetadata) = worker.withSession { session in
            (session.cleanAperture(width: picture.width, height: picture.height), session.carriesHDRMetadata)
        }
        lastPicture += 1
        var message = FrameDecoded(
            pictureID: lastPicture, frameID: entry.packet.frameID, pts: entry.packet.pts,
            duration: entry.packet.duration, arenaID: PictureStore.arena(of: picture.slot), flags: flags,
            format: picture.format, codedBitDepth: UInt8(picture.bitDepth), width: UInt32(picture.width),
            height: UInt32(picture.height),
            cleanAperture: aperture
                ?? PictureRectangle(x: 0, y: 0, width: UInt32(picture.width), height: UInt32(picture.height)),
            color: color, sampleAspectRatio: picture.sampleAspectRatio ?? Rational(0), layout: picture.layout,
            sideData: [])
        if carriesMetadata {
            if entry.unit.hasLostSideData { message.flags.insert(.sideDataLost) }
            message.add(entry.unit.sideData)
        }
        worker.send(message, slot: picture.slot, owner)
    }

    /// Tells when the hardware stopped, or began again, to do the work.
    mutating func noteHardware(_ now: Bool, _ why: String?) throws(SessionError) {
        guard worker.setup.choice.decoder.isHardware, now != isHardware else { return }
        isHardware = now
        let reason = now ? nil : why ?? "the driver gave no surfaces"
        if let reason, worker.setup.wanted.requireHardware {
            throw SessionError(
                hasBeenHardware ? .videoDecoderMalfunction : .videoDecoderNotAvailableNow,
                "hardware is required, but \(reason)")
        }
        worker.withSession { session in
            session.publish(.usingHardwareDecoder, .bool(now))
            session.publish(.fallbackReason, reason.map(PropertyValue.string))
        }
        worker.report(isHardware: now, reason)
    }

    /// Packets of which no picture came and none will.
    mutating func giveUp(before limit: Int64) {
        guard sent.count > Int(Self.maxDelay) || limit == .max else { return }
        for (sequence, entry) in sent.sorted(by: { $0.key < $1.key }) where sequence < limit {
            sent[sequence] = nil
            guard entry.type != nil, entry.packet.isOutput else { continue }
            report(entry.packet, .videoDecoderBadData, .dropped, "no picture came of the packet")
        }
    }

    /// Tells what became of a packet.
    func report(
        _ packet: DecodeFrame, _ status: Status, _ flags: PacketReport.Flags, _ reason: String
    ) {
        if flags.contains(.dropped) { worker.countDropped() }
        worker.send(PacketReport(frameID: packet.frameID, status: status, flags: flags, reason: reason))
    }
}
