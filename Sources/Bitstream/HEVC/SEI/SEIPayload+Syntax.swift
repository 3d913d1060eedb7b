// SPDX-License-Identifier: MIT

extension SEIMessage {
    /// The interpreted payload; throws when its bytes do not follow the syntax of its type.
    public func interpreted() throws(BitstreamError) -> SEIPayload {
        var reader = BitReader(payload)
        switch payloadType {
        case SEIPayloadType.registeredUserData where payload.starts(with: HDR10PlusMetadata.identifier):
            return .hdr10Plus(try HDR10PlusMetadata(payload: payload))
        case SEIPayloadType.registeredUserData where payload.starts(with: ClosedCaptions.identifier):
            return .closedCaptions(try ClosedCaptions(payload: payload))
        case SEIPayloadType.unregisteredUserData:
            guard payload.count >= 16 else {
                throw BitstreamError(.truncated, "the user data are shorter than their 16-byte UUID")
            }
            return .userDataUnregistered(uuid: Array(payload.prefix(16)), data: Array(payload.dropFirst(16)))
        case SEIPayloadType.decodedPictureHash:
            return .decodedPictureHash(try DecodedPictureHash(payload: payload))
        case SEIPayloadType.masteringDisplay:
            var volume = MasteringDisplayColourVolume()
            try volume.code(&reader)
            return .masteringDisplayColourVolume(volume)
        case SEIPayloadType.contentLight:
            var level = ContentLightLevelInfo()
            try level.code(&reader)
            return .contentLightLevelInfo(level)
        case SEIPayloadType.alternativeTransfer:
            return .alternativeTransferCharacteristics(Int(try reader.readBits(8)))
        case SEIPayloadType.ambientViewing:
            var environment = AmbientViewingEnvironment()
            try environment.code(&reader)
            return .ambientViewingEnvironment(environment)
        case SEIPayloadType.alphaChannel:
            var info: AlphaChannelInfo?
            try AlphaChannelInfo.code(&reader, &info)
            return .alphaChannelInfo(info)
        default:
            return .other(self)
        }
    }

    /// The message that carries `content`; throws `outOfRange` when a value does not fit.
    public init(_ content: SEIPayload) throws(BitstreamError) {
        var writer = BitWriter()
        switch content {
        case .hdr10Plus(let metadata):
            self.init(payloadType: SEIPayloadType.registeredUserData, payload: try metadata.payload())
        case .closedCaptions(let captions):
            self.init(payloadType: SEIPayloadType.registeredUserData, payload: try captions.payload())
        case .userDataUnregistered(let uuid, let data):
            guard uuid.count == 16 else {
                throw BitstreamError(.outOfRange, "a UUID of \(uuid.count) bytes does not have 16")
            }
            self.init(payloadType: SEIPayloadType.unregisteredUserData, payload: uuid + data)
        case .decodedPictureHash(let hash):
            self.init(payloadType: SEIPayloadType.decodedPictureHash, payload: try hash.payload())
        case .masteringDisplayColourVolume(var volume):
            try volume.code(&writer)
            self.init(payloadType: SEIPayloadType.masteringDisplay, payload: writer.bytes)
        case .contentLightLevelInfo(var level):
            try level.code(&writer)
            self.init(payloadType: SEIPayloadType.contentLight, payload: writer.bytes)
        case .alternativeTransferCharacteristics(var code):
            try writer.u("preferred_transfer_characteristics", 8, &code)
            self.init(payloadType: SEIPayloadType.alternativeTransfer, payload: writer.bytes)
        case .ambientViewingEnvironment(var environment):
            try environment.code(&writer)
            self.init(payloadType: SEIPayloadType.ambientViewing, payload: writer.bytes)
        case .alphaChannelInfo(var info):
            try AlphaChannelInfo.code(&writer, &info)
            // D.2.1: a payload that does not end at a byte boundary is padded by a 1 bit and zeros.
            if !writer.isByteAligned { try writer.writeTrailingBits() }
            self.init(payloadType: SEIPayloadType.alphaChannel, payload: writer.bytes)
        case .other(let message):
            self = message
        }
    }
}

extension MasteringDisplayColourVolume {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.size("display_primaries", &displayPrimaries, 3, Chromaticity())
        for index in displayPrimaries.indices {
            try c.u("display_primaries_x", 16, &displayPrimaries[index].x)
            try c.u("display_primaries_y", 16, &displayPrimaries[index].y)
        }
        try c.u("white_point_x", 16, &whitePoint.x)
        try c.u("white_point_y", 16, &whitePoint.y)
        try c.u("max_display_mastering_luminance", 32, &maxDisplayMasteringLuminance)
        try c.u("min_display_mastering_luminance", 32, &minDisplayMasteringLuminance)
    }
}

extension ContentLightLevelInfo {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("max_content_light_level", 16, &maxContentLightLevel)
        try c.u("max_pic_average_light_level", 16, &maxPicAverageLightLevel)
    }
}

extension AmbientViewingEnvironment {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("ambient_illuminance", 32, &ambientIlluminance, 1...0xFFFF_FFFF)
        try c.u("ambient_light_x", 16, &ambientLight.x, 0...50_000)
        try c.u("ambient_light_y", 16, &ambientLight.y, 0...50_000)
    }
}

extension AlphaChannelInfo {
    /// Codes the payload; `info` is nil when alpha_channel_cancel_flag is 1.
    static func code(
        _ c: inout some SyntaxCoder, _ info: inout AlphaChannelInfo?
    ) throws(BitstreamError) {
        var cancel = info == nil
        try c.flag("alpha_channel_cancel_flag", &cancel)
        if cancel { return }
        var value = info ?? AlphaChannelInfo()
        try c.u("alpha_channel_use_idc", 3, &value.alphaChannelUseIdc)
        try c.u("alpha_channel_bit_depth_minus8", 3, &value.alphaChannelBitDepthMinus8)
        let bits = value.alphaChannelBitDepthMinus8 + 9
        try c.u("alpha_transparent_value", bits, &value.alphaTransparentValue)
        try c.u("alpha_opaque_value", bits, &value.alphaOpaqueValue)
        try c.flag("alpha_channel_incr_flag", &value.alphaChannelIncrFlag)
        try c.presence("alpha_channel_clip_flag", &value.alphaChannelClipTypeFlag, false)
        if var clip = value.alphaChannelClipTypeFlag {
            try c.flag("alpha_channel_clip_type_flag", &clip)
            value.alphaChannelClipTypeFlag = clip
        }
        info = value
    }
}

extension DecodedPictureHash {
    private static func bytesPerPlane(_ hashType: Int) throws(BitstreamError) -> Int {
        try check("hash_type", hashType, 0...2)
        return [16, 2, 4][hashType]
    }

    init(payload: [UInt8]) throws(BitstreamError) {
        guard let first = payload.first else {
            throw BitstreamError(.truncated, "the picture hash is empty")
        }
        let size = try Self.bytesPerPlane(Int(first))
        let count = (payload.count - 1) / size
        guard count == 1 || count == 3, payload.count == 1 + count * size else {
            throw BitstreamError(.malformed, "the picture hash has neither one nor three planes")
        }
        hashType = Int(first)
        planes = (0..<count).map { Array(payload[(1 + $0 * size)..<(1 + ($0 + 1) * size)]) }
    }

    func payload() throws(BitstreamError) -> [UInt8] {
        let size = try Self.bytesPerPlane(hashType)
        guard planes.count == 1 || planes.count == 3, planes.allSatisfy({ $0.count == size }) else {
            throw BitstreamError(.malformed, "the picture hash has not one or three planes of \(size) bytes")
        }
        return planes.reduce([UInt8(hashType)], +)
    }
}
