// SPDX-License-Identifier: MIT

/// The Varlink interface `org.hwdaemon`: its names, and its definition in Varlink's own language.
public enum Interface {
    /// The interface's name, the prefix of its methods and errors.
    public static let name = "org.hwdaemon"

    /// The definition, as `GetInterfaceDescription` answers it: the text of `org.hwdaemon.varlink`.
    public static var definition: String { text }
}
