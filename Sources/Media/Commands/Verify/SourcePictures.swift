// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport

/// The pictures of a video source, for their comparison.
final class SourcePictures: ComparedPictures {
    private let input: DecodedInput
    private let source: any VideoSource
    /// Whether `source` is a part of the input.
    private let isTrimmed: Bool
    /// Whether pictures are cut to the clean aperture.
    private let showsAperture: Bool
    /// The part that is kept and how it is turned; nil compares pictures as they are.
    private let geometry: PictureGeometry?
    /// A turned picture.
    private var turned: UnsafeMutableRawBufferPointer?
    private let onPicture: () -> Void
    private var last: SourceFrame?
    private var colors: StreamColor
    /// The samples of a picture that this process decoded.
    private let reader = FrameSampleReader()

    /// - Parameter range: the part of the input that is compared; nil for all of it.
    init(
        _ input: DecodedInput, _ range: TimeRange? = nil, _ geometry: PictureGeometry? = nil, showsAperture: Bool,
        onPicture: @escaping () -> Void
    ) throws {
        self.geometry = geometry
        source = try PicturePipeline(part: range.map { .range($0) } ?? .all).pictures(of: input)
        isTrimmed = range != nil
        (self.input, self.showsAperture, self.onPicture) = (input, showsAperture, onPicture)
        colors = StreamColor(input.reader.video.color)
    }

    deinit {
        turned?.deallocate()
    }

    var damage: String? { input.source.report.firstError }

    var wholeEnd: Double? {
        input.reader.levels?.end.map { Double($0) * input.reader.video.timeBase.value }
    }

    var scaledPictures: Int { input.source.report.changes.scaled }

    var shownEnd: Double? { isTrimmed ? nil : input.reader.editListEnd }

    func next() throws -> ComparedPicture? {
        try last?.release()
        last = nil
        while let item = try source.next() {
            guard case .frame(let frame) = item else { continue }
            last = frame
            onPicture()
            let tick = input.reader.video.timeBase.value
            // The reader has compared the colors of the frames that it decoded.
            var color = frame.color
            if case .shared = frame.place { color = colors.color(of: color) }
            return ComparedPicture(
                time: Double(frame.pts) * tick, duration: Double(frame.duration) * tick, view: try view(frame),
                color: color, alphaMode: frame.alphaMode)
        }
        return nil
    }

    private func view(_ frame: SourceFrame) throws -> PictureView {
        let aperture = showsAperture ? input.reader.video.cleanAperture : nil
        let part = geometry?.part ?? PictureOutput.shownPart(aperture, width: frame.width, height: frame.height)
        let (memory, layout) = try reader.samples(of: frame)
        let view = try PictureView(
            memory: memory, layout: layout, format: frame.format, width: frame.width, height: frame.height,
            part: part)
        guard let geometry, geometry.turn != 0 else { return view }
        return try turn(view, by: geometry.turn)
    }

    /// A copy of the view's rectangle, turned.
    private func turn(_ view: PictureView, by degrees: Int) throws -> PictureView {
        let orientation = PictureOrientation(turnedBy: degrees)
        let size = orientation.shown(width: Int(view.part.width), height: Int(view.part.height))
        let packed = FrameLayout.packed(view.format, width: size.width, height: size.height)
        if turned?.count ?? 0 < packed.size {
            turned?.deallocate()
            turned = .allocate(byteCount: packed.size, alignment: FrameLayout.rowAlignment)
        }
        guard let turned, let base = turned.baseAddress else {
            throw CommandFailure(.software, "there is no memory for a picture")
        }
        orientation.copy(
            (0..<view.format.planeCount).compactMap { view.plane($0) }, to: packed.layout.mutablePlanes(at: base),
            view.format, width: Int(view.part.width), height: Int(view.part.height))
        return try PictureView(
            memory: UnsafeRawBufferPointer(turned), layout: packed.layout, format: view.format, width: size.width,
            height: size.height,
            part: PictureRectangle(x: 0, y: 0, width: UInt32(size.width), height: UInt32(size.height)))
    }
}
