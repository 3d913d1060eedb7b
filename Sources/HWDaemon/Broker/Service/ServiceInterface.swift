// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDWire

/// The interface that every Varlink service implements (varlink.org, "Service Interface").
enum ServiceInterface {
    static let name = "org.varlink.service"

    /// The reply of `GetInfo`.
    struct Info: Codable {
        var vendor: String
        var product: String
        var version: String
        var url: String
        var interfaces: [String]
    }

    /// The parameters and the reply of `GetInterfaceDescription`.
    struct DescriptionCall: Codable { var interface: String }
    struct Description: Codable { var description: String }

    /// The encoded reply of `GetInfo`.
    static let infoReply = VarlinkReply.constant(
        Info(
            vendor: "HWDaemon", product: "hwdaemon", version: HWDaemonVersion.text, url: "",
            interfaces: [name, Interface.name]))

    /// The encoded replies of `GetInterfaceDescription`, by the interface's name.
    static let descriptionReplies = Dictionary(
        uniqueKeysWithValues: [name, Interface.name].map { interface in
            (interface, VarlinkReply.constant(Description(description: definition(of: interface) ?? "")))
        })

    /// An interface's definition; nil if the daemon does not implement it.
    static func definition(of interface: String) -> String? {
        switch interface {
        case name: definition
        case Interface.name: Interface.definition
        default: nil
        }
    }

    /// Whether an interface of the daemon defines a method, by its full name.
    static func defines(_ method: String, in interface: String) -> Bool {
        let name = method.dropFirst(interface.count + 1)
        return definition(of: interface)?.contains("\nmethod \(name)(") ?? false
    }

    private static let definition = """
        # Every Varlink service implements this interface.
        interface org.varlink.service

        # Returns the service's vendor, product, version and interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Returns an interface's definition in the Varlink interface language.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service does not have this interface.
        error InterfaceNotFound(interface: string)

        # The interface does not have this method.
        error MethodNotFound(method: string)

        # The interface has this method, but the service does not implement it.
        error MethodNotImplemented(method: string)

        # A parameter is missing, of the wrong type or out of range.
        error InvalidParameter(parameter: string)

        # The caller may not do this.
        error PermissionDenied()

        # The method only makes sense with "more".
        error ExpectedMore()

        """
}

/// The version of this build.
enum HWDaemonVersion {
    static let text = "0.2.0"
}
