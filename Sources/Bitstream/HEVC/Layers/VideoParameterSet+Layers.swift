// SPDX-License-Identifier: MIT

extension VideoParameterSet {
    /// The parsed extension; nil when the VPS has none.
    ///
    /// - Throws: `BitstreamError` when its list of layers cannot be read.
    public func multilayerExtension() throws(BitstreamError) -> VPSExtension? {
        guard let raw = vpsExtension else { return nil }
        // Alignment is relative to the start of the VPS, so the preceding bits are written in front again.
        var (head, writer) = (self, BitWriter())
        try head.codeUpToExtension(&writer)
        let start = writer.bitCount
        try writer.writeRaw(raw)
        try writer.writeTrailingBits()
        var reader = BitReader(writer.bytes)
        try reader.skip(start)
        var parsed = VPSExtension()
        try parsed.code(&reader, of: self)
        if parsed.relations != nil {
            do throws(BitstreamError) { try reader.rbspTrailingBits() } catch { parsed.relations = nil }
        }
        return parsed
    }

    /// Writes `content` as the extension; call it last, since its alignment depends on the fields before it.
    ///
    /// - Throws: `BitstreamError` when a value does not fit its syntax element or `relations` is nil.
    public mutating func setMultilayerExtension(_ content: VPSExtension) throws(BitstreamError) {
        var (whole, copy, writer) = (self, content, BitWriter())
        whole.vpsExtension = RawBits()
        try whole.codeUpToExtension(&writer)
        let start = writer.bitCount
        try copy.code(&writer, of: whole)
        var reader = BitReader(writer.bytes)
        try reader.skip(start)
        whole.vpsExtension = try reader.readRaw(writer.bitCount - start)
        self = whole
    }

    /// `nuh_layer_id` of the first alpha layer (AuxId 1); nil without one and when the list of layers cannot be read.
    public var alphaLayerId: Int? {
        do throws(BitstreamError) { return try multilayerExtension()?.alphaLayerId } catch { return nil }
    }
}
