// SPDX-License-Identifier: MIT

/// Opens a pixel-transfer session; an upgrade call.
public enum CreateTransferSession: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).CreateTransferSession"

    /// What the frames of one side are, in the words of `org.hwdaemon.varlink`; what is nil has a documented default.
    public struct Image: Codable, Hashable, Sendable {
        /// The DRM fourcc.
        public var pixelFormat: String
        /// `709`, `p3`, `2020`, `601-525`, `601-625`.
        public var primaries: String?
        /// `bt1886`, `srgb`, `pq`, `hlg`, …; half floats are linear.
        public var transfer: String?
        /// `601`, `709`, `2020`; of Y'CbCr alone.
        public var matrix: String?
        /// `video`, `full`; of Y'CbCr alone.
        public var range: String?
        /// `left`, `center`, `topleft`, …; of Y'CbCr alone.
        public var siting: String?
        /// `premultiplied`, `straight`.
        public var alpha: String?

        /// Describes frames.
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

        enum CodingKeys: String, CodingKey {
            case primaries, transfer, matrix, range, siting, alpha
            case pixelFormat = "pixel_format"
        }
    }

    /// How it is done; what is nil has a documented default.
    public struct Options: Codable, Hashable, Sendable {
        /// Nits of the linear value 1.0.
        public var referenceWhite: Double?
        /// Nits of the display that HLG is shown on.
        public var hlgPeak: Double?
        /// `clip`, `extend`.
        public var overRange: String?
        /// `box`, `siting`.
        public var chromaDownsampling: String?
        /// Whether 8-bit targets of deeper sources are dithered.
        public var dither: Bool?
        /// Light over reference white that the target shows: brighter content is mapped (BT.2390).
        public var targetHeadroom: Double?
        /// Nits of the brightest content, for that mapping.
        public var masteringPeak: Double?
        /// Factor of light, in stops.
        public var exposure: Double?
        /// 0 grey, 1 as it is.
        public var saturation: Double?
        /// 0…1.
        public var sepia: Double?

        /// No options: every default.
        public init() {}

        enum CodingKeys: String, CodingKey {
            case dither, exposure, saturation, sepia
            case referenceWhite = "reference_white"
            case hlgPeak = "hlg_peak"
            case overRange = "over_range"
            case chromaDownsampling = "chroma_downsampling"
            case targetHeadroom = "target_headroom"
            case masteringPeak = "mastering_peak"
        }
    }

    /// What is fixed for the session's life.
    public struct Parameters: Codable, Sendable {
        /// Samples a row.
        public var width: Int
        /// Rows.
        public var height: Int
        /// What comes in; a frame may bring its own colour.
        public var source: Image
        /// What goes out.
        public var target: Image
        /// How.
        public var options: Options?
        /// `auto`, `vulkan`, `cpu`, or a GPU's PCI address.
        public var device: String?

        /// Asks for a session.
        public init(
            width: Int, height: Int, source: Image, target: Image, options: Options? = nil, device: String? = nil
        ) {
            self.width = width
            self.height = height
            self.source = source
            self.target = target
            self.options = options
            self.device = device
        }
    }

    /// What the session turned out to be.
    public struct Reply: Codable, Sendable {
        /// The id, for `GetSessionResult`.
        public var session: String
        /// What converts, in words.
        public var device: String
        /// Why it is that one.
        public var deviceReason: String?
        /// Whether that is a GPU.
        public var usingGPU: Bool
        /// Why it is not, when it was allowed.
        public var fallbackReason: String?
        /// Frames sent and not answered, at most.
        public var maxFramesInFlight: Int

        /// Answers a session.
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
