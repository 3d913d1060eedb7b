// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDLibAVReading
internal import HWDMetadata
public import HWDModel

/// A decoded picture that is compared; valid until the next one of its file is read.
public struct ComparedPicture {
    /// Presentation time in seconds.
    public var time: Double
    /// Seconds until the picture ends; 0 when not known.
    public var duration: Double
    /// The samples.
    public var view: PictureView
    /// The color of the samples, as the file or, where it changes within the stream, the stream describes it.
    public var color: ColorDescription
    /// How colors relate to alpha; nil without alpha.
    public var alphaMode: AlphaChannelMode?

    /// A picture of a file.
    public init(
        time: Double, duration: Double, view: PictureView, color: ColorDescription, alphaMode: AlphaChannelMode?
    ) {
        (self.time, self.duration, self.view) = (time, duration, view)
        (self.color, self.alphaMode) = (color, alphaMode)
    }
}

/// The decoded pictures of a file in presentation order.
public protocol ComparedPictures: AnyObject {
    /// The next picture; nil at the end.
    func next() throws -> ComparedPicture?
    /// The first error of reading and decoding so far, in one line; nil without any.
    var damage: String? { get }
    /// The end of the file's last picture in seconds, where temporal levels are left out; nil elsewhere.
    var wholeEnd: Double? { get }
    /// Pictures of another size than the first that were scaled to it so far.
    var scaledPictures: Int { get }
    /// The end of what an edit list shows, in seconds; nil without one.
    var shownEnd: Double? { get }
}

/// Compares the decoded pictures of two files in pairs, one pair at a time.
struct PictureComparison {
    /// How pairs are found and compared.
    struct Rules {
        /// The seconds by which the output is later.
        var offset = 0.0
        /// The largest difference of the times of one picture.
        var tolerance = 0.02
        /// The difference of times that a container's rounding makes.
        var rounding = 0.0
        /// Which of the files stores no times, so that pictures are paired by their numbers.
        var countsPictures: Bool { isInputUntimed || isOutputUntimed }
        var isInputUntimed = false
        var isOutputUntimed = false
        /// Whether the output's samples cannot be compared with the input's: its colors or its size were converted.
        var isConverted = false
    }

    private let rules: Rules
    private(set) var pairs = 0
    private(set) var quality = PictureQuality()
    /// The lowest PSNR of Y' of a picture.
    private(set) var worst: (psnr: Double, time: Double)?
    private(set) var order = PictureOrder()
    /// Pictures of the input that the output does not have, and the first of their times.
    private(set) var missing: (count: Int, times: [Double]) = (0, [])
    /// Pictures of the output that the input does not have; whether each repeats the one before it.
    private(set) var added: (count: Int, list: [(time: Double, isRepeated: Bool)]) = (0, [])
    /// The largest difference of times after `offset`, and where it is.
    private(set) var timing: (difference: Double, time: Double) = (0, 0)
    /// The ends of the last pictures in seconds.
    private(set) var ends: (input: Double, output: Double) = (0, 0)
    private(set) var counts: (input: Int, output: Int) = (0, 0)
    private(set) var alpha = AlphaExtent()
    /// Pictures whose color was converted.
    private(set) var colors = ConvertedColors()
    private(set) var contrast = ContrastComparison()
    /// Whether colors were left out because they relate to alpha differently.
    private(set) var differsInAlphaMode = false
    private var lastOutput: PictureSignature?
    private var grid: (columns: Int, rows: Int)?

    init(_ rules: Rules) { self.rules = rules }

    /// Reads and compares all pictures.
    mutating func run(_ input: any ComparedPictures, _ output: any ComparedPictures) throws {
        var (old, new) = (try next(input, isInput: true), try next(output, isInput: false))
        while old != nil || new != nil {
            guard let first = old else {
                while let second = new {
                    add(second)
                    new = try next(output, isInput: false)
                }
                break
            }
            guard let second = new else {
                miss(first)
                old = try next(input, isInput: true)
                continue
            }
            let difference = rules.countsPictures ? 0 : second.time - rules.offset - first.time
            if abs(difference) <= rules.tolerance {
                if abs(difference) > timing.difference { timing = (abs(difference), first.time) }
                try compare(first, second)
                (old, new) = (try next(input, isInput: true), try next(output, isInput: false))
            } else if difference > 0 {
                miss(first)
                old = try next(input, isInput: true)
            } else {
                add(second)
                new = try next(output, isInput: false)
            }
        }
        order.finish()
        // The pictures that are left are shown for longer than the file's durations.
        ends.input = input.wholeEnd ?? ends.input
        // libavformat gives the last sample a duration of its own where pictures are reordered.
        ends.input = min(ends.input, input.shownEnd ?? .infinity)
        ends.output = min(ends.output, output.shownEnd ?? .infinity)
    }

    private mutating func next(_ pictures: any ComparedPictures, isInput: Bool) throws -> ComparedPicture? {
        guard let picture = try pictures.next() else { return nil }
        let end = picture.time + picture.duration
        if isInput {
            counts.input += 1
            ends.input = max(ends.input, end)
        } else {
            counts.output += 1
            ends.output = max(ends.output, end)
        }
        return picture
    }

    private mutating func miss(_ picture: ComparedPicture) {
        missing.count += 1
        if missing.times.count < ReceiptItem.maxDetails { missing.times.append(picture.time) }
    }

    private mutating func add(_ picture: ComparedPicture) {
        let signature = grid.map { PictureSignature(Self.planes(picture), $0) }
        let isRepeated = signature.flatMap { lastOutput?.distance(to: $0) }.map { $0 < 1 } ?? false
        added.count += 1
        if added.list.count < ReceiptItem.maxDetails { added.list.append((picture.time, isRepeated)) }
        lastOutput = signature ?? lastOutput
    }

    private static func planes(_ picture: ComparedPicture) -> [PicturePlane] {
        (0..<PictureQuality.maxComponents).compactMap { PicturePlane($0, of: picture.view) }
    }

    private mutating func compare(_ first: ComparedPicture, _ second: ComparedPicture) throws(MediaError) {
        let (old, new) = (Self.planes(first), Self.planes(second))
        guard let luma = old.first, let coded = new.first else { return }
        let grid =
            self.grid
            ?? PictureSignature.grid(width: min(luma.width, coded.width), height: min(luma.height, coded.height))
        self.grid = grid
        pairs += 1
        let isSameMode = first.alphaMode == second.alphaMode || first.alphaMode == nil || second.alphaMode == nil
        if !isSameMode { differsInAlphaMode = true }
        let isConverted = colors.add(first.time, first.color, second.color) || rules.isConverted
        // Colors that are multiplied by alpha in one file alone are others, and straight ones that were scaled are lost where
        // alpha is 0; alpha shows which picture it is.
        let isScaledStraight = rules.isConverted && old.count > 3 && second.alphaMode == .straight
        let hasColors = isSameMode && !isScaledStraight
        let signatures = [old, new].map { PictureSignature(hasColors ? $0 : Array($0.dropFirst(3)), grid) }
        order.add(first.time, input: signatures[0], output: signatures[1], isConverted: isConverted)
        lastOutput = signatures[1]
        if hasColors { contrast.add(signatures[0], signatures[1], isConverted: isConverted) }
        if hasColors, isConverted { colors.addSamples(signatures[0], signatures[1], first.color, second.color) }
        if old.count > 3, new.count > 3 { alpha.add(old[3], new[3], grid) }
        guard !isConverted, isSameMode else { return }
        if let psnr = try quality.add(Array(zip(old, new))), psnr < worst?.psnr ?? .infinity {
            worst = (psnr, first.time)
        }
    }
}

/// The transparency of two files' pictures, by the means of cells.
struct AlphaExtent {
    /// Pictures that were added.
    private(set) var pictures = 0
    /// The lowest mean of a cell, in units of an 8-bit sample.
    private(set) var lowest: (input: Float, output: Float) = (255, 255)
    /// The largest difference of the means of a cell.
    private(set) var difference: Float = 0

    mutating func add(_ input: PicturePlane, _ output: PicturePlane, _ grid: (columns: Int, rows: Int)) {
        pictures += 1
        let old = input.cellMeans(columns: grid.columns, rows: grid.rows)
        let new = output.cellMeans(columns: grid.columns, rows: grid.rows)
        lowest.input = min(lowest.input, old.min() ?? 255)
        lowest.output = min(lowest.output, new.min() ?? 255)
        difference = zip(old, new).reduce(difference) { max($0, abs($1.0 - $1.1)) }
    }
}
