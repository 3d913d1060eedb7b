// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDModel

/// A video whose frames become RGB or get effects, one at a time: each must be released before the next one is asked for.
final class RGBSource: VideoSource {
    var report: SourceReport { source.report }

    private let source: any VideoSource
    /// Applies effects to all frames, which become its target; nil for none.
    private let effects: RGBConverter?
    /// Converts the frames that this process decodes; nil where they stay as they are.
    private let converter: RGBConverter?
    /// Converts HDR frames for viewers; nil where they stay as they are.
    private let viewers: RGBConverter?

    init(_ source: any VideoSource, _ converter: RGBConverter?, effects: RGBConverter?, viewers: RGBConverter?) {
        (self.source, self.converter, self.effects, self.viewers) = (source, converter, effects, viewers)
    }

    func next() throws -> MediaReader.Item? {
        guard let item = try source.next() else { return nil }
        guard case .frame(let frame) = item else { return item }
        return .frame(try rendered(try effects?.convert(frame, color: color(of: frame)) ?? frame))
    }

    private func color(of frame: SourceFrame) -> ColorDescription { effects?.color(of: frame) ?? frame.color }

    private func rendered(_ frame: SourceFrame) throws -> SourceFrame {
        if let viewers, frame.format == .rgba16f { return try viewers.convert(light: frame) }
        if let viewers, frame.format.isYCbCr, !frame.format.hasAlpha {
            let color = viewers.color(of: frame)
            if color.isHDR { return try viewers.convert(frame, color: color) }
        }
        guard case .local = frame.place, let converter else { return frame }
        return try converter.convert(frame, color: converter.color(of: frame))
    }
}
