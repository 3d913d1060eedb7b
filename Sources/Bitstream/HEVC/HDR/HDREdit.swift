// SPDX-License-Identifier: MIT

/// What is done to the pictures of a stream between decoding and encoding, as far as it concerns their HDR metadata.
public enum HDREdit: Hashable, Sendable {
    /// Each axis by its factor, output by input.
    case scale(horizontal: Double, vertical: Double)
    /// Samples removed at each edge.
    case crop(RPUActiveArea)
    /// Samples added at each edge.
    case pad(RPUActiveArea)
    /// Any change of color or light that keeps the transfer function.
    case grade
    case overlay
    case blend
    /// Pictures made from several others, as by a change of the frame rate.
    case frameMixing
    /// Pictures removed: a new start, or a gap.
    case cut
    /// Another stream's pictures follow.
    case join
    case duplicate
    /// Another transfer function.
    case convert(to: Transfer)

    /// What the pictures become.
    public enum Transfer: Hashable, Sendable {
        case pq, hlg, sdr
    }
}

/// Which HDR metadata of a stream are still true after its pictures were edited.
public struct HDREditOutcome: Hashable, Sendable {
    /// What becomes of metadata.
    public enum Action: Int, Hashable, Sendable, Comparable {
        /// The same bytes.
        case keep
        /// The rest is kept; what depends on the picture is regenerated.
        case recompute
        /// Regenerated as a whole, or dropped by what cannot do that.
        case replace
        case drop

        public static func < (left: Action, right: Action) -> Bool { left.rawValue < right.rawValue }
    }

    public var dolbyVision = Action.keep
    public var hdr10Plus = Action.keep
    public var masteringDisplay = Action.keep
    public var contentLight = Action.keep
    public var ambientViewing = Action.keep

    /// Whether levels 1 and 4 of an RPU are measured again.
    public var measuresLight = false
    /// Whether level 5 of an RPU changes.
    public var changesActiveArea = false
    /// Whether trims that were made for the old pictures become neutral.
    public var dropsTrims = false
    /// Whether the first picture after each cut or join starts a shot.
    public var marksShots = false

    /// The result of edits in their order; nothing changes without edits, as in a remux.
    public init(after edits: [HDREdit]) {
        for edit in edits { add(edit) }
    }

    private mutating func add(_ edit: HDREdit) {
        switch edit {
        case .scale:
            changesActiveArea = true
            raise(\.dolbyVision, .recompute)
            raise(\.hdr10Plus, .recompute)
        case .crop, .pad:
            (changesActiveArea, measuresLight) = (true, true)
            raise(\.dolbyVision, .recompute)
            raise(\.hdr10Plus, .replace)
        case .grade, .overlay, .blend:
            (measuresLight, dropsTrims) = (true, true)
            raise(\.dolbyVision, .recompute)
            raise(\.hdr10Plus, .replace)
            raise(\.contentLight, .replace)
        case .frameMixing:
            // A mixture is no brighter than what it is made from, so that static levels stay true.
            (measuresLight, dropsTrims) = (true, true)
            raise(\.dolbyVision, .recompute)
            raise(\.hdr10Plus, .replace)
        case .cut, .join:
            marksShots = true
            raise(\.dolbyVision, .recompute)
        case .duplicate: break
        case .convert(let transfer): convert(to: transfer)
        }
    }

    private mutating func convert(to transfer: HDREdit.Transfer) {
        let action: Action = transfer == .sdr ? .drop : .replace
        for part in [\Self.dolbyVision, \.hdr10Plus, \.masteringDisplay, \.contentLight] { raise(part, action) }
        // SMPTE ST 2094-40 is for PQ, and so are the static levels of the mastering display.
        if transfer == .hlg {
            for part in [\Self.hdr10Plus, \.masteringDisplay, \.contentLight] { raise(part, .drop) }
        }
        if transfer == .sdr { raise(\.ambientViewing, .drop) }
    }

    private mutating func raise(_ part: WritableKeyPath<Self, Action>, _ action: Action) {
        self[keyPath: part] = max(self[keyPath: part], action)
    }
}

extension RPUActiveArea {
    /// The active area after edits; a crop removes letterboxing first, and padding adds to it.
    public func after(_ edits: [HDREdit]) -> RPUActiveArea {
        edits.reduce(self) { area, edit in
            switch edit {
            case .scale(let horizontal, let vertical):
                RPUActiveArea(
                    left: Self.scaled(area.left, horizontal), right: Self.scaled(area.right, horizontal),
                    top: Self.scaled(area.top, vertical), bottom: Self.scaled(area.bottom, vertical))
            case .crop(let edges): area.combined(edges) { max(0, $0 - $1) }
            case .pad(let edges): area.combined(edges) { min(Self.maxOffset, $0 + $1) }
            default: area
            }
        }
    }

    /// The largest offset of 13 bits.
    private static let maxOffset = 8191

    private static func scaled(_ value: Int, _ factor: Double) -> Int {
        guard factor.isFinite, factor > 0 else { return 0 }
        return Int(min(Double(maxOffset), (Double(value) * factor).rounded()))
    }

    private func combined(_ other: RPUActiveArea, _ operation: (Int, Int) -> Int) -> RPUActiveArea {
        RPUActiveArea(
            left: operation(left, other.left), right: operation(right, other.right), top: operation(top, other.top),
            bottom: operation(bottom, other.bottom))
    }
}
