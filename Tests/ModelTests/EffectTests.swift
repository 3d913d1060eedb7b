// SPDX-License-Identifier: MIT
import Glibc
import HWDModel
import Testing

@Suite struct EffectTests {
    @Test("Every effect is read with its defaults, and the texts of calls are read again")
    func texts() throws {
        for text in [
            "exposure:ev=1.5", "saturation:s=0.5", "sepia",
            "cdl:slope=1.1/1/.9,offset=-.03/-.02/.01,sat=1.7,space=pq",
            "vignette:intensity=.8", "curve:points=0/0/.18/.12/1/1", "key:color=1acc33@p3,similarity=.12",
            "background",
        ] {
            let effect = try Effect(text: text, .command)
            #expect(try Effect(text: effect.text(table: nil), .call) == effect, "\(text)")
        }
        let cdl = try Effect(text: "cdl:slope=2,power=1e-1/+1/1.5E0", .call)
        #expect(cdl.numbers("slope") == [2, 2, 2] && cdl.numbers("power") == [0.1, 1, 1.5])
        #expect(cdl.numbers("offset") == [0, 0, 0] && cdl.number("sat") == 1 && cdl.word("space") == "linear")
    }

    @Test("Commas and backslashes of file names are escaped; a call has the number of a table")
    func files() throws {
        let effect = try Effect(text: #"lut:file=a\,b\\c=d.cube,space=pq"#, .command)
        #expect(effect.file == #"a,b\c=d.cube"# && effect.word("space") == "pq")
        #expect(effect.text(table: 3) == "lut:table=3,space=pq")
        #expect(try Effect(text: "lut:table=3,space=pq", .call).table == 3)
        #expect(throws: SessionError.self) { try Effect(text: "lut:table=3", .command) }
        #expect(throws: SessionError.self) { try Effect(text: "lut:file=x", .call) }
    }

    @Test(
        "What is wrong is named",
        arguments: [
            ("", "is not one of exposure"), ("blur", "blur is not one of"),
            ("exposure:ev=11", "ev=11 is not within -10.0…10.0"),
            ("exposure:ev=nan", "ev=nan is not a number"), ("exposure:ev=0x1", "ev=0x1 is not a number"),
            ("exposure:ev=0,5", "'5' is not KEY=VALUE"), ("exposure:ev=1/2", "is not a number"),
            ("exposure:ev=1,ev=2", "ev is given twice"), ("exposure:gain=2", "gain is not one of ev"),
            ("cdl:slope=1/2", "is not one number or three"), ("cdl:power=0/1/1", "is not within"),
            ("cdl:space=rec709", "is not one of linear, srgb"), ("curve", "points is missing"),
            ("curve:points=0/0", "is not 2 to 16 points"), ("curve:points=0/0/0/1", "x does not increase"),
            ("curve:points=0/0/1", "is not 2 to 16 points"), ("key:color=12345", "is not RRGGBB"),
            ("key:color=12345g", "is not RRGGBB"), ("lut:table=16", "is not the number of a table"),
            ("exposure:\u{1b}[31m=1", " [31m is not one of ev"),
        ])
    func wrong(text: String, reason: String) throws {
        let error = #expect(throws: SessionError.self) { try Effect(text: text, .call) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("A despill without a color has that of the key before it, and needs one")
    func despill() throws {
        let list = try EffectList(texts: ["key:color=00ff00", "despill", "despill:color=0000ff"], .call)
        #expect(list.effects.map { $0.color("color")?.green } == [1, 1, 0])
        #expect(list.makesAlpha && list.leavesAlpha)
        #expect(throws: SessionError.self) { try EffectList(texts: ["despill", "key:color=00ff00"], .call) }
        #expect(throws: SessionError.self) {
            try EffectList(texts: Array(repeating: "sepia", count: EffectList.maxCount + 1), .call)
        }
    }

    @Test("The table's own defaults are values that it allows, and every name has a row")
    func table() throws {
        for row in EffectTable.rows {
            let needed = row.parameters.filter { $0.isIn(.call) && $0.isRequired }.map { parameter in
                switch parameter.kind {
                case .color: "color=808080"
                case .points: "points=0/0/1/1"
                default: "\(parameter.name)=0"
                }
            }
            let text = needed.isEmpty ? row.name.rawValue : "\(row.name.rawValue):\(needed.joined(separator: ","))"
            #expect(try Effect(text: text, .call).name == row.name)
        }
    }

    @Test("Effects that clamp highlights with some parameters do not count among those that keep them")
    func highlights() {
        let clamping = EffectTable.rows.filter { !$0.keepsHighlights }.map(\.name)
        #expect(clamping == [.cdl, .lut])
    }

    @Test("Numbers have a point in every locale")
    func locale() throws {
        let before = setlocale(LC_ALL, nil).map { String(cString: $0) }
        defer { _ = setlocale(LC_ALL, before ?? "C") }
        let isGerman = setlocale(LC_ALL, "de_DE.UTF-8") != nil
        if !isGerman { print("there is no German locale here: numbers are read in the locale of the machine") }
        #expect(PlainNumber.read("0.5") == 0.5 && PlainNumber.read("-1.25e-2") == -0.0125)
        #expect(PlainNumber.read("0,5") == nil && PlainNumber.read("") == nil && PlainNumber.read("1e999") == nil)
    }
}
