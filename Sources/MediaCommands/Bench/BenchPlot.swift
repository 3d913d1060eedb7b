// SPDX-License-Identifier: GPL-2.0-or-later

/// Quality against bit rate, drawn as SVG 1.1: PSNR and SSIM side by side, a line for each encoder.
struct BenchPlot {
    private struct Series {
        var name: String
        var color: String
        var points: [(x: Double, y: Double)]
    }

    private static let panel = (width: 360.0, height: 280.0)
    private static let margin = (left: 62.0, top: 46.0, right: 18.0, bottom: 46.0)

    private let report: BenchReport

    init(_ report: BenchReport) { self.report = report }

    /// The document.
    var svg: String {
        let width = 2 * (Self.panel.width + Self.margin.left + Self.margin.right)
        let height = Self.panel.height + Self.margin.top + Self.margin.bottom
        let title =
            "\(report.input.split(separator: "/").last ?? "-"), \(report.width)x\(report.height), "
            + "\(report.frames) frames"
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.number(width))" height="\(Self.number(height))" \
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            <text x="\(Self.number(width / 2))" y="20" text-anchor="middle" font-size="14">\(Self.escaped(title))</text>
            \(draw("PSNR, dB", digits: 1, series { $0.psnr }, left: Self.margin.left))
            \(draw("SSIM", digits: 4, series { $0.ssim }, left: width / 2 + Self.margin.left))
            </svg>

            """
    }

    private func series(_ value: (BenchReport.Row) -> Double?) -> [Series] {
        [("hardware", "#c2410c", true), ("software", "#1d4ed8", false)].compactMap { name, color, isHardware in
            let points = report.runs.compactMap { run -> (x: Double, y: Double)? in
                guard run.usingHardware == isHardware, let rate = run.bitRate, let y = value(run) else {
                    return nil
                }
                return (rate / 1000, y)
            }
            return points.isEmpty ? nil : Series(name: name, color: color, points: points.sorted { $0.x < $1.x })
        }
    }

    /// One panel: the axes, a line for each series, and the labels.
    private func draw(_ label: String, digits: Int, _ series: [Series], left: Double) -> String {
        let points = series.flatMap(\.points)
        let bottom = Self.margin.top + Self.panel.height
        let xs = Scale(points.map(\.x) + [0], from: left, to: left + Self.panel.width)
        let ys = Scale(points.map(\.y), from: bottom, to: Self.margin.top)
        var parts = drawAxes(xs, ys, digits: digits, left: left)
        for (index, line) in series.enumerated() {
            parts += draw(line, xs, ys)
            let y = bottom - 12 - 16 * Double(series.count - 1 - index)
            parts.append(
                "<text x=\"\(Self.number(left + Self.panel.width - 8))\" y=\"\(Self.number(y))\" "
                    + "text-anchor=\"end\" fill=\"\(line.color)\">\(line.name)</text>")
        }
        parts.append(
            "<text x=\"\(Self.number(left + Self.panel.width / 2))\" y=\"\(Self.number(bottom + 36))\" "
                + "text-anchor=\"middle\">kbit/s</text>")
        parts.append(
            "<text x=\"\(Self.number(left))\" y=\"\(Self.number(Self.margin.top - 8))\">\(label)</text>")
        return parts.joined(separator: "\n")
    }

    private func drawAxes(_ xs: Scale, _ ys: Scale, digits: Int, left: Double) -> [String] {
        let bottom = Self.margin.top + Self.panel.height
        let columns = xs.ticks.map { tick in
            let x = Self.number(xs.place(tick))
            return "<path d=\"M\(x) \(Self.number(Self.margin.top))V\(Self.number(bottom))\" stroke=\"#ddd\"/>"
                + "<text x=\"\(x)\" y=\"\(Self.number(bottom + 16))\" text-anchor=\"middle\">"
                + "\(Progress.decimal(tick, 0))</text>"
        }
        let rows = ys.ticks.map { tick in
            let y = Self.number(ys.place(tick))
            return "<path d=\"M\(Self.number(left)) \(y)H\(Self.number(left + Self.panel.width))\" "
                + "stroke=\"#ddd\"/><text x=\"\(Self.number(left - 6))\" y=\"\(y)\" dy=\"4\" "
                + "text-anchor=\"end\">\(Progress.decimal(tick, digits))</text>"
        }
        return columns + rows
    }

    private func draw(_ line: Series, _ xs: Scale, _ ys: Scale) -> [String] {
        let places = line.points.map { "\(Self.number(xs.place($0.x))),\(Self.number(ys.place($0.y)))" }
        return [
            "<polyline class=\"\(line.name)\" points=\"\(places.joined(separator: " "))\" fill=\"none\" "
                + "stroke=\"\(line.color)\" stroke-width=\"2\"/>"
        ]
            + line.points.map { point in
                "<circle cx=\"\(Self.number(xs.place(point.x)))\" cy=\"\(Self.number(ys.place(point.y)))\" "
                    + "r=\"3\" fill=\"\(line.color)\"/>"
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
