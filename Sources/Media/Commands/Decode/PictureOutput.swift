// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport

/// Writes decoded frames in the format that was requested, cut to the clean aperture.
final class PictureOutput {
    /// What pictures are written as.
    struct Format {
        /// The format of the frames that sessions deliver.
        var target: PixelFormat
        /// How colors relate to alpha in pictures that are written as RGBA.
        var alphaMode = AlphaChannelMode.straight
        /// Whether pictures with alpha are composited over a color.
        var isFlattened = false
        /// Whether pictures for a viewer are tone-mapped and upright; else they are as the stream codes them.
        var isForViewers = false

        /// The format that is written.
        var written: PixelFormat {
            // A picture for a viewer is tone-mapped from light.
            isForViewers && target == .rgba16f ? .rgba8 : stored
        }

        /// The format of pictures that are not rendered for a viewer; frames decoded in this process are converted to it.
        var stored: PixelFormat { isFlattened ? .yu12 : target }
    }

    let writer: FrameWriter
    private let format: Format
    private let video: VideoDescription
    private let orientation: PictureOrientation
    private let reader = FrameSampleReader()
    /// A frame that was decoded in this process, converted.
    private var scratch: [UInt8] = []

    init(_ writer: FrameWriter, _ format: Format, _ video: VideoDescription) {
        let upright = PictureOrientation(displayMatrix: video.displayMatrix)
        orientation = format.isForViewers ? upright ?? PictureOrientation() : PictureOrientation()
        self.writer = writer
        self.format = format
        self.video = video
    }

    /// Writes a frame, which the pipeline has rendered or left as it was decoded; does not release it.
    func write(_ frame: SourceFrame) throws {
        let (memory, layout) = try reader.samples(of: frame)
        let isRendered = format.isForViewers && frame.format == .rgba8
        guard frame.format != format.stored, !isRendered else {
            return try emit(frame, memory, layout, frame.format)
        }
        guard case .local = frame.place else {
            throw CommandFailure(.software, "the session returned \(frame.format.rawValue) pictures")
        }
        try convert(frame, memory, layout)
    }

    /// Writes a frame that was decoded in this process in another format.
    private func convert(_ frame: SourceFrame, _ memory: UnsafeRawBufferPointer, _ layout: FrameLayout) throws {
        let target = format.stored
        let converted = FrameLayout.packed(target, width: frame.width, height: frame.height)
        if scratch.count < converted.size { scratch = [UInt8](repeating: 0, count: converted.size) }
        try scratch.withUnsafeMutableBytes { bytes in
            if let read = memory.baseAddress, let written = bytes.baseAddress {
                SampleConverter(source: frame.format, target: target).convert(
                    layout.planes(at: read), into: converted.layout.mutablePlanes(at: written),
                    width: frame.width, height: frame.height)
            }
            if target.hasAlpha, !frame.format.hasAlpha {
                // The converter handles three planes: the fourth is set to opaque here.
                let size = Int(converted.layout.planes[3].stride) * frame.height
                bytes[Int(converted.layout.planes[3].offset)...].prefix(size).withMemoryRebound(to: UInt8.self) {
                    $0.update(repeating: 255)
                }
            }
            try emit(frame, UnsafeRawBufferPointer(bytes), converted.layout, target)
        }
    }

    private func emit(
        _ frame: SourceFrame, _ bytes: UnsafeRawBufferPointer, _ layout: FrameLayout, _ pixelFormat: PixelFormat
    ) throws {
        let part = Self.shownPart(video.cleanAperture, width: frame.width, height: frame.height)
        let view = try PictureView(
            memory: bytes, layout: layout, format: pixelFormat, width: frame.width, height: frame.height, part: part
        )
        var description = FrameWriter.Description(
            width: Int(part.width), height: Int(part.height), format: pixelFormat, color: frame.color,
            frameRate: video.averageFrameRate ?? video.baseFrameRate,
            sampleAspectRatio: video.sampleAspectRatio, alphaMode: frame.alphaMode,
            wantedAlphaMode: format.alphaMode)
        description.orientation = orientation
        (description.isInterlaced, description.fieldDetail) = (video.isInterlaced, video.fieldDetail)
        try writer.write(view, description)
    }

    /// The part of a picture inside the clean aperture; all of it where the aperture does not fit the picture.
    static func shownPart(_ aperture: CleanAperture?, width: Int, height: Int) -> PictureRectangle {
        let all = PictureRectangle(x: 0, y: 0, width: UInt32(width), height: UInt32(height))
        guard let aperture, aperture.fits(codedWidth: width, codedHeight: height) else { return all }
        func range(_ size: Rational, _ offset: Rational, _ coded: Int) -> (start: UInt32, length: UInt32)? {
            let length = size.value.rounded()
            let start = ((Double(coded) - size.value) / 2 + offset.value).rounded()
            guard length >= 1, start >= 0, start + length <= Double(coded) else { return nil }
            return (UInt32(start), UInt32(length))
        }
        guard let columns = range(aperture.width, aperture.horizontalOffset, width),
            let rows = range(aperture.height, aperture.verticalOffset, height)
        else { return all }
        return PictureRectangle(x: columns.start, y: rows.start, width: columns.length, height: rows.length)
    }
}
