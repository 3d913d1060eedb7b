// SPDX-License-Identifier: GPL-2.0-or-later

/// A JSON document as a tree whose leaves are text, so that it can contain invalid JSON.
indirect enum Tree {
    /// A number, a literal, or a string with its quotes, written without change.
    case leaf(String)
    case array([Tree])
    case object([(key: String, value: Tree)])

    static func text(_ value: String) -> Tree { .leaf("\"\(value)\"") }

    /// The document's text.
    var json: String {
        switch self {
        case .leaf(let text): text
        case .array(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ",") + "}"
        }
    }

    /// Edge cases: huge numbers, wrong types, empty and long strings, escapes, invalid JSON.
    static let awkward: [String] = [
        "null", "true", "false", "0", "-0", "-1", "1e999", "-1e999", "1e-999", "0.1", "9223372036854775807",
        "9223372036854775808", "-9223372036854775809", "18446744073709551616", "2147483648", "4294967296",
        String(repeating: "9", count: 400), "1." + String(repeating: "3", count: 3000), "\"\"", "\"\\u0000\"",
        "\"\\ud800\"", "\"\\udfff\\ud800\"", "\"\u{7F}\u{FEFF}\u{202E}\"",
        "\"" + String(repeating: "x", count: 9000) + "\"",
        "\"../../../../etc/shadow\"", "\"/dev/zero\"", "\"%s%n%x\"", "[]", "{}", "[[[[]]]]", "{\"\":{\"\":{}}}",
        String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
        String(repeating: "{\"a\":", count: 300) + "1" + String(repeating: "}", count: 300), "\"hevc\"", "\"NV12\"",
        "64", "8192", "8193", "\"6M\"", "NaN", "Infinity", "01", "0x10", "'x'", "\"\\x\"",
    ]

    /// A copy with one change.
    func mutated(donor: Tree, _ random: inout Randomness) -> Tree {
        switch self {
        case .leaf: return random.chance(15) ? donor : .leaf(random.pick(Self.awkward))
        case .array(var values):
            if values.isEmpty || random.chance(20) { return Self.replacement(donor, &random) }
            let index = random.below(values.count)
            switch random.below(4) {
            case 0: values.remove(at: index)
            case 1: values += Array(repeating: values[index], count: 1 + random.below(100))
            default: values[index] = values[index].mutated(donor: donor, &random)
            }
            return .array(values)
        case .object(var members):
            if members.isEmpty || random.chance(8) { return Self.replacement(donor, &random) }
            let index = random.below(members.count)
            switch random.below(8) {
            case 0: members.remove(at: index)
            case 1: members.append(members[index])
            case 2:
                members[index].key = random.pick([
                    "", "method", "\\u0000", "x", members[index].key + " ", "upgrade",
                ])
            case 3: members.append((random.pick(["oneway", "more", "upgrade", "parameters"]), .leaf("true")))
            default: members[index].value = members[index].value.mutated(donor: donor, &random)
            }
            return .object(members)
        }
    }

    private static func replacement(_ donor: Tree, _ random: inout Randomness) -> Tree {
        random.chance(50) ? donor : .leaf(random.pick(awkward))
    }
}

/// The valid documents that are mutated.
enum Templates {
    static let properties = Tree.object([
        ("Quality", .leaf("0.5")), ("AverageBitRate", .leaf("6000000")),
        ("ProfileLevel", .text("HEVC_Main_AutoLevel")),
        ("X265Preset", .text("ultrafast")), ("X265Params", .text("crf=28:keyint=30")), ("RealTime", .leaf("true")),
        ("ExpectedFrameRate", .text("30000/1001")), ("DataRateLimits", .array([.leaf("100000"), .leaf("1")])),
        ("MaxKeyFrameIntervalDuration", .leaf("2.5")), ("PixelAspectRatio", .text("4:3")),
        ("CleanAperture", .text("60x60+2+2")), ("ContentLightLevelInfo", .text("03e80190")),
    ])

    static let create = call(
        "org.hwdaemon.CreateCompressionSession",
        [
            ("codec", .text("hevc")), ("width", .leaf("64")), ("height", .leaf("64")),
            ("pixel_format", .text("YU12")),
            ("time_base", .object([("numerator", .leaf("1")), ("denominator", .leaf("30"))])),
            ("encoder_specification", .object([("EnableHardwareAcceleratedVideoEncoder", .leaf("false"))])),
            ("properties", .object([("X265Preset", .text("ultrafast")), ("Quality", .leaf("0.5"))])),
        ])

    static let upgrade: Tree = {
        guard case .object(let members) = create else { return create }
        return .object(members + [("upgrade", .leaf("true"))])
    }()

    static let probe = call("org.hwdaemon.Probe", [("device", .text("/dev/null"))])

    static let calls: [Tree] = [
        call("org.varlink.service.GetInfo", []),
        call("org.varlink.service.GetInterfaceDescription", [("interface", .text("org.hwdaemon"))]),
        call("org.hwdaemon.ListEncoders", []), call("org.hwdaemon.ListSessions", []), create,
        call("org.hwdaemon.GetSupportedProperties", [("encoder_id", .text("x265"))]),
        call(
            "org.hwdaemon.GetSessionResult", [("session", .text("0123456789abcdef")), ("timeout_ms", .leaf("0"))]),
    ]

    private static func call(_ method: String, _ parameters: [(key: String, value: Tree)]) -> Tree {
        .object([("method", .text(method)), ("parameters", .object(parameters))])
    }
}
