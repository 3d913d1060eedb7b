// SPDX-License-Identifier: MIT
internal import HWDModel

/// Opens a pixel-transfer session; an upgrade call.
public enum CreateTransferSession: ControlMethod {
    public static let method = "\(Interface.name).CreateTransferSession"

    /// The frames of one side, by the names of org.hwdaemon.varlink, which documents the defaults of absent fields.
    public struct Image: Codable, Hashable, Sendable {
        /// The DRM fourcc.
        public var pixelFormat: String
        /// `709`, `p3`, `2020`, `601-525`, `601-625`.
        public var primaries: String?
        /// `bt1886`, `srgb`, `pq`, `hlg`, …; half floats are always linear.
        public var transfer: String?
        /// `601`, `709`, `2020`; Y'CbCr only.
        public var matrix: String?
        /// `video`, `full`; Y'CbCr only.
        public var range: String?
        /// `left`, `center`, `topleft`, …; Y'CbCr only.
        public var siting: String?
        /// `premultiplied`, `straight`.
        public var alpha: String?

        public init(
            pixelFormat: String, primaries: String? = nil, transfer: String? = nil, matrix: String? = nil,
            range: String? = nil, siting: String? = nil, alpha: String? = nil
        ) {
            self.pixelFormat = pixelFormat
            self.primaries = primaries
            self.transfer = transfer
            self.matrix = matrix
            self.range = range
            self.siting = siting
            self.alpha = alpha
        }

        /// The first member that is set and does not apply to the pixel format; nil where all apply.
        public var inapplicableMember: String? {
            guard let format = PixelFormat(rawValue: pixelFormat) else { return nil }
            var members: [(key: CodingKeys, value: String?)] = []
            if format.isRGB { members += [(.matrix, matrix), (.range, range), (.siting, siting)] }
            if !format.hasAlpha { members.append((.alpha, alpha)) }
            return members.first { $0.value != nil }?.key.rawValue
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case primaries, transfer, matrix, range, siting, alpha
            case pixelFormat = "pixel_format"
        }
    }

    /// Parameters of the conversion; org.hwdaemon.varlink documents the defaults of absent fields.
    public struct Options: Codable, Hashable, Sendable {
        /// Luminance of the linear value 1.0, in cd/m².
        public var referenceWhite: Double?
        /// Peak luminance of the display that HLG is rendered for, in cd/m².
        public var hlgPeak: Double?
        /// `clip`, `extend`.
        public var overRange: String?
        /// `box`, `siting`.
        public var chromaDownsampling: String?
        /// Whether 8-bit targets of deeper sources are dithered.
        public var dither: Bool?
        /// The target's peak in multiples of reference white; brighter content is tone-mapped (BT.2390).
        public var targetHeadroom: Double?
        /// The content's peak for that mapping, in cd/m².
        public var masteringPeak: Double?
        /// Exposure change in stops.
        public var exposure: Double?
        /// 0 is gray, 1 leaves colors unchanged.
        public var saturation: Double?
        /// Strength of a sepia effect on light, 0…1.
        public var sepia: Double?
        /// Effects in the order of application, in the grammar of `Effect`; not with the three members before.
        public var effects: [String]?
        /// Tables of effects: the texts of .cube files, which effects name by their numbers, from 0 on.
        public var tables: [String]?
        /// How many further tables are added to the session before its first frame; their numbers follow those of `tables`.
        public var addedTables: Int?
        /// `lanczos`, `bilinear`.
        public var scalingFilter: String?
        /// `coded`, `linear`: the values that are filtered.
        public var scalingLight: String?
        /// `Normal`, `CropSourceToCleanAperture`, `Letterbox`, `Trim`.
        public var scalingMode: String?
        /// The source's clean aperture, `WxH+X+Y`.
        public var cleanAperture: String?
        /// Whether the target's columns are in reverse order.
        public var flipHorizontal: Bool?
        /// Whether the target's rows are in reverse order.
        public var flipVertical: Bool?

        public init() {}

        enum CodingKeys: String, CodingKey, CaseIterable {
            case dither, exposure, saturation, sepia, effects, tables
            case addedTables = "added_tables"
            case referenceWhite = "reference_white"
            case hlgPeak = "hlg_peak"
            case overRange = "over_range"
            case chromaDownsampling = "chroma_downsampling"
            case targetHeadroom = "target_headroom"
            case masteringPeak = "mastering_peak"
            case scalingFilter = "scaling_filter"
            case scalingLight = "scaling_light"
            case scalingMode = "scaling_mode"
            case cleanAperture = "clean_aperture"
            case flipHorizontal = "flip_horizontal"
            case flipVertical = "flip_vertical"
        }
    }

    public struct Parameters: Codable, Sendable {
        /// Width of the source in samples.
        public var width: Int
        /// Height of the source in samples.
        public var height: Int
        /// Width of the target; the source's if absent.
        public var targetWidth: Int?
        /// Height of the target; the source's if absent.
        public var targetHeight: Int?
        /// The frames to convert; each may carry its own color.
        public var source: Image
        /// The converted frames.
        public var target: Image
        public var options: Options?
        /// `auto`, `vulkan`, `cpu`, or a GPU's PCI address.
        public var device: String?
        /// The number of frames that will be converted, where it is known.
        public var frames: Int?
        /// The session whose process failed, and which this one continues.
        public var resumes: String?
        /// Milliseconds to wait for a slot at most where a limit is reached; nil is refused at once.
        public var maxWaitMs: Int?

        public init(
            width: Int, height: Int, targetWidth: Int? = nil, targetHeight: Int? = nil, source: Image,
            target: Image, options: Options? = nil, device: String? = nil
        ) {
            self.width = width
            self.height = height
            self.targetWidth = targetWidth
            self.targetHeight = targetHeight
            self.source = source
            self.target = target
            self.options = options
            self.device = device
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case width, height, source, target, options, device, frames, resumes
            case targetWidth = "target_width"
            case targetHeight = "target_height"
            case maxWaitMs = "max_wait_ms"
        }
    }

    public struct Reply: Codable, Sendable {
        /// The id, which `GetSessionResult` takes.
        public var session: String
        /// The converting device's name.
        public var device: String
        /// Why that device was chosen.
        public var deviceReason: String?
        public var usingGPU: Bool
        /// Why it is no GPU, where one was allowed.
        public var fallbackReason: String?
        /// The limit of frames that the client has sent and the worker not answered.
        public var maxFramesInFlight: Int

        public init(
            session: String, device: String, deviceReason: String? = nil, usingGPU: Bool,
            fallbackReason: String?, maxFramesInFlight: Int
        ) {
            self.session = session
            self.device = device
            self.deviceReason = deviceReason
            self.usingGPU = usingGPU
            self.fallbackReason = fallbackReason
            self.maxFramesInFlight = maxFramesInFlight
        }

        enum CodingKeys: String, CodingKey {
            case session, device
            case deviceReason = "device_reason"
            case usingGPU = "using_gpu"
            case fallbackReason = "fallback_reason"
            case maxFramesInFlight = "max_frames_in_flight"
        }
    }
}
