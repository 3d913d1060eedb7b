// SPDX-License-Identifier: MIT

/// What the daemon has counted since its start.
public enum GetMetrics: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).GetMetrics"
    /// Nothing.
    public typealias Parameters = Empty
    /// The counts.
    public struct Reply: Codable, Sendable {
        /// OpenMetrics 1.0.0 text, to its `# EOF` line.
        public var metrics: String
        /// Answers a text.
        public init(metrics: String) { self.metrics = metrics }
    }
}
