// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDWire
internal import HWImages

/// One run of `hwctl encode` to a HEIC file: pictures → tiles → sessions → items.
struct StillEncodeJob {
    /// What to write, and how.
    struct Request {
        /// Several are a burst or an image sequence.
        var inputs: [String]
        var output: String
        var specification: [PropertyKey: PropertyValue] = [:]
        /// Speed and quantizer.
        var properties: [PropertyKey: PropertyValue] = [:]
        /// The quantizer of alpha; nil is that of the picture.
        var alphaQP: Int64?
        var source = StillReader.Options()
        /// What the inputs are where they have no header.
        var raw: RawStill?
        /// The size of tiles; nil for the usual one, 0 for one tile.
        var tile: Int?
        /// The most samples on a side of the thumbnail; 0 for none.
        var thumbnail = 320
        /// The input that is shown first, by its index.
        var cover = 0
        /// Pictures per second of a sequence's inputs that have no times; nil is 25.
        var frameRate: Rational?
        var exif = ExifChoice.keep(isGiven: false)
        var xmp: String?
        var icc: String?
        var depthMap: String?
        /// What the samples of the depth map stand for; nil where that is not known.
        var depthRange: DepthRange?
        var gainMap: String?
        var json = false

        /// Files that must not be replaced.
        var readFiles: [String] {
            inputs + [exif.path, xmp, icc, depthMap, gainMap].compactMap { $0 }
        }

        /// The kinds of auxiliary pictures that inputs have and the output gets from elsewhere.
        var replacedKinds: Set<AuxiliaryKind> {
            var kinds: Set<AuxiliaryKind> = []
            if depthMap != nil { kinds.insert(.depth) }
            if gainMap != nil { kinds.insert(.gainMap) }
            return kinds
        }

        /// The ICC profile that replaces those of inputs; nil keeps them.
        func profile() throws(MediaError) -> [UInt8]? {
            guard let icc else { return nil }
            return try WholeFile.read(icc, most: HEIFLimits.profileSize)
        }

        /// What codes alpha.
        func alphaEncoder(_ encoder: StillEncoder) -> StillEncoder { encoder.with(quantizer: alphaQP) }

        /// What codes pictures.
        func encoder(_ daemon: Daemon, _ interruption: Interruption) -> StillEncoder {
            StillEncoder(
                PictureSessions(interruption) { daemon }, specification: specification, properties: properties)
        }
    }

    /// The most bytes of documents that are put into a file.
    private static let maxXMP = 16 << 20

    let request: Request

    func run(_ interruption: Interruption) throws {
        interruption.onSignal {}
        let progress = Progress(total: nil)
        let xmp = try request.xmp.map { try WholeFile.read($0, most: Self.maxXMP) }
        let profile = try request.profile()
        // Before pictures are coded: what is missing is reported at once.
        let described = try request.inputs.enumerated().map { index, path in
            try StillSource.exif(
                of: path, isRaw: request.raw != nil, index == request.cover ? request.exif : .drop)
        }
        let daemon = try SessionRequest.findDaemon()
        let source = StillSource(
            daemon: daemon, options: request.source, raw: request.raw, interruption: interruption)
        var composer = composer(request.encoder(daemon, interruption), profile)
        var created: CreateCompressionSession.Reply?
        let kept = xmp == nil && request.exif != .drop ? try source.xmp(of: request.inputs[request.cover]) : nil
        (composer.contents.exif, composer.contents.xmp) = (described[request.cover].tiff, xmp ?? kept)
        for (index, path) in request.inputs.enumerated() {
            var (pixels, isUpright) = try source.read(path)
            pixels.isPremultiplied = request.source.alpha == .premultiplied
            pixels.note(path)
            if described[index].isUncalibrated, profile == nil, pixels.profile == nil,
                request.source.primaries == nil
            {
                // Cameras say so of Display P3.
                Console.note(
                    "\(path): Exif states an uncalibrated color space and there is no ICC profile; use --primaries p3 if it is Display P3"
                )
            }
            let reply = try composer.add(pixels, isUpright ? .upright : described[index].orientation)
            created = created ?? reply
            try source.forEachAuxiliary(of: path, replacing: request.replacedKinds) {
                try composer.add($0, of: index)
            }
        }
        try addMaps(to: &composer)
        let contents = composer.contents
        let bytes = try contents.write(to: request.output, inputs: request.readFiles)
        guard let created else { return }
        try StillEncodeSummary(request, created, contents, seconds: progress.seconds, bytes: bytes)
            .report(json: request.json)
    }

    private func composer(_ encoder: StillEncoder, _ profile: [UInt8]?) -> StillComposer {
        var options = StillComposer.Options()
        (options.tile, options.thumbnail, options.cover) = (request.tile, request.thumbnail, request.cover)
        (options.profile, options.alphaQP) = (profile, request.alphaQP)
        return StillComposer(encoder, options) { try $0.scaled(width: $1, height: $2) }
    }

    /// Adds the depth and the gain map of the cover.
    private func addMaps(to composer: inout StillComposer) throws {
        for (kind, path) in [(AuxiliaryKind.depth, request.depthMap), (.gainMap, request.gainMap)] {
            guard let path else { continue }
            var options = StillReader.Options()
            options.isGray = true
            let map = try StillReader.read(path, options).canvas
            try composer.add(map, as: kind, of: request.cover, range: kind == .depth ? request.depthRange : nil)
        }
    }
}
