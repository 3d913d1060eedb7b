// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDModel
internal import HWDPolicy
internal import HWImages

extension StillEncodeJob.Request {
    /// What the options of `hwctl encode` ask for.
    init(_ command: EncodeCommand) {
        let (coding, still) = (command.coding, command.still)
        self.init(inputs: Array(command.files.dropLast()), output: command.output)
        cover = (still.cover ?? 1) - 1
        frameRate = command.frameRate.flatMap { Rational(text: $0) }
        specification = coding.specification
        // Quality as of a rate factor would give every tile another quantizer, and seams.
        var properties = coding.properties
        for key in [PropertyKey.quality, .alphaChannelMode, .targetQualityForAlpha, .profileLevel] {
            properties[key] = nil
        }
        if properties[.qp] == nil {
            properties[.qp] = .int(StillEncoder.quantizer(coding.quality ?? PropertyTable.defaultQuality))
        }
        self.properties = properties
        alphaQP = coding.alphaQuality.map(StillEncoder.quantizer)
        source.bitDepth = coding.profile.map { $0 == .main10 ? 10 : 8 }
        source.primaries = still.primaries?.code
        source.alpha = coding.alpha.map { $0 == .premultiplied ? .premultiplied : .straight }
        (tile, thumbnail) = (still.tile, still.thumbnail ?? thumbnail)
        (exif, xmp, icc) = (ExifChoice(still.exif), still.xmp, still.icc)
        (depthMap, gainMap, json) = (still.depthMap, still.gainMap, command.json)
        (raw, depthRange) = (still.raw, still.disparities)
        if case .int(let transfer)? = properties[.transferFunction] {
            source.transfer = UInt8(exactly: transfer)
        }
    }
}
