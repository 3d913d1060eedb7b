// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Quality over bit rate, drawn as SVG 1.1: a panel for each measure, a line for each encoder, rates on a logarithmic axis.
///
/// Viewers in dark mode show light lines on black.
struct BenchPlot {
    private struct Series {
        /// The class of its lines: where it was coded.
        var kind: String
        var name: String
        /// The number of its color.
        var number: Int
        var points: [(x: Double, y: Double)]
    }

    private static let panel = (width: 360.0, height: 280.0)
    private static let margin = (left: 62.0, top: 46.0, right: 18.0, bottom: 46.0)
    private static let legendLine = 18.0
    /// Colors of lines on white and on black.
    private static let colors = [
        ("#1d4ed8", "#7aa2ff"), ("#c2410c", "#ff9a5c"), ("#15803d", "#5fd38d"), ("#7e22ce", "#c69bff"),
        ("#be185d", "#ff8ac0"), ("#0f766e", "#5fd6c9"), ("#854d0e", "#e0b050"), ("#475569", "#a8b3c4"),
    ]

    private let report: BenchReport
    private let curves: [(kind: String, curve: BenchCurve)]

    init(_ report: BenchReport) {
        self.report = report
        let hardware = Set(report.runs.filter(\.usingHardware).map(\.encoderID))
        curves =
            report.curves.map { (hardware.contains($0.encoderID) ? "hardware" : "software", $0) }
            + [report.reference].compactMap { $0 }.map { ("reference", $0) }
    }

    /// The document.
    var svg: String {
        let panels: [(label: String, digits: Int, series: [Series])] = [
            ("VMAF", 1, series(\.vmaf)), ("PSNR-Y, dB", 1, series(\.psnrY)), ("SSIM", 4, series(\.ssim)),
        ].filter { !$0.2.isEmpty }
        let each = Self.panel.width + Self.margin.left + Self.margin.right
        let width = each * Double(max(1, panels.count))
        let plotHeight = Self.panel.height + Self.margin.top + Self.margin.bottom
        let height = plotHeight + Self.legendLine * Double(curves.count) + 12
        let title =
            "\(report.input.split(separator: "/").last ?? "-"), \(report.width)x\(report.height), "
            + "\(report.frames) frames"
        let drawn = panels.enumerated().map { index, panel in
            draw(panel.label, digits: panel.digits, panel.series, left: each * Double(index) + Self.margin.left)
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.number(width))" height="\(Self.number(height))" \
            font-family="sans-serif" font-size="12">
            <style>\(Self.style)</style>
            <rect class="paper" width="100%" height="100%"/>
            <text x="\(Self.number(width / 2))" y="20" text-anchor="middle" font-size="14">\(Self.escaped(title))</text>
            \(drawn.joined(separator: "\n"))
            \(legend(top: plotHeight))
            </svg>

            """
    }

    /// The colors, which depend on the viewer's color scheme.
    private static var style: String {
        func rules(_ paper: String, _ text: String, _ grid: String, _ color: ((String, String)) -> String) -> String
        {
            let lines = colors.enumerated().map { index, pair in
                ".c\(index){stroke:\(color(pair))}.f\(index){fill:\(color(pair))}"
            }
            return ".paper{fill:\(paper)}text{fill:\(text)}.grid{stroke:\(grid)}" + lines.joined()
        }
        return rules("#fff", "#111", "#ddd") { $0.0 }
            + "@media (prefers-color-scheme: dark){" + rules("#111", "#eee", "#444") { $0.1 } + "}"
    }

    private func series(_ value: (BenchCurve.Point) -> Double?) -> [Series] {
        curves.enumerated().compactMap { index, entry in
            let points = entry.curve.points.compactMap { point in
                value(point).map { (x: point.bitRate / 1000, y: $0) }
            }
            guard !points.isEmpty else { return nil }
            return Series(
                kind: entry.kind, name: entry.curve.name, number: index % Self.colors.count,
                points: points.sorted { $0.x < $1.x })
        }
    }

    /// The names of the encoders, each behind a piece of its line.
    private func legend(top: Double) -> String {
        curves.enumerated().map { index, entry in
            let y = top + Self.legendLine * Double(index)
            let number = index % Self.colors.count
            return "<path class=\"c\(number)\" d=\"M\(Self.number(Self.margin.left)) \(Self.number(y))h24\" "
                + "stroke-width=\"2\"/><text class=\"name\" x=\"\(Self.number(Self.margin.left + 32))\" "
                + "y=\"\(Self.number(y + 4))\">\(Self.escaped(entry.curve.name))</text>"
        }.joined(separator: "\n")
    }

    /// One panel: the axes, a line for each series, and the labels.
    private func draw(_ label: String, digits: Int, _ series: [Series], left: Double) -> String {
        let points = series.flatMap(\.points)
        let bottom = Self.margin.top + Self.panel.height
        let xs = LogScale(points.map(\.x), from: left, to: left + Self.panel.width)
        let ys = Scale(points.map(\.y), from: bottom, to: Self.margin.top)
        var parts = drawAxes(xs, ys, digits: digits, left: left)
        for line in series { parts += draw(line, xs, ys) }
        parts.append(
            "<text x=\"\(Self.number(left + Self.panel.width / 2))\" y=\"\(Self.number(bottom + 36))\" "
                + "text-anchor=\"middle\">kbit/s</text>")
        parts.append(
            "<text x=\"\(Self.number(left))\" y=\"\(Self.number(Self.margin.top - 8))\">\(label)</text>")
        return parts.joined(separator: "\n")
    }

    private func drawAxes(_ xs: LogScale, _ ys: Scale, digits: Int, left: Double) -> [String] {
        let bottom = Self.margin.top + Self.panel.height
        let columns = xs.ticks.map { tick in
            let x = Self.number(xs.place(tick))
            return "<path class=\"grid\" d=\"M\(x) \(Self.number(Self.margin.top))V\(Self.number(bottom))\"/>"
                + "<text x=\"\(x)\" y=\"\(Self.number(bottom + 16))\" text-anchor=\"middle\">"
                + "\(Progress.decimal(tick, 0))</text>"
        }
        let rows = ys.ticks.map { tick in
            let y = Self.number(ys.place(tick))
            return "<path class=\"grid\" d=\"M\(Self.number(left)) \(y)H\(Self.number(left + Self.panel.width))\"/>"
                + "<text x=\"\(Self.number(left - 6))\" y=\"\(y)\" dy=\"4\" "
                + "text-anchor=\"end\">\(Progress.decimal(tick, digits))</text>"
        }
        return columns + rows
    }

    private func draw(_ line: Series, _ xs: LogScale, _ ys: Scale) -> [String] {
        let places = line.points.map { "\(Self.number(xs.place($0.x))),\(Self.number(ys.place($0.y)))" }
        return [
            "<polyline class=\"\(line.kind) c\(line.number)\" points=\"\(places.joined(separator: " "))\" "
                + "fill=\"none\" stroke-width=\"2\"/>"
        ]
            + line.points.map { point in
                "<circle class=\"f\(line.number)\" cx=\"\(Self.number(xs.place(point.x)))\" "
                    + "cy=\"\(Self.number(ys.place(point.y)))\" r=\"3\"/>"
            }
    }

    /// A logarithmic axis with ticks at 1, 2 and 5 times powers of ten, which are its ends.
    private struct LogScale {
        let ticks: [Double]
        private let from: Double
        private let to: Double

        init(_ values: [Double], from: Double, to: Double) {
            (self.from, self.to) = (from, to)
            let low = max(values.min() ?? 1, 1e-3)
            let high = max(values.max() ?? 1, low * 1.01)
            let all = (-3...9).flatMap { power in [1.0, 2, 5].map { $0 * pow(10, Double(power)) } }
            let first = all.lastIndex { $0 <= low } ?? 0
            let last = all.firstIndex { $0 >= high } ?? all.count - 1
            ticks = Array(all[first...max(last, first + 1)])
        }

        func place(_ value: Double) -> Double {
            let (low, high) = (log(ticks[0]), log(ticks[ticks.count - 1]))
            return from + (to - from) * (log(max(value, ticks[0])) - low) / (high - low)
        }
    }

    /// A linear axis with ticks at round numbers.
    private struct Scale {
        let ticks: [Double]
        private let low: Double
        private let high: Double
        private let from: Double
        private let to: Double

        init(_ values: [Double], from: Double, to: Double) {
            self.from = from
            self.to = to
            let least = values.min() ?? 0
            let span = max((values.max() ?? 1) - least, max(abs(least) * 1e-3, 1e-4))
            // A step of 1, 2 or 5 times a power of ten: four to eight ticks.
            var step = 1.0
            while step > span / 4 { step /= 10 }
            while step * 10 <= span / 4 { step *= 10 }
            if step * 5 <= span / 4 { step *= 5 } else if step * 2 <= span / 4 { step *= 2 }
            let first = (least / step).rounded(.down)
            let last = ((least + span) / step).rounded(.up)
            (low, high) = (first * step, last * step)
            ticks = stride(from: first, through: last, by: 1).map { $0 * step }
        }

        func place(_ value: Double) -> Double { from + (to - from) * (value - low) / (high - low) }
    }

    private static func number(_ value: Double) -> String { Progress.decimal(value, 1) }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            // XML 1.0 allows no control characters.
            case _ where scalar.value < 0x20: escaped += " "
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
