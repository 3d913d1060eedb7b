// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Which sessions' threads the kernel runs first: those of live sources, then normal ones, then those in the background.
public enum SessionPriority: Int, Comparable, Sendable {
    case background, normal, realTime

    /// The names that the property takes: real time is a property of its own.
    static let names = ["normal", "background"]

    /// The priority that the properties of a session describe.
    public init(_ properties: PropertyStore) {
        self.init(
            isRealTime: properties.bool(.realTime) ?? false,
            isBackground: properties.string(.priority) == "background")
    }

    /// The priority that a call describes which is not checked yet.
    public init(call properties: [String: PropertyValue]?) {
        self.init(
            isRealTime: properties?[PropertyKey.realTime.rawValue] == .bool(true),
            isBackground: properties?[PropertyKey.priority.rawValue] == .string("background"))
    }

    private init(isRealTime: Bool, isBackground: Bool) {
        self = isRealTime ? .realTime : isBackground ? .background : .normal
    }

    /// Added to the nice value of the daemon, whose own threads and those of live sessions keep it.
    public var niceness: Int32 {
        switch self {
        case .realTime: 0
        case .normal: 10
        case .background: 19
        }
    }

    /// How many times as long a call of a codec may take without progress: threads in the background may have to wait for others.
    public var stallFactor: Int { self == .background ? 20 : 1 }

    public static func < (one: SessionPriority, other: SessionPriority) -> Bool { one.rawValue < other.rawValue }
}

extension PropertySpec {
    /// The property `Priority`, which has an effect until `end`.
    static func priority(until end: String, access: Access = .settable) -> PropertySpec {
        PropertySpec(
            .priority, .choice(SessionPriority.names), default: .string(SessionPriority.names[0]), access: access,
            """
            Which sessions give way to others: background ones get little where others want to run, and normal ones come after those with \
            RealTime, which ignore this property. It has an effect until \(end).
            """)
    }
}
