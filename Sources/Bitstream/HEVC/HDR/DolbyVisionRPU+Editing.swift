// SPDX-License-Identifier: MIT

extension DolbyVisionRPU {
    /// What was measured on an edited picture.
    public struct Measurement: Hashable, Sendable {
        public var light: RPULight
        /// Level 4, for RPUs that have one.
        public var anchor: RPUAnchor?

        public init(light: RPULight, anchor: RPUAnchor? = nil) {
            self.light = light
            self.anchor = anchor
        }
    }

    /// The RPU of an edited picture: header, mapping, color, and levels 3, 9, 10, 11 and 254 stay.
    ///
    /// - Parameters:
    ///   - edits: what was done, in order; their outcome must not replace or drop RPUs.
    ///   - measurement: of the edited picture; without it, levels 1 and 4 stay, so pass it when `measuresLight`.
    ///   - startsShot: whether the picture is the first after a cut or join.
    public func edited(
        _ edits: [HDREdit], measurement: Measurement? = nil, startsShot: Bool = false
    ) throws(BitstreamError) -> DolbyVisionRPU {
        let outcome = HDREditOutcome(after: edits)
        guard var metadata = displayManagement, outcome.dolbyVision != .keep else { return self }
        if outcome.marksShots, startsShot { metadata.sceneRefreshFlag = 1 }
        if outcome.changesActiveArea { try metadata.changeActiveArea(edits) }
        if outcome.measuresLight, let measurement { try metadata.set(measurement) }
        if outcome.dropsTrims { try metadata.dropTrims() }
        var copy = self
        copy.displayManagement = metadata
        return copy
    }
}

extension RPUDisplayManagement {
    /// The first block of a level in either list; `.other` where its fields are not known.
    public func content(ofLevel level: Int) -> RPUBlockContent? {
        (extension1 + (extension2 ?? [])).first { $0.level == level }?.content
    }

    fileprivate mutating func changeActiveArea(_ edits: [HDREdit]) throws(BitstreamError) {
        var area = RPUActiveArea()
        if case .level5(let coded)? = content(ofLevel: 5) { area = coded }
        let result = area.after(edits)
        // An RPU without level 5 gets one only when there is letterboxing to describe.
        guard content(ofLevel: 5) != nil || result != RPUActiveArea() else { return }
        try setFirst(.level5(result))
    }

    fileprivate mutating func set(_ measurement: DolbyVisionRPU.Measurement) throws(BitstreamError) {
        try setFirst(.level1(measurement.light))
        guard content(ofLevel: 4) != nil else { return }
        extension1.removeAll { $0.level == 4 }
        if let anchor = measurement.anchor { try setFirst(.level4(anchor)) }
    }

    /// Drops level 2 and makes level 8 neutral, except for an iPhone's trims, which do not depend on the picture.
    fileprivate mutating func dropTrims() throws(BitstreamError) {
        extension1.removeAll { $0.level == 2 }
        guard var blocks = extension2 else { return }
        for index in blocks.indices where blocks[index].level == 8 {
            guard case .level8(let trim) = blocks[index].content, !DolbyVisionGenerator.iPhoneTrims.contains(trim)
            else { continue }
            blocks[index] = try RPUBlock(.level8(trim.neutral))
        }
        extension2 = blocks
    }

    /// Replaces the block of the content's level in the first list, or adds one in the order of levels.
    private mutating func setFirst(_ content: RPUBlockContent) throws(BitstreamError) {
        let block = try RPUBlock(content)
        if let index = extension1.firstIndex(where: { $0.level == block.level }) {
            extension1[index] = block
        } else {
            extension1.insert(block, at: extension1.firstIndex { $0.level > block.level } ?? extension1.count)
        }
    }
}

extension RPUDisplayTrim {
    /// A trim of the same length and for the same display that changes nothing.
    fileprivate var neutral: RPUDisplayTrim {
        var trim = RPUDisplayTrim(
            parts: !hueVectors.isEmpty
                ? 4 : !saturationVectors.isEmpty ? 3 : highlightClipping != nil ? 2 : midContrastBias != nil ? 1 : 0
        )
        trim.targetDisplayIndex = targetDisplayIndex
        return trim
    }
}
