// SPDX-License-Identifier: MIT

/// A classic BPF program that applies a table to `struct seccomp_data` (seccomp(2)).
struct FilterProgram: Hashable, Sendable {
    /// One instruction (linux/filter.h).
    struct Instruction: Hashable, Sendable {
        var code: UInt16
        var jumpTrue: UInt8 = 0
        var jumpFalse: UInt8 = 0
        var operand: UInt32
    }

    /// Codes of instructions (linux/bpf_common.h).
    enum Code {
        /// Loads a word at an absolute offset: BPF_LD | BPF_W | BPF_ABS.
        static let load: UInt16 = 0x20
        /// BPF_ALU | BPF_AND | BPF_K.
        static let and: UInt16 = 0x54
        /// BPF_JMP | BPF_JEQ | BPF_K.
        static let jumpIfEqual: UInt16 = 0x15
        /// BPF_JMP | BPF_JGE | BPF_K.
        static let jumpIfAtLeast: UInt16 = 0x35
        /// BPF_RET | BPF_K.
        static let answer: UInt16 = 0x06
    }

    /// Answers of a filter (linux/seccomp.h); the lower 16 bits are data.
    enum Answer {
        static let killProcess: UInt32 = 0x8000_0000
        static let trap: UInt32 = 0x0003_0000
        static let errno: UInt32 = 0x0005_0000
        static let log: UInt32 = 0x7ffc_0000
        static let allow: UInt32 = 0x7fff_0000
        /// In a trap's data: the call ends the process (`CHWD_TRAP_ENDS`).
        static let ends: UInt32 = 0x8000
    }

    private(set) var instructions: [Instruction] = []

    /// Builds the program.
    ///
    /// - Parameters:
    ///   - architecture: the audit architecture; calls of any other end the process.
    ///   - number: the number of a call by its name; rows without one are left out.
    ///   - onlyReports: every call runs, and the kernel logs those that are forbidden.
    init(_ table: CallTable, architecture: UInt32, onlyReports: Bool = false, number: (String) -> UInt32?) {
        let answer = { (rule: CallRule) in Self.answer(rule, onlyReports: onlyReports) }
        load(4)
        append(Code.jumpIfEqual, architecture, jumpTrue: 1)
        append(Code.answer, Answer.killProcess)
        load(0)
        // On x86-64 these are calls of the x32 ABI, with numbers of their own; no architecture has others there.
        append(Code.jumpIfAtLeast, 0x4000_0000, jumpFalse: 1)
        append(Code.answer, Answer.killProcess)
        for row in table.rows {
            guard let number = number(row.name) else { continue }
            let body = Self.body(row, answer)
            append(Code.jumpIfEqual, number, jumpFalse: UInt8(body.count))
            instructions += body
        }
        append(Code.answer, answer(table.otherwise))
    }

    /// What follows the comparison of a call's number; every path through it ends the program.
    private static func body(_ row: CallRow, _ answer: (CallRule) -> UInt32) -> [Instruction] {
        var body: [Instruction] = []
        for (test, rule) in row.cases {
            var checks: [Instruction] = []
            for comparison in test.comparisons { checks += Self.checks(comparison) }
            // A check that fails jumps behind this case's answer.
            for index in checks.indices where checks[index].code == Code.jumpIfEqual {
                checks[index].jumpFalse = UInt8(checks.count - index)
            }
            body += checks + [Instruction(code: Code.answer, operand: answer(rule))]
        }
        return body + [Instruction(code: Code.answer, operand: answer(row.otherwise))]
    }

    /// Compares the two words of an argument; the jumps are not set yet.
    private static func checks(_ comparison: ArgumentTest.Comparison) -> [Instruction] {
        var checks: [Instruction] = []
        // Little-endian: the lower word comes first.
        for (offset, shift) in [(0, UInt64(0)), (4, 32)] {
            let mask = UInt32(truncatingIfNeeded: comparison.mask >> shift)
            guard mask != 0 else { continue }
            checks.append(Instruction(code: Code.load, operand: UInt32(16 + 8 * comparison.argument + offset)))
            if mask != .max { checks.append(Instruction(code: Code.and, operand: mask)) }
            let value = UInt32(truncatingIfNeeded: comparison.value >> shift)
            checks.append(Instruction(code: Code.jumpIfEqual, operand: value))
        }
        return checks
    }

    private static func answer(_ rule: CallRule, onlyReports: Bool) -> UInt32 {
        switch rule {
        case .allow: Answer.allow
        case .refuse(let errno): onlyReports ? Answer.allow : Answer.errno | UInt32(errno)
        case .forbid(let errno): onlyReports ? Answer.log : Answer.trap | UInt32(errno)
        case .end: onlyReports ? Answer.log : Answer.trap | Answer.ends
        }
    }

    private mutating func load(_ offset: UInt32) { append(Code.load, offset) }

    private mutating func append(_ code: UInt16, _ operand: UInt32, jumpTrue: UInt8 = 0, jumpFalse: UInt8 = 0) {
        instructions.append(
            Instruction(code: code, jumpTrue: jumpTrue, jumpFalse: jumpFalse, operand: operand))
    }
}
