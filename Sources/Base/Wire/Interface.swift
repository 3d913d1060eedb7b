// SPDX-License-Identifier: MIT

/// The Varlink interface `org.hwdaemon`.
public enum Interface {
    /// The prefix of the interface's methods and errors.
    public static let name = "org.hwdaemon"

    /// The text of org.hwdaemon.varlink, which `GetInterfaceDescription` returns.
    public static var definition: String { text }
}
