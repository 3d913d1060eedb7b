// SPDX-License-Identifier: GPL-2.0-or-later

/// What became of one thing that a file holds.
public enum ReceiptVerdict: String, Hashable, Sendable, Encodable {
    /// The output has the same.
    case kept
    /// The output has it in another form, which shows the same or was requested.
    case changed
    /// The output lacks it, or has something else in its place.
    case lost
}

/// One line of a receipt.
public struct ReceiptItem: Hashable, Sendable, Encodable {
    /// The name, which `--asked` takes.
    public var name: String
    /// What became of it.
    public var verdict: ReceiptVerdict
    /// One sentence without a full stop.
    public var sentence: String
    /// Why a loss is expected; nil for a loss that was not asked for, and without a loss.
    public var expected: String?
    /// Times and values of single differences, one line each; at most `maxDetails`.
    public var details: [String] = []
    /// Streams of this kind count from 1; nil for what a file has once.
    public var number: Int?

    /// The most details of an item.
    public static let maxDetails = 20

    /// Whether it is a loss that was not asked for.
    public var isFault: Bool { verdict == .lost && expected == nil }

    init(_ name: String, _ verdict: ReceiptVerdict, _ sentence: String, details: [String] = [], number: Int? = nil)
    {
        (self.name, self.verdict, self.sentence, self.number) = (name, verdict, sentence, number)
        self.details = Array(details.prefix(Self.maxDetails))
    }
}

/// The comparison of an output with the input that it was made from.
public struct Receipt: Hashable, Sendable, Encodable {
    /// PSNR in dB and SSIM; a PSNR is nil for equal planes.
    public struct Quality: Hashable, Sendable, Encodable {
        /// Pictures that were compared.
        public var pictures: Int
        /// Whether all of them are equal.
        public var isExact: Bool
        public var psnrY, psnrCb, psnrCr, psnrAlpha: Double?
        public var ssimY, ssimCb, ssimCr, ssimAlpha: Double?
        /// The lowest PSNR of Y' of a picture, and the picture's time in seconds.
        public var worstPSNRY, worstTime: Double?

        enum CodingKeys: String, CodingKey {
            case pictures
            case isExact = "exact"
            case psnrY = "psnr_y"
            case psnrCb = "psnr_cb"
            case psnrCr = "psnr_cr"
            case psnrAlpha = "psnr_alpha"
            case ssimY = "ssim_y"
            case ssimCb = "ssim_cb"
            case ssimCr = "ssim_cr"
            case ssimAlpha = "ssim_alpha"
            case worstPSNRY = "worst_psnr_y"
            case worstTime = "worst_time"
        }
    }

    /// The version of the JSON form.
    public private(set) var schema = 1
    /// The paths of the two files.
    public var input: String
    public var output: String
    /// The number of losses that were not asked for.
    public var faults: Int { items.count { $0.isFault } }
    /// What was requested.
    public var asked: [String]
    /// What the files hold, in the order of the text.
    public internal(set) var items: [ReceiptItem] = []
    /// The pictures; nil where they were not compared.
    public internal(set) var quality: Quality?

    enum CodingKeys: String, CodingKey { case schema, input, output, faults, asked, items, quality }

    init(input: String, output: String, asked: AskedChanges) {
        (self.input, self.output, self.asked) = (input, output, asked.texts)
    }

    /// The receipt as it is encoded, with `faults`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(schema, forKey: .schema)
        try container.encode(input, forKey: .input)
        try container.encode(output, forKey: .output)
        try container.encode(faults, forKey: .faults)
        try container.encode(asked, forKey: .asked)
        try container.encode(items, forKey: .items)
        try container.encodeIfPresent(quality, forKey: .quality)
    }
}
