// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

extension HEIFFile {
    /// One picture of the image sequence, with its alpha, as a file with that picture alone.
    ///
    /// Its items' bytes are those of this file.
    /// - Parameter number: from 1, in decoding order.
    /// - Throws: `malformed` for a number without a picture; `unsupported` for pictures that are not HEVC, or refer to
    ///   each other.
    public func picture(ofSequence number: Int) throws(HEIFError) -> HEIFFile {
        guard let track = sequence?.tracks.first(where: { $0.handler == "pict" }) else {
            throw HEIFError(.malformed, "the file has no image sequence")
        }
        guard number >= 1, number <= track.samples.count else {
            throw HEIFError(
                .malformed, "the image sequence has \(track.samples.count) pictures, no picture \(number)")
        }
        var meta = MetaWriter()
        var locations: [UInt32: (offset: UInt64, length: UInt64)] = [:]
        let size = try meta.append(track, 1, auxiliary: nil)
        locations[1] = track.location(of: number - 1)
        meta.primary = 1
        let alpha = sequence?.tracks.first { $0.auxiliary?.kind == .alpha && $0.masters.contains(track.id) }
        if let alpha, let urn = alpha.auxiliary?.urn,
            let place = alpha.index(atTimeOf: number - 1, of: track)
        {
            guard try meta.append(alpha, 2, auxiliary: urn) == size else {
                throw HEIFError(.malformed, "the alpha of the image sequence has another size than its pictures")
            }
            locations[2] = alpha.location(of: place)
            meta.references.append(("auxl", 2, [1]))
        }
        meta.usesLargeOffsets = true
        var file = HEIFFile()
        (file.majorBrand, file.brands, file.fileLength) = (majorBrand, brands, fileLength)
        try file.readMeta(meta.box(locations: locations).bytes.dropFirst(Box.headerSize))
        return file
    }
}

extension ImageSequence.Track {
    /// The sample with the time of another track's sample; their time scales may differ.
    fileprivate func index(atTimeOf sample: Int, of other: Self) -> Int? {
        // Products of 128 bits, which do not overflow.
        let time = other.samples.times[sample].multipliedFullWidth(by: Int64(timeScale))
        return samples.times.firstIndex { $0.multipliedFullWidth(by: Int64(other.timeScale)) == time }
    }

    /// Where a sample is.
    fileprivate func location(of sample: Int) -> (offset: UInt64, length: UInt64) {
        (samples.offsets[sample], UInt64(samples.size(sample)))
    }
}

extension MetaWriter {
    /// Adds the picture of a track as an item, and returns its size.
    fileprivate mutating func append(
        _ track: ImageSequence.Track, _ id: UInt32, auxiliary: String?
    ) throws(HEIFError) -> PixelRect {
        guard let record = track.hevc, ["hvc1", "hev1"].contains(track.sampleEntry) else {
            throw HEIFError(
                .unsupported, "pictures of \"\(track.sampleEntry)\" in an image sequence are not decoded")
        }
        guard track.isIntraOnly == true else {
            throw HEIFError(
                .unsupported, "the pictures of the image sequence refer to each other: decode the whole of it")
        }
        var properties: [(ItemProperty, Bool)] = [
            (.hevc(record), true), (.size(width: track.width, height: track.height), false),
        ]
        properties += track.colors.map { (.color($0), false) }
        if let auxiliary { properties.append((.auxiliary(urn: auxiliary, subtype: []), true)) }
        if let aperture = track.aperture { properties.append((.cleanAperture(aperture), true)) }
        var item = NewItem(id: id, type: track.sampleEntry, isHidden: auxiliary != nil)
        for (property, isEssential) in properties {
            item.properties.append((try index(property), isEssential))
        }
        append(item)
        return PixelRect(width: track.width, height: track.height)
    }
}
