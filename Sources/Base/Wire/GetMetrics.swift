// SPDX-License-Identifier: MIT

/// The daemon's counters since its start.
public enum GetMetrics: ControlMethod {
    public static let method = "\(Interface.name).GetMetrics"
    public typealias Parameters = Empty
    public struct Reply: Codable, Sendable {
        /// OpenMetrics 1.0.0 text including its `# EOF` line.
        public var metrics: String
        public init(metrics: String) { self.metrics = metrics }
    }
}
