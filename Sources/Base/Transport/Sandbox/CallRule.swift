// SPDX-License-Identifier: MIT

/// What a filter does with a system call.
enum CallRule: Hashable, Sendable {
    /// It runs.
    case allow
    /// It fails with an error number, unreported: harmless attempts of libraries that cope with the failure.
    case refuse(Int32)
    /// It fails with an error number and is reported.
    case forbid(Int32)
    /// It ends the process and is reported.
    case end
}

/// A condition on the arguments of a system call: all of its comparisons hold.
struct ArgumentTest: Hashable, Sendable {
    /// `argument & mask == value`.
    struct Comparison: Hashable, Sendable {
        /// 0 to 5.
        var argument: Int
        var mask: UInt64
        var value: UInt64
    }

    var comparisons: [Comparison]

    private init(_ argument: Int, mask: UInt64, value: UInt64) {
        comparisons = [Comparison(argument: argument, mask: mask, value: value)]
    }

    /// Compares 32 bits: an int, of which the kernel ignores the upper half.
    static func int(_ argument: Int, is value: Int32) -> ArgumentTest {
        ArgumentTest(argument, mask: 0xffff_ffff, value: UInt64(UInt32(bitPattern: value)))
    }

    /// Whether all of some bits are set.
    static func bits(_ argument: Int, _ set: Int32) -> ArgumentTest { bits(argument, of: set, are: set) }

    /// Whether an argument, under a mask, has a value.
    static func bits(_ argument: Int, of mask: Int32, are value: Int32) -> ArgumentTest {
        ArgumentTest(
            argument, mask: UInt64(UInt32(bitPattern: mask)), value: UInt64(UInt32(bitPattern: value)))
    }

    /// Whether a pointer or a length is zero.
    static func isZero(_ argument: Int) -> ArgumentTest { isBelow(argument, bits: 0) }

    /// Whether a length is smaller than 2^`bits`.
    static func isBelow(_ argument: Int, bits: Int) -> ArgumentTest {
        ArgumentTest(argument, mask: .max << UInt64(bits), value: 0)
    }

    /// Whether this condition and another one hold.
    func and(_ other: ArgumentTest) -> ArgumentTest {
        var both = self
        both.comparisons += other.comparisons
        return both
    }
}

/// A system call and what a filter does with it.
struct CallRow: Hashable, Sendable {
    /// The kernel's name (`openat`).
    var name: String
    /// The first test that holds decides.
    var cases: [(test: ArgumentTest, rule: CallRule)]
    /// The rule where no test holds.
    var otherwise: CallRule

    init(_ name: String, _ otherwise: CallRule, _ cases: [(test: ArgumentTest, rule: CallRule)] = []) {
        (self.name, self.cases, self.otherwise) = (name, cases, otherwise)
    }

    static func == (a: CallRow, b: CallRow) -> Bool {
        a.name == b.name && a.otherwise == b.otherwise && a.cases.elementsEqual(b.cases) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
