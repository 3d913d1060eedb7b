// SPDX-License-Identifier: MIT
import HWDModel
import Testing

@Suite("Printable text")
struct PrintableTextTests {
    @Test(
        "Replaces what a terminal acts on",
        arguments: [
            "\u{0}", "\u{7}", "\n", "\u{1b}", "\u{1f}", "\u{7f}", "\u{80}", "\u{9b}", "\u{9f}", "\u{2028}",
            "\u{2029}",
            "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}",
        ])
    func replacesControls(_ control: String) {
        #expect("a\(control)b".printable() == "a b")
        #expect("a\(control)b".printableLines == (control == "\n" ? "a\nb" : "a b"))
    }

    @Test func keepsOtherText() {
        let text = "H.265 — ümläut, 漢字, 😀, עברית \u{a0}\u{200d}"
        #expect(text.printable() == text)
        #expect(text.printableLines == text)
        #expect(text.printableJSON == text)
    }

    @Test func limitsBytes() {
        #expect(String(repeating: "é", count: 9).printable(maxBytes: 5) == "éé…")
        #expect("12345".printable(maxBytes: 5) == "12345")
    }

    @Test func escapesControlsInJSON() {
        #expect("{\n\"a\":\"\u{9b}\u{202e}\u{7f}\"}".printableJSON == "{\n\"a\":\"\\u009b\\u202e\\u007f\"}")
    }
}
