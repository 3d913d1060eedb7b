// SPDX-License-Identifier: MIT
public import HWDModel

/// Parameters of which unknown members are refused: a member that a client misspells would otherwise have no effect.
public protocol ClosedParameters {
    /// The members that a call may have.
    static var memberNames: MemberNames { get }
}

extension CreateCompressionSession.Parameters: ClosedParameters {
    /// The members that org.hwdaemon.varlink lists.
    public static let memberNames = MemberNames(
        CodingKeys.self,
        [
            "time_base": Rational.memberNames,
            "source": MemberNames(CreateCompressionSession.Source.CodingKeys.self),
        ])
}

extension CreateDecompressionSession.Parameters: ClosedParameters {
    /// The members that org.hwdaemon.varlink lists.
    public static let memberNames = MemberNames(CodingKeys.self, ["time_base": Rational.memberNames])
}

extension CreateTransferSession.Parameters: ClosedParameters {
    /// The members that org.hwdaemon.varlink lists.
    public static let memberNames = MemberNames(
        CodingKeys.self,
        [
            "source": MemberNames(CreateTransferSession.Image.CodingKeys.self),
            "target": MemberNames(CreateTransferSession.Image.CodingKeys.self),
            "options": MemberNames(CreateTransferSession.Options.CodingKeys.self),
        ])
}
