// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// How a picture or a part of it is put together from coded pictures.
///
/// Has only the tiles that the part needs: its memory grows with them, not with the picture.
public struct DecodePlan: Hashable, Sendable {
    /// Something that is painted on the result, over what was painted before.
    public enum Step: Hashable, Sendable {
        /// A rectangle of one color: red, green, blue and opacity in 16 bits.
        case fill(PixelRect, [UInt16])
        case copy(Copy)
        case blend(Blend)
    }

    /// A part of a decoded picture and its place in the result.
    public struct Copy: Hashable, Sendable {
        /// The coded item.
        ///
        /// Items come several times where several places show them.
        public var item: UInt32
        /// The part of its decoded picture, cropped by the stream's window.
        public var source: PixelRect
        /// How the part is turned.
        public var orientation: Orientation
        /// Where it is in the result, after turning.
        public var destination: PixelRect

        public init(item: UInt32, source: PixelRect, orientation: Orientation, destination: PixelRect) {
            self.item = item
            self.source = source
            self.orientation = orientation
            self.destination = destination
        }
    }

    /// A picture of an overlay that has alpha, laid over what was painted before.
    public struct Blend: Hashable, Sendable {
        /// Its item is the picture, whose part is in samples as they are shown.
        public var copy: Copy
        /// Whether the picture's samples are multiplied by its alpha.
        public var isPremultiplied: Bool
    }

    /// The size of the result.
    public var width: Int
    public var height: Int
    public var steps: [Step] = []
    /// By coded items, where they are copied first: the picture that states the color of its samples, the coded one itself or
    /// the uppermost that it is a part of inside of an overlay; none where no picture does.
    public var stating: [UInt32: UInt32] = [:]

    /// Whether every copy keeps the squares of 2x2 samples that share chroma in 4:2:0.
    public var keepsChroma: Bool {
        steps.allSatisfy { step in
            guard case .copy(let copy) = step else { return true }
            return copy.keepsChroma
        }
    }

    /// The coded items that are needed, each once, in the order of their first use; those of blended pictures are left out.
    public var items: [UInt32] {
        var seen = Set<UInt32>()
        return steps.compactMap { step in
            guard case .copy(let copy) = step, seen.insert(copy.item).inserted else { return nil }
            return copy.item
        }
    }
}

extension DecodePlan.Copy {
    /// Whether squares of 2x2 samples at even places stay such.
    var keepsChroma: Bool {
        let turns = orientation.turns
        let isFlippedAcross = orientation.isMirrored != (turns == 1 || turns == 2)
        let isFlippedDown = turns >= 2
        let (across, down) =
            turns % 2 == 0 ? (destination.x, destination.y) : (destination.y, destination.x)
        let shifts = [
            across + source.x + (isFlippedAcross ? source.width : 0),
            down + source.y + (isFlippedDown ? source.height : 0),
        ]
        return shifts.allSatisfy { $0 % 2 == 0 }
    }
}

extension HEIFFile {
    /// Plans a picture as it is shown, transformations included.
    ///
    /// - Parameters:
    ///   - region: the part, in samples of the shown picture; nil for all of it.
    ///   - source: the file, for descriptions of grids and overlays.
    ///   - state: that of the plan which blends this picture; a new one for any other.
    /// - Throws: what `picture`, `data` and `spans` throw; `malformed` for derivations that do not fit their inputs or a
    ///   region outside of the picture; `limit` for more tiles or samples than `HEIFLimits` has.
    public func plan(
        _ id: UInt32, region: PixelRect? = nil, from source: some ByteSource,
        sharing state: PlanningState = PlanningState()
    ) throws(HEIFError) -> DecodePlan {
        let picture = try picture(id)
        let region = region ?? picture.shownSize
        guard region.intersection(picture.shownSize) == region, !region.isEmpty else {
            throw HEIFError(
                .malformed, "the region is not inside the picture of \(picture.shownWidth)x\(picture.shownHeight)")
        }
        guard region.width * region.height <= HEIFLimits.pixels else {
            throw HEIFError(
                .limit, "\(region.width)x\(region.height) samples are more than \(HEIFLimits.pixels) at once")
        }
        var planner = Planner(
            file: self, source: source, state: state, plan: DecodePlan(width: region.width, height: region.height))
        try planner.visit(
            picture, Placement(x: -region.x, y: -region.y),
            clip: PixelRect(width: region.width, height: region.height),
            depth: 0)
        return planner.plan
    }
}

/// What the plans of one picture share: that of the picture, and those of pictures with alpha that it blends.
///
/// The limits hold for all of them together: overlays that blend each other many times need no large file.
public final class PlanningState {
    /// Pictures that were visited.
    private var visits = 0
    /// Samples that are painted, those that later ones cover included.
    private var painted = 0
    /// The items whose bytes were found; the same item may fill many places.
    fileprivate var located = Set<UInt32>()
    /// The descriptions that were read; the same item may fill many places.
    fileprivate var grids: [UInt32: ImageGrid] = [:]
    fileprivate var overlays: [UInt32: ImageOverlay] = [:]

    public init() {}

    fileprivate func countVisit() throws(HEIFError) {
        visits += 1
        guard visits <= HEIFLimits.tiles else {
            throw HEIFError(.limit, "the picture is made of more than \(HEIFLimits.tiles) others")
        }
    }

    /// Counts samples that are painted: pictures of an overlay may lie over each other.
    fileprivate func count(_ rect: PixelRect) throws(HEIFError) {
        painted += rect.width * rect.height
        guard painted <= HEIFLimits.paintedPixels else {
            throw HEIFError(
                .limit, "the picture is painted over with more than \(HEIFLimits.paintedPixels) samples")
        }
    }
}

/// Walks through the derivations of a picture, with what is visible of each in the coordinates of the result.
private struct Planner<Source: ByteSource> {
    let file: HEIFFile
    let source: Source
    let state: PlanningState
    var plan: DecodePlan
    /// The uppermost of the pictures that are being visited, up to an overlay, which states a color.
    private var stating: UInt32?

    init(file: HEIFFile, source: Source, state: PlanningState, plan: DecodePlan) {
        (self.file, self.source, self.state, self.plan) = (file, source, state, plan)
    }

    /// Plans a picture that `outer` places in the result, inside `clip`.
    mutating func visit(
        _ picture: PictureDescription, _ outer: Placement, clip: PixelRect, depth: Int
    ) throws(HEIFError) {
        let id = picture.item.id
        try state.countVisit()
        guard depth <= HEIFLimits.depth else {
            throw HEIFError(.limit, "item \(id) is derived more than \(HEIFLimits.depth) times in a row")
        }
        let clip = clip.intersection(outer.map(picture.shownSize))
        guard !clip.isEmpty else { return }
        let placement = outer.after(picture.placement)
        let outerStating = stating
        defer { stating = outerStating }
        if stating == nil, !picture.colors.isEmpty { stating = id }
        switch picture.kind {
        case .coded: try copy(picture, placement, clip)
        case .grid: try visitGrid(picture, placement, clip, depth)
        case .overlay: try visitOverlay(picture, placement, clip, depth)
        case .identity, .toneMap:
            let inputs = file.targets("dimg", of: id)
            guard let input = inputs.first, picture.kind == .toneMap || inputs.count == 1 else {
                throw HEIFError(.malformed, "item \(id) is derived from \(inputs.count) pictures")
            }
            let base = try file.picture(input)
            guard base.shownWidth == picture.width, base.shownHeight == picture.height else {
                throw HEIFError(
                    .malformed,
                    "item \(id) states \(picture.width)x\(picture.height) samples and shows \(base.shownWidth)x\(base.shownHeight)"
                )
            }
            try visit(base, placement, clip: clip, depth: depth + 1)
        }
    }

    private mutating func copy(
        _ picture: PictureDescription, _ placement: Placement, _ clip: PixelRect
    ) throws(HEIFError) {
        let id = picture.item.id
        guard file.targets("pred", of: id).isEmpty else {
            throw HEIFError(.unsupported, "item \(id) is predicted from other pictures")
        }
        if plan.stating[id] == nil { plan.stating[id] = stating }
        if state.located.insert(id).inserted { _ = try file.spans(of: id) }
        try state.count(clip)
        plan.steps.append(
            .copy(
                DecodePlan.Copy(
                    item: id, source: placement.inverse.map(clip), orientation: placement.orientation,
                    destination: clip)))
    }

    private mutating func visitGrid(
        _ picture: PictureDescription, _ placement: Placement, _ clip: PixelRect, _ depth: Int
    ) throws(HEIFError) {
        let id = picture.item.id
        let (grid, tiles) = (try grid(id), file.targets("dimg", of: id))
        guard grid.width == picture.width, grid.height == picture.height else {
            throw HEIFError(
                .malformed,
                "grid \(id) is \(grid.width)x\(grid.height), its item states \(picture.width)x\(picture.height)")
        }
        guard grid.rows * grid.columns == tiles.count, let first = tiles.first else {
            throw HEIFError(
                .malformed, "grid \(id) has \(grid.rows)x\(grid.columns) places for \(tiles.count) tiles")
        }
        let tile = try file.picture(first)
        let (width, height) = (tile.shownWidth, tile.shownHeight)
        guard width * grid.columns >= grid.width, height * grid.rows >= grid.height else {
            throw HEIFError(
                .malformed,
                "\(grid.rows)x\(grid.columns) tiles of \(width)x\(height) do not cover grid \(id) of \(grid.width)x\(grid.height)"
            )
        }
        let part = placement.inverse.map(clip)
        for row in part.y / height...(part.maxY - 1) / height {
            for column in part.x / width...(part.maxX - 1) / width {
                let number = tiles[row * grid.columns + column]
                let next = number == first ? tile : try file.picture(number)
                guard (next.shownWidth, next.shownHeight) == (width, height) else {
                    throw HEIFError(
                        .malformed,
                        "tile \(number) of grid \(id) is \(next.shownWidth)x\(next.shownHeight), others are \(width)x\(height)"
                    )
                }
                try visit(
                    next, placement.after(Placement(x: column * width, y: row * height)), clip: clip,
                    depth: depth + 1)
            }
        }
    }

    private mutating func visitOverlay(
        _ picture: PictureDescription, _ placement: Placement, _ clip: PixelRect, _ depth: Int
    ) throws(HEIFError) {
        let (id, inputs) = (picture.item.id, file.targets("dimg", of: picture.item.id))
        let overlay = try overlay(id, inputs: inputs.count)
        guard overlay.width == picture.width, overlay.height == picture.height else {
            throw HEIFError(
                .malformed,
                "overlay \(id) is \(overlay.width)x\(overlay.height), its item states \(picture.width)x\(picture.height)"
            )
        }
        try state.count(clip)
        plan.steps.append(.fill(clip, overlay.fill))
        // Its `colr` describes the result.
        stating = nil
        for (input, position) in zip(inputs, overlay.positions) {
            let (picture, place) = (
                try file.picture(input), placement.after(Placement(x: position.x, y: position.y))
            )
            guard let alpha = try file.alpha(of: input) else {
                try visit(picture, place, clip: clip, depth: depth + 1)
                continue
            }
            try blend(picture, alpha, place, clip)
        }
    }

    /// A picture with alpha in an overlay; the picture has a plan of its own.
    private mutating func blend(
        _ picture: PictureDescription, _ alpha: AuxiliaryPicture, _ outer: Placement, _ clip: PixelRect
    ) throws(HEIFError) {
        try state.countVisit()
        let clip = clip.intersection(outer.map(picture.shownSize))
        guard !clip.isEmpty else { return }
        try state.count(clip)
        let copy = DecodePlan.Copy(
            item: picture.item.id, source: outer.inverse.map(clip), orientation: outer.orientation,
            destination: clip)
        plan.steps.append(.blend(DecodePlan.Blend(copy: copy, isPremultiplied: alpha.isPremultiplied)))
    }

    private func grid(_ id: UInt32) throws(HEIFError) -> ImageGrid {
        if let known = state.grids[id] { return known }
        let grid = try file.grid(id, from: source)
        state.grids[id] = grid
        return grid
    }

    private func overlay(_ id: UInt32, inputs: Int) throws(HEIFError) -> ImageOverlay {
        if let known = state.overlays[id] { return known }
        let body = try file.data(of: id, from: source, limit: HEIFLimits.derivationSize)
        let overlay = try ImageOverlay(body, inputs: inputs, item: id)
        state.overlays[id] = overlay
        return overlay
    }
}
