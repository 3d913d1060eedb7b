// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// The preparation that hwctl's programs share, before their arguments are parsed.
package enum CommandArguments {
    /// Secures the standard descriptors and returns the arguments, without the program's name; exits if one is wrong.
    package static func prepare() -> [String] {
        StandardDescriptors.reserve()
        let arguments = Program.arguments
        if let argument = mistakenFileName(in: arguments) {
            Console.error("\(argument) is not an option; if it is a file, write it as ./\(argument)")
            exit(ExitStatus.usage.rawValue)
        }
        return arguments
    }

    private static let shortOptions: Set = ["-h", "-q", "-v", "-y"]

    /// The first argument such as `-dash.mp4`, which the parser would read as the short options -d, -a, -s and -h.
    ///
    /// Numbers are values.
    private static func mistakenFileName(in arguments: [String]) -> String? {
        arguments.prefix { $0 != "--" }.first { argument in
            guard argument.hasPrefix("-"), let second = argument.dropFirst().first,
                !shortOptions.contains(argument)
            else {
                return false
            }
            return second != "-" && second != "." && !second.isNumber
        }
    }
}
