// SPDX-License-Identifier: GPL-2.0-or-later

extension SEIMessage {
    /// The interpreted payload; throws when its bytes do not follow the syntax of its type.
    public func interpreted() throws(BitstreamError) -> SEIPayload {
        var reader = BitReader(payload)
        switch payloadType {
        case 4 where payload.starts(with: HDR10PlusMetadata.identifier):
            return .hdr10Plus(try HDR10PlusMetadata(payload: payload))
        case 4 where payload.starts(with: ClosedCaptions.identifier):
            return .closedCaptions(try ClosedCaptions(payload: payload))
        case 5:
            guard payload.count >= 16 else {
                throw BitstreamError(.truncated, "the user data are shorter than their 16-byte UUID")
            }
            return .userDataUnregistered(uuid: Array(payload.prefix(16)), data: Array(payload.dropFirst(16)))
        case 132:
            return .decodedPictureHash(try DecodedPictureHash(payload: payload))
        case 137:
            var volume = MasteringDisplayColourVolume()
            try volume.code(&reader)
            return .masteringDisplayColourVolume(volume)
        case 144:
            var level = ContentLightLevelInfo()
            try level.code(&reader)
            return .contentLightLevelInfo(level)
        case 147:
            return .alternativeTransferCharacteristics(Int(try reader.readBits(8)))
        case 148:
            var environment = AmbientViewingEnvironment()
            try environment.code(&reader)
            return .ambientViewingEnvironment(environment)
        case 165:
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
            self.init(payloadType: 4, payload: try metadata.payload())
        case .closedCaptions(let captions):
            self.init(payloadType: 4, payload: try captions.payload())
        case .userDataUnregistered(let uuid, let data):
            guard uuid.count == 16 else {
                throw BitstreamError(.outOfRange, "a UUID of \(uuid.count) bytes does not have 16")
            }
            self.init(payloadType: 5, payload: uuid + data)
        case .decodedPictureHash(let hash):
            self.init(payloadType: 132, payload: try hash.payload())
        case .masteringDisplayColourVolume(var volume):
            try volume.code(&writer)
            self.init(payloadType: 137, payload: writer.bytes)
        case .contentLightLevelInfo(var level):
            try level.code(&writer)
            self.init(payloadType: 144, payload: writer.bytes)
        case .alternativeTransferCharacteristics(var code):
            try writer.u("preferred_transfer_characteristics", 8, &code)
            self.init(payloadType: 147, payload: writer.bytes)
        case .ambientViewingEnvironment(var environment):
            try environment.code(&writer)
            self.init(payloadType: 148, payload: writer.bytes)
        case .alphaChannelInfo(var info):
            try AlphaChannelInfo.code(&writer, &info)
            // D.2.1: a payload that does not end at a byte boundary is padded by a 1 bit and zeros.
            if !writer.isByteAligned { try writer.writeTrailingBits() }
            self.init(payloadType: 165, payload: writer.bytes)
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
