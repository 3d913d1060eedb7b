// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The parsed `X265Params` property: x265 options in their order.
///
/// Only listed options pass: those known to be harmless and not set by the session. So an option of a later x265, which
/// may name a file, is refused until it has been reviewed.
public struct X265Options: Hashable, Sendable {
    public struct Option: Hashable, Sendable {
        /// x265's name, possibly with the prefix `no-`.
        public let name: String
        /// Nil for a switch.
        public let value: String?

        /// The name without `no-`.
        var plainName: String { name.hasPrefix("no-") ? String(name.dropFirst(3)) : name }
    }

    /// Later options override earlier ones.
    public let options: [Option]

    /// Parses `key=value:key:no-key`.
    ///
    /// - Throws: `Parameter`, naming the refused option and the reason.
    public init(parsing text: String) throws(SessionError) {
        var options: [Option] = []
        for part in text.split(separator: ":") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0].map { $0 == "_" ? "-" : $0 })
            let value = pair.count == 2 ? String(pair[1]) : nil
            let plain = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
            if let reason = Self.owned[plain] {
                throw SessionError(.parameter, "X265Params: \(name) is refused: \(reason)")
            }
            guard Self.allowed.contains(plain) else {
                throw SessionError(
                    .parameter, "X265Params: \(name) is refused: it is not an option that can be passed to x265")
            }
            if plain == "scaling-list", !["off", "default"].contains(value ?? "") {
                throw SessionError(
                    .parameter, "X265Params: scaling-list is neither off nor default; it cannot name a file")
            }
            options.append(Option(name: name, value: value))
        }
        self.options = options
    }

    /// Checks that no option asks for more threads than there are processors.
    ///
    /// - Throws: `Parameter`, naming the option.
    public func checkThreadCounts(processors: Int) throws(SessionError) {
        for option in options where ["frame-threads", "lookahead-threads", "pools"].contains(option.name) {
            let counts = (option.value ?? "").split(separator: ",").compactMap { Int($0) }
            guard counts.allSatisfy({ $0 <= processors }) else {
                throw SessionError(
                    .parameter,
                    "X265Params: \(option.name) is \(option.value ?? ""), but there are \(processors) processors")
            }
        }
    }

    /// The first option that selects the rate control.
    public var rateOption: String? {
        options.first { ["crf", "bitrate", "qp", "lossless"].contains($0.name) }?.name
    }

    /// The first option that affects the picture structure.
    public var structuralOption: String? {
        options.first { Self.structural.contains($0.plainName) }?.name
    }

    private static let structural: Set<String> = [
        "b-adapt", "b-pyramid", "bframe-bias", "bframes", "fades", "gop-lookahead", "hist-scenecut", "hrd",
        "intra-refresh", "keyint", "log2-max-poc-lsb", "min-keyint", "open-gop", "radl", "rc-lookahead", "ref",
        "scenecut", "vui-hrd-info", "zones",
    ]

    private static let owned: [String: String] = [
        "annexb": "the session sets the framing of NAL units",
        "aud": "the session sets the access unit structure",
        "chromaloc": "set ChromaSampleLocType",
        "colormatrix": "set YCbCrMatrix",
        "colorprim": "set ColorPrimaries",
        "crop-rect": "the session sets the conformance window",
        "display-window": "the session sets the conformance window",
        "field": "the session codes frames, not fields",
        "fps": "set ExpectedFrameRate",
        "frame-dup": "the session neither drops nor repeats frames",
        "input-csp": "Create fixes the pixel format",
        "input-depth": "Create fixes the pixel format",
        "input-res": "Create fixes the size",
        "interlace": "the session codes frames, not fields",
        "level-idc": "set ProfileLevel",
        "output-depth": "set ProfileLevel",
        "pic-struct": "the session codes frames, not fields",
        "preset": "set X265Preset",
        "profile": "set ProfileLevel",
        "range": "set FullRangeVideo",
        "repeat-headers": "parameter sets are in the format description",
        "temporal-layers": "the session sets the temporal structure",
        "transfer": "set TransferFunction",
        "tune": "set RealTime, or the options of the tune",
    ]

    private static let allowed: Set<String> = [
        "allow-non-conformance", "amp", "analyze-src-pics", "aq-mode", "aq-motion", "aq-strength", "asm", "atc-sei",
        "b-adapt", "b-intra", "b-pyramid", "bframe-bias", "bframes", "bitrate", "cbqpoffs", "cll", "const-vbv",
        "constrained-intra", "copy-pic", "cplxblur", "crf", "crf-max", "crf-min", "crqpoffs", "ctu", "cu-lossless",
        "cutree", "deblock", "dynamic-rd", "early-skip", "fades", "fast-intra", "frame-threads", "gop-lookahead",
        "hash", "hdr", "hdr-opt", "hdr10", "hdr10-opt", "hevc-aq", "high-tier", "hist-scenecut", "hist-threshold",
        "hme", "hme-range", "hme-search", "hrd", "hrd-concat", "idr-recovery-sei", "info", "intra-refresh",
        "ipratio", "keyint", "limit-modes", "limit-refs", "limit-sao", "limit-tu", "log2-max-poc-lsb",
        "lookahead-slices", "lookahead-threads", "lossless", "lowpass-dct", "masking-strength", "master-display",
        "max-ausize-factor", "max-cll", "max-luma", "max-merge", "max-tu-size", "max-vbv-fullness", "me", "merange",
        "min-cu-size", "min-keyint", "min-luma", "min-vbv-fullness", "nr-inter", "nr-intra", "open-gop",
        "opt-cu-delta-qp", "opt-qp-pps", "opt-ref-list-length-pps", "overscan", "pbratio", "pme", "pmode", "pools",
        "psnr", "psy-rd", "psy-rdoq", "qblur", "qcomp", "qg-size", "qp", "qp-adaptation-range", "qpmax", "qpmin",
        "qpstep", "radl", "rc-grain", "rc-lookahead", "rd", "rdoq-level", "rdpenalty", "rect", "ref", "rskip",
        "rskip-edge-threshold", "sao", "sao-non-deblock", "sar", "scaling-list", "scenecut", "scenecut-aware-qp",
        "scenecut-bias", "scenecut-window", "selective-sao", "signhide", "slices", "splitrd-skip", "ssim",
        "ssim-rd",
        "strict-cbr", "strong-intra-smoothing", "subme", "temporal-mvp", "tskip", "tskip-fast", "tu-inter-depth",
        "tu-intra-depth", "vbv-bufsize", "vbv-end", "vbv-end-fr-adj", "vbv-init", "vbv-maxrate", "videoformat",
        "vui-hrd-info", "vui-timing-info", "weightb", "weightp", "wpp", "zones",
    ]
}
