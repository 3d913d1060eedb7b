// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

/// Tables of .cube files.
@Suite struct CubeTableTests {
    /// A strong look, with values outside 0…1.
    static func look(_ c: Triple) -> Triple {
        [
            1.1 * pow(c.x, 1.2) - 0.02 + 0.1 * c.y * c.z, 0.95 * pow(c.y, 0.9) + 0.05 * c.x * c.x,
            0.9 * pow(c.z, 1.1) + 0.1 * (1 - c.x) * c.y,
        ]
    }

    /// The text of a three-dimensional table.
    static func text(_ size: Int, _ function: (Triple) -> Triple, head: String = "", end: String = "\n") -> [UInt8]
    {
        var lines = ["TITLE \"a # in a title\"", "# a comment", "LUT_3D_SIZE \(size)"]
        if !head.isEmpty { lines.append(head) }
        for blue in 0..<size {
            for green in 0..<size {
                for red in 0..<size {
                    let value = function(Triple(Double(red), Double(green), Double(blue)) / Double(size - 1))
                    lines.append("\(value.x) \(value.y) \(value.z)")
                }
            }
        }
        return Array((lines.joined(separator: end) + end).utf8)
    }

    static func read(_ text: String) throws -> CubeTable { try CubeTable(text: Array(text.utf8)) }

    @Test("A look of 33 entries on PQ, and identities, keep highlights")
    func highlights() throws {
        let wanted: [Triple] = [
            [0.121376, 0.233197, 0.105010], [0.651761, 0.147482, 0.027619], [0.010400, 0.608015, 0.085716],
            [4.393093, 2.066931, 0.470474], [0.000004, 0.288235, 0.669384],
        ]
        let plan = try EffectTests.plan(
            ["lut:table=0,space=pq"], tables: [CubeTable(text: Self.text(33, Self.look))])
        for (input, wanted) in zip(EffectTests.inputs, wanted) {
            let got = plan.convert(input, alpha: 1).codes
            // The table's values are fp32.
            for channel in 0..<3 { #expect(abs(got[channel] - wanted[channel]) <= 2e-6 * max(1, wanted.max())) }
        }
        for size in [17, 65] {
            let identity = try CubeTable(text: Self.text(size) { $0 })
            for space in ["pq", "acescct"] {
                let plan = try EffectTests.plan(["lut:table=0,space=\(space)"], tables: [identity])
                for light in [4.0, 20, 49] {
                    let got = plan.convert([light, light / 2, 0.5], alpha: 1).codes
                    #expect(abs(got.x - light) <= light * 1e-4, "\(space) \(size): \(got)")
                }
            }
        }
    }

    @Test("Display-coded tables end at 1, unless headroom is scaled")
    func headroom() throws {
        let half = try CubeTable(text: Self.text(2) { $0 * 0.5 })
        func result(_ words: String) throws -> Triple {
            try EffectTests.plan(["lut:table=0,space=linear\(words)"], tables: [half]).convert([4, 2, 0], alpha: 1)
                .codes
        }
        #expect(try result("") == [0.5, 0.5, 0])
        #expect(try result(",headroom=scale") == [2, 1, 0])
    }

    @Test("Domains, which differ between channels")
    func domains() throws {
        let head = "DOMAIN_MIN -0.5 0 0\r\nDOMAIN_MAX 2 1.5 4"
        let table = try CubeTable(
            text: Self.text(5, { ($0 * [2.5, 1.5, 4] + [-0.5, 0, 0]) * 0.5 }, head: head, end: "\r\n"))
        #expect(table.low == [-0.5, 0, 0] && table.high == [2, 1.5, 4])
        let plan = try EffectTests.plan(["lut:table=0,space=linear"], tables: [table])
        let pairs: [(Triple, Triple)] = [
            ([1.5, 1, 3], [0.75, 0.5, 1.5]), ([-0.25, 0.2, 0.1], [-0.125, 0.1, 0.05]), ([3, 3, 5], [1, 0.75, 2]),
        ]
        for (input, wanted) in pairs {
            EffectTests.expect(plan.convert(input, alpha: 1).codes, wanted, "\(input)")
        }
    }

    /// Pixels, and what colour-science 0.4.7 makes of them by tables of `shape`: tetrahedral, and a line for each channel.
    private static let shaped: [(input: Triple, cube: Triple, line: Triple)] = [
        (
            [1.764, 0.1158, 1.1812], [1.62168125, 0.55041875, 0.299837890625],
            [2.229509375, 0.0241046875, 0.230748374496]
        ),
        (
            [1.0546, 1.401, 0.4542], [0.688503125, 1.13436875, 0.8059296875],
            [0.91175796875, 2.7353359375, 0.060069203629]
        ),
        (
            [1.0731, 1.1634, 2.1068], [0.9327890625, 1.3785953125, 1.18996367187],
            [0.938308359375, 1.9501421875, 0.86370217994]
        ),
        (
            [1.3713, 1.3207, 2.0592], [1.28141015625, 1.6344828125, 1.43633632812],
            [1.36627195313, 2.46996953125, 0.810808102319]
        ),
        (
            [1.4873, 0.0828, 2.9551], [1.1661921875, 1.10051796875, 1.1780546875],
            [1.61925617188, -0.005028125, 1.8348218246]
        ),
        (
            [1.4323, 0.0997, 0.5321], [1.05563710937, 0.21085234375, 0.143259765625],
            [1.49795539062, 0.00989140625, 0.0738214591734]
        ),
        (
            [0.4752, 0.4891, 1.1003], [0.228508203125, 0.435490625, 0.2840078125],
            [0.2919103125, 0.445770572917, 0.177300957661]
        ),
        (
            [1.6073, 0.0106, 0.8268], [1.33876796875, 0.29318203125, 0.11946796875],
            [1.88391242187, -0.0687671875, 0.125847001008]
        ),
    ]

    private static func shape(_ c: Triple) -> Triple {
        [
            0.5 * c.x * c.x + 0.125 * c.y * c.z, 0.75 * c.y + 0.25 * c.x * c.z - 0.0625,
            0.125 * c.z * c.z + 0.5 * c.x * c.y,
        ]
    }

    @Test("Tables with domains give the values of colour-science (read_LUT, apply)")
    func colourScience() throws {
        let (low, high): (Triple, Triple) = ([-0.5, 0, 0.125], [2, 1.5, 4])
        let domain = "DOMAIN_MIN -0.5 0 0.125\nDOMAIN_MAX 2 1.5 4\n"
        func row(_ part: Triple) -> String {
            let value = Self.shape(low + (high - low) * part)
            return "\(value.x) \(value.y) \(value.z)\n"
        }
        let steps = (0..<5).map { Double($0) / 4 }
        let line = try Self.read(
            "LUT_1D_SIZE 5\n" + domain + steps.map { row(Triple(repeating: $0)) }.joined())
        var rows = ""
        for blue in steps { for green in steps { for red in steps { rows += row([red, green, blue]) } } }
        let cube = try Self.read("LUT_3D_SIZE 5\n" + domain + rows)
        for (input, wantedCube, wantedLine) in Self.shaped {
            for (table, wanted) in [(cube, wantedCube), (line, wantedLine)] {
                let plan = try EffectTests.plan(["lut:table=0,space=linear"], tables: [table])
                let got = plan.convert(input, alpha: 1).codes
                // The table's values are fp32.
                for channel in 0..<3 { #expect(abs(got[channel] - wanted[channel]) <= 3e-7, "\(input): \(got)") }
            }
        }
    }

    @Test("One-dimensional tables have a curve for each channel")
    func lines() throws {
        let table = try Self.read("LUT_1D_SIZE 3\n0 0 1\n0.25 0.5 0.5\n1 1 0\n")
        let plan = try EffectTests.plan(["lut:table=0,space=linear"], tables: [table])
        EffectTests.expect(plan.convert([0.25, 0.25, 0.75], alpha: 1).codes, [0.125, 0.25, 0.25], "lines")
    }

    /// German numbers for this thread: a locale of the machine, or one that localedef compiles; nil where there is neither.
    private static func german() -> locale_t? {
        if let found = newlocale(1 << LC_NUMERIC, "de_DE.UTF-8", nil) { return found }
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/locale-XXXXXX".utf8CString)
        guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else { return nil }
        defer { _ = system("rm -rf '\(folder)'") }
        guard system("localedef -i de_DE -f UTF-8 '\(folder)/de_DE.UTF-8' >/dev/null 2>&1") == 0 else { return nil }
        setenv("LOCPATH", folder, 1)
        return newlocale(1 << LC_NUMERIC, "de_DE.UTF-8", nil)
    }

    @Test("A locale of German numbers reads the same tables and effects")
    func germanNumbers() async {
        // In a separate process, because setenv(3) is not safe beside threads that read the environment.
        await #expect(processExitsWith: .success) { try CubeTableTests.readGermanNumbers() }
    }

    private static func readGermanNumbers() throws {
        guard let german = german() else {
            print("there is no German locale here, and localedef cannot compile one")
            return
        }
        let before = uselocale(german)
        defer {
            uselocale(before)
            freelocale(german)
        }
        #expect(strtod("0,5", nil) == 0.5, "the locale does not hold")
        let table = try read("LUT_1D_SIZE 2\nDOMAIN_MAX 1.5 1.5 1.5\n0.25 -0.5 1e-1\n1.5 2.75 3.125\n")
        #expect(table.values == [0.25, -0.5, 0.1, 1.5, 2.75, 3.125] && table.high == Triple(repeating: 1.5))
        #expect(throws: SessionError.self) { try read("LUT_1D_SIZE 2\n0,25 0 0\n1 1 1\n") }
        let list = try EffectList(texts: ["exposure:ev=-0.75", "cdl:slope=1.1/1/.9,sat=1.2"], .call)
        #expect(list.effects[0].number("ev") == -0.75)
        #expect(list.effects[1].numbers("slope") == [1.1, 1, 0.9] && list.effects[1].number("sat") == 1.2)
        #expect(throws: SessionError.self) { try EffectList(texts: ["exposure:ev=0.75,5"], .call) }
    }

    @Test(
        "Unusual texts that are read",
        arguments: [
            "\u{FEFF}LUT_1D_SIZE 2\r\n0 0 0\r\n1 1 1\r\n", "lut_1d_size 2\r0 0 0\r1 1 1",
            "# x\nUNKNOWN_WORD 5\nLUT_1D_SIZE 2\n\t+0 0.0 0e0  # black\n1 1 1 and more\n\n\n",
            "LUT_1D_SIZE 2\nLUT_1D_INPUT_RANGE 0 1\n0 0 0\n1 1 1",
        ])
    func unusual(text: String) throws {
        let table = try Self.read(text)
        #expect(table.size == 2 && table.values == [0, 0, 0, 1, 1, 1] && table.low == .zero && table.high == .one)
    }

    @Test(
        "Broken texts are refused with the line",
        arguments: [
            ("", "has no size"), ("0 0 0\n1 1 1\n", "has no size"), ("LUT_1D_SIZE 2\n0 0 0\n", "has 1 rows, not 2"),
            ("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n1 1 1\n", "line 4: there are too many rows"),
            ("LUT_1D_SIZE 2\n0 0 nan\n1 1 1\n", "line 2: '0 0 nan' is not three numbers"),
            ("LUT_1D_SIZE 2\nnan 0 0\n1 1 1\n", "line 2: nan is not a number"),
            ("LUT_1D_SIZE 2\n0 0 1e99\n1 1 1\n", "line 2:"), ("LUT_1D_SIZE 2\n0 0\n1 1 1\n", "line 2:"),
            ("LUT_1D_SIZE 2\n0,5 0 0\n1 1 1\n", "line 2:"), ("LUT_1D_SIZE 2\n0 0 0\nEND\n", "line 3:"),
            ("LUT_1D_SIZE 2\nLUT_3D_SIZE 2\n", "line 2: a second size"),
            ("LUT_3D_SIZE 130\n", "line 1: the size is 130"),
            ("LUT_3D_SIZE 1\n", "line 1: the size is 1"), ("LUT_1D_SIZE 65537\n", "line 1:"),
            ("LUT_1D_SIZE 2\nDOMAIN_MIN 1 1 1\n0 0 0\n1 1 1\n", "domain is empty"),
        ])
    func broken(text: String, reason: String) throws {
        let error = #expect(throws: SessionError.self) { try Self.read(text) }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }
}
