// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDEdits
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// What becomes of a video's pictures: which part is kept, how it is turned, and its size.
struct PictureGeometry {
    /// The size of the source's pictures.
    private let source: (width: Int, height: Int)
    /// The part of them that is kept.
    let part: PictureRectangle
    /// Whether rows and columns are exchanged, before anything else.
    let transposes: Bool
    /// Degrees clockwise by which it is turned.
    let turn: Int
    /// The size of the output's pictures.
    let width: Int
    let height: Int
    /// Whether samples change.
    let changesSamples: Bool
    /// Whether only the size changes, so that metadata about places in the picture can be scaled.
    let onlyScales: Bool
    /// Whether scaling filters linear light, which needs a known color.
    var filtersLight: Bool { changesSamples && request.light == .linear }
    private let request: PictureRequest
    private let sampleAspectRatio: Rational?
    private let displayMatrix: [Int32]?

    /// Finds the size and the part for a source.
    ///
    /// - Throws: `badInput` for what a source of this size does not allow.
    init(_ request: PictureRequest, _ video: VideoDescription) throws(MediaError) {
        self.request = request
        source = (video.width, video.height)
        let stored = PictureOutput.shownPart(video.cleanAperture, width: video.width, height: video.height)
        let orientation = PictureOrientation(displayMatrix: video.displayMatrix) ?? PictureOrientation()
        let kept = try Self.part(request, stored, orientation)
        // A mirrored picture is turned the other way, so that the displayed one is turned as requested.
        turn = orientation.isMirrored ? (360 - request.rotation) % 360 : request.rotation
        transposes = turn == 90 || turn == 270
        let turned =
            transposes
            ? (width: Int(kept.height), height: Int(kept.width))
            : (width: Int(kept.width), height: Int(kept.height))
        let shown = orientation.shown(width: turned.width, height: turned.height)
        let wanted = Self.size(request, shown)
        (width, height) = orientation.shown(width: wanted.width, height: wanted.height)
        let isWhole = kept == PictureRectangle(x: 0, y: 0, width: UInt32(video.width), height: UInt32(video.height))
        let keepsSize = width == turned.width && height == turned.height
        let isRequested =
            request.crop != nil || request.rotation != 0 || request.size != nil || request.maxHeight != nil
        // Without a request the clean aperture stays as it is.
        changesSamples = isRequested && !(isWhole && request.rotation == 0 && keepsSize)
        onlyScales = changesSamples && isWhole && request.rotation == 0
        part = kept
        let factors = (Double(width) / Double(turned.width), Double(height) / Double(turned.height))
        for factor in [factors.0, factors.1] where max(factor, 1 / factor) > ScalingGeometry.largestFactor {
            throw MediaError(
                .badInput,
                "\(shown.width)x\(shown.height) cannot become \(wanted.width)x\(wanted.height): pictures become "
                    + (factor < 1 ? "8 times smaller at most" : "8 times larger at most"))
        }
        let isTurned = transposes
        let turnedAspect = video.sampleAspectRatio.map {
            isTurned ? Rational($0.denominator, $0.numerator) ?? $0 : $0
        }
        sampleAspectRatio = Self.aspect(
            turnedAspect, factors, smallest: min(turned.width, turned.height, width, height))
        displayMatrix =
            request.orientation.map { Self.matrix(degrees: $0) } ?? video.displayMatrix
    }

    private static func part(
        _ request: PictureRequest, _ stored: PictureRectangle, _ orientation: PictureOrientation
    ) throws(MediaError) -> PictureRectangle {
        guard let crop = request.crop else { return stored }
        let shown = orientation.shown(width: Int(stored.width), height: Int(stored.height))
        guard Int(crop.x) + Int(crop.width) <= shown.width, Int(crop.y) + Int(crop.height) <= shown.height else {
            throw MediaError(
                .badInput,
                "--crop \(crop.width):\(crop.height):\(crop.x):\(crop.y) is outside the picture, which has "
                    + "\(shown.width)x\(shown.height) samples")
        }
        var part = orientation.stored(crop, shownWidth: shown.width, shownHeight: shown.height)
        (part.x, part.y) = (part.x + stored.x, part.y + stored.y)
        return part
    }

    /// The displayed size of the output.
    private static func size(
        _ request: PictureRequest, _ shown: (width: Int, height: Int)
    ) -> (width: Int, height: Int) {
        func even(_ value: Double) -> Int { max(2, Int((value / 2).rounded()) * 2) }
        let proportion = Double(shown.width) / Double(shown.height)
        if let limit = request.maxHeight {
            return shown.height <= limit ? shown : (even(Double(limit) * proportion), limit)
        }
        switch (request.size?.width, request.size?.height) {
        case (nil, nil): return shown
        case (let width?, nil): return (width, even(Double(width) / proportion))
        case (nil, let height?): return (even(Double(height) * proportion), height)
        case (let width?, let height?): return (width, height)
        }
    }

    /// The aspect ratio of samples with which the picture keeps its proportions, if they differ by more than rounding.
    private static func aspect(
        _ aspect: Rational?, _ factors: (horizontal: Double, vertical: Double), smallest: Int
    ) -> Rational? {
        let change = factors.vertical / factors.horizontal
        guard abs(change - 1) > 1.5 / Double(max(1, smallest)) else { return aspect }
        let value = (aspect?.value ?? 1) * change
        let closest = (1...1000).min { first, second in
            func error(_ denominator: Int) -> Double {
                abs((value * Double(denominator)).rounded() / Double(denominator) - value)
            }
            return error(first) + 1e-9 * Double(first) < error(second) + 1e-9 * Double(second)
        }
        guard let closest else { return aspect }
        // sar_width and sar_height have 16 bits (H.265 E.2.1).
        let numerator = min(max((value * Double(closest)).rounded(), 1), 65535)
        return Rational(Int32(numerator), Int32(closest))
    }

    /// The display matrix of a turn, with the picture's corner at the origin set later.
    private static func matrix(degrees: Int) -> [Int32]? {
        let one: Int32 = 1 << 16
        let (a, b, c, d): (Int32, Int32, Int32, Int32) =
            switch degrees {
            case 90: (0, one, -one, 0)
            case 180: (-one, 0, 0, -one)
            case 270: (0, -one, one, 0)
            default: (one, 0, 0, one)
            }
        return degrees == 0 ? nil : [a, b, 0, c, d, 0, 0, 0, 1 << 30]
    }

    /// Moves the corner of the displayed picture to the origin.
    private func placed(_ matrix: [Int32]) -> [Int32] {
        guard matrix.count == 9 else { return matrix }
        var placed = matrix
        for (axis, (across, down)) in [(matrix[0], matrix[3]), (matrix[1], matrix[4])].enumerated() {
            let corners = [0, Int64(across) * Int64(width)].flatMap { [$0, $0 + Int64(down) * Int64(height)] }
            placed[6 + axis] = Int32(clamping: -(corners.min() ?? 0))
        }
        return placed
    }

    /// The description of the output's video.
    func applied(to video: VideoDescription) -> VideoDescription {
        var video = video
        if let rate = request.frameRate {
            video.timeBase = Rational(rate.denominator, rate.numerator) ?? video.timeBase
            (video.averageFrameRate, video.baseFrameRate) = (rate, rate)
        }
        if changesSamples {
            let described = Self.described(video.color, from: source, to: (width, height))
            (video.width, video.height, video.cleanAperture) = (width, height, nil)
            (video.color, video.sampleAspectRatio) = (described, sampleAspectRatio)
            if !onlyScales { (video.dolbyVision, video.projection, video.stereoMode) = (nil, [], nil) }
        }
        if changesSamples || request.orientation != nil { video.displayMatrix = displayMatrix.map(placed) }
        return video
    }

    /// A color whose meaning would change with the picture's size, because small pictures without a description are BT.601,
    /// gets a description.
    private static func described(
        _ color: ColorDescription, from: (width: Int, height: Int), to: (width: Int, height: Int)
    ) -> ColorDescription {
        guard let old = try? SignalDescription(color, width: from.width, height: from.height),
            let new = try? SignalDescription(color, width: to.width, height: to.height), old != new
        else { return color }
        var color = color
        let unspecified = ColorDescription.unspecified
        if color.primaries == unspecified {
            color.primaries = old.primaries == .bt601_525 ? 6 : old.primaries == .bt601_625 ? 5 : 1
        }
        if color.transfer == unspecified { color.transfer = old.matrix == .bt601 ? 6 : 1 }
        if color.matrix == unspecified { color.matrix = old.matrix == .bt601 ? 6 : 1 }
        return color
    }

    /// The factors of the size, for metadata about places in the picture.
    var scale: (horizontal: Double, vertical: Double)? {
        onlyScales ? (Double(width) / Double(source.width), Double(height) / Double(source.height)) : nil
    }

    /// Sets the geometry of a session whose frames are the source's, after the exchange of rows and columns.
    func apply(to parameters: inout CreateTransferSession.Parameters) {
        guard changesSamples else { return }
        var options = parameters.options ?? CreateTransferSession.Options()
        (parameters.width, parameters.height) =
            transposes ? (source.height, source.width) : (source.width, source.height)
        (parameters.targetWidth, parameters.targetHeight) = (width, height)
        (options.scalingFilter, options.scalingLight) = (request.filter?.rawValue, request.light?.rawValue)
        options.scalingMode = ScalingOptions.Mode.cropSourceToCleanAperture.rawValue
        options.cleanAperture =
            transposes
            ? "\(part.height)x\(part.width)+\(part.y)+\(part.x)"
            : "\(part.width)x\(part.height)+\(part.x)+\(part.y)"
        options.flipHorizontal = turn == 90 || turn == 180 ? true : nil
        options.flipVertical = turn == 180 || turn == 270 ? true : nil
        parameters.options = options
    }

    /// What happens to the pictures, in one line; nil where they stay.
    var summary: String? {
        guard changesSamples else { return nil }
        var parts = ["scaling pictures: \(source.width)x\(source.height)"]
        if part.width != source.width || part.height != source.height {
            parts.append("cropped to \(part.width)x\(part.height)+\(part.x)+\(part.y)")
        }
        if request.rotation != 0 { parts.append("turned by \(request.rotation)°") }
        let filter = [request.filter == .bilinear ? "bilinear" : nil, filtersLight ? "in linear light" : nil]
            .compactMap { $0 }
        return parts.joined(separator: ", ") + " → \(width)x\(height)"
            + (filter.isEmpty ? "" : " (\(filter.joined(separator: ", ")))")
    }

    /// A warning about fields, whose lines are mixed; nil where there are none.
    func interlacedWarning(_ video: VideoDescription) -> String? {
        guard video.isInterlaced, changesSamples else { return nil }
        return "warning: interlaced frames are scaled as if they were progressive"
    }
}

extension ColorDescription {
    /// The color of a picture whose rows and columns are exchanged; nil where no chroma location describes it.
    var transposed: ColorDescription? {
        var color = self
        // H.265 figure E.1: left and top exchange; center and top left stay.
        switch chromaLocation ?? 0 {
        case 0: color.chromaLocation = 3
        case 3: color.chromaLocation = 0
        case 1, 2: break
        default: return nil
        }
        return color
    }
}
