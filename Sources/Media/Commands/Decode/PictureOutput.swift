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
        /// The format of the frames; sessions deliver it, frames decoded in this process are converted.
        var target: PixelFormat
        /// How colors relate to alpha in pictures that are written as RGBA.
        var alphaMode = AlphaChannelMode.straight
        /// The color that pictures with alpha are composited over; nil keeps alpha.
        var background: BackgroundCompositor.RGB?
        /// Whether pictures for a viewer are tone-mapped and upright; else they are as the stream codes them.
        var isForViewers = false

        /// The format that is written.
        var written: PixelFormat {
            if background != nil { return .yu12 }
            // A picture for a viewer is tone-mapped from light.
            return isForViewers && target == .rgba16f ? .rgba8 : target
        }
    }

    let writer: FrameWriter
    private let format: Format
    private let video: VideoDescription
    /// Converts frames of this process to RGB; nil where no frame needs that.
    private let converter: RGBConverter?
    /// Converts HDR frames for a viewer; nil where they are written as they are.
    private let mapper: RGBConverter?
    private let orientation: PictureOrientation
    /// A frame that was decoded in this process: as it is, then converted.
    private var scratch: [UInt8] = []
    /// A frame composited over the background.
    private var composited: [UInt8] = []

    init(
        _ writer: FrameWriter, _ format: Format, _ video: VideoDescription, converter: RGBConverter? = nil,
        mapper: RGBConverter? = nil
    ) {
        self.converter = converter
        self.mapper = mapper
        let upright = PictureOrientation(displayMatrix: video.displayMatrix)
        orientation = format.isForViewers ? upright ?? PictureOrientation() : PictureOrientation()
        self.writer = writer
        self.format = format
        self.video = video
    }

    /// Writes a frame; does not release it.
    func write(_ frame: SourceFrame) throws {
        if let mapper, frame.format == .rgba16f {
            return try mapper.convert(light: frame) { try emit(frame, $0, $1, .rgba8) }
        }
        if let mapper, frame.format.isYCbCr, !frame.format.hasAlpha {
            let color = mapper.color(of: frame)
            if color.isHDR {
                return try mapper.convert(frame, color: color) { try emit(frame, $0, $1, .rgba8) }
            }
        }
        switch frame.place {
        case .session(let memory, _, let layout) where frame.format == format.target:
            try write(frame, memory.bytes, layout)
        case .session:
            throw CommandFailure(.software, "the session returned \(frame.format.rawValue) pictures")
        case .local(let decoded):
            guard let converter else { return try convert(frame, decoded) }
            try converter.convert(frame, color: converter.color(of: frame)) { try write(frame, $0, $1) }
        }
    }

    /// Writes a frame that was decoded in this process.
    private func convert(_ frame: SourceFrame, _ decoded: DecodedFrame) throws {
        let packed = FrameLayout.packed(decoded.format, width: frame.width, height: frame.height)
        let converted = FrameLayout.packed(format.target, width: frame.width, height: frame.height)
        if scratch.count < packed.size + converted.size {
            scratch = [UInt8](repeating: 0, count: packed.size + converted.size)
        }
        try scratch.withUnsafeMutableBytes { bytes in
            let first = UnsafeMutableRawBufferPointer(rebasing: bytes[..<packed.size])
            let second = UnsafeMutableRawBufferPointer(rebasing: bytes[packed.size...])
            try decoded.copy(to: first, packed.layout)
            guard decoded.format != format.target else {
                return try write(frame, UnsafeRawBufferPointer(first), packed.layout)
            }
            if let read = first.baseAddress, let written = second.baseAddress {
                SampleConverter(source: decoded.format, target: format.target).convert(
                    packed.layout.planes(at: read), into: converted.layout.mutablePlanes(at: written),
                    width: frame.width, height: frame.height)
            }
            if format.target.hasAlpha, !decoded.format.hasAlpha {
                // The converter handles three planes: the fourth is set to opaque here.
                let size = Int(converted.layout.planes[3].stride) * frame.height
                second[Int(converted.layout.planes[3].offset)...].prefix(size).withMemoryRebound(to: UInt8.self) {
                    $0.update(repeating: 255)
                }
            }
            try write(frame, UnsafeRawBufferPointer(second), converted.layout)
        }
    }

    /// Writes samples in the target format, composited over the background if there is one.
    private func write(_ frame: SourceFrame, _ bytes: UnsafeRawBufferPointer, _ layout: FrameLayout) throws {
        guard let background = format.background else {
            return try emit(frame, bytes, layout, format.target)
        }
        let compositor = BackgroundCompositor(
            background, color: frame.color, height: frame.height, isPremultiplied: frame.alphaMode == .premultiplied
        )
        let packed = FrameLayout.packed(.yu12, width: frame.width, height: frame.height)
        if composited.count < packed.size { composited = [UInt8](repeating: 0, count: packed.size) }
        try composited.withUnsafeMutableBytes { target in
            try compositor.flatten(bytes, layout, width: frame.width, height: frame.height, to: target)
            try emit(frame, UnsafeRawBufferPointer(target), packed.layout, .yu12)
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
