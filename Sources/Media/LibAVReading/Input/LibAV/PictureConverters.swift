// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// The converters of a decoder's pictures to the frames of a video: one for each size and format, nearly always one.
struct PictureConverters {
    /// The size and format of a decoder's picture.
    struct Form: Hashable {
        var width: Int
        var height: Int
        var format: Int32

        init(_ picture: AVFrame) {
            (width, height, format) = (Int(picture.width), Int(picture.height), picture.format)
        }
    }

    /// The conversion of the first picture.
    let conversion: SampleConversion
    private let width: Int
    private let height: Int
    private let path: String
    private var converters: [Form: any PictureConverter] = [:]

    /// The most converters that are kept: a damaged stream may change its size with every picture.
    private static let maxCount = 8

    init(_ conversion: SampleConversion, _ video: VideoDescription, path: String) {
        self.conversion = conversion
        (width, height) = (video.width, video.height)
        self.path = path
    }

    /// The converter of such pictures.
    /// - Throws: `unsupported` for a form that cannot be converted.
    mutating func converter(of form: Form) throws(MediaError) -> any PictureConverter {
        if let known = converters[form] { return known }
        let format = AVPixelFormat(rawValue: form.format)
        let adapted = try conversion.adapted(to: format, height: height, path: path)
        guard let converter = make(adapted, (form.width, form.height)) else {
            throw MediaError(
                .unsupported,
                "\(path): pictures of \(form.width)x\(form.height) \(SampleFormats.name(format)) cannot be converted"
            )
        }
        if converters.count >= Self.maxCount { converters = [:] }
        converters[form] = converter
        return converter
    }

    private func make(
        _ conversion: SampleConversion, _ size: (width: Int, height: Int)
    ) -> (any PictureConverter)? {
        guard conversion.alpha != nil else {
            return FrameConverter(conversion, FrameConverter.Geometry(from: size, to: (width, height)))
        }
        guard let converter = AlphaConverter(conversion, width: width, height: height), size != (width, height)
        else { return AlphaConverter(conversion, width: width, height: height) }
        return ScalingConverter(conversion, from: size, width: width, height: height, next: converter)
    }
}
