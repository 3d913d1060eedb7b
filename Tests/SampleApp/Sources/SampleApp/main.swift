// SPDX-License-Identifier: MIT
import Glibc
import HWClient
import Sessions
import Transport
import Wire

guard CommandLine.arguments.count == 3, let count = UInt64(CommandLine.arguments[1]), count > 0,
    let file = OutputFile(CommandLine.arguments[2]), let timeBase = Rational(1, 30)
else {
    print("usage: sample-app COUNT FILE.hevc")
    exit(ExitStatus.usage.rawValue)
}
do {
    let recording = Recording(file)
    let encoder = try encode(count, timeBase: timeBase, to: recording)
    print(summary(pictures: recording.pictureCount, encoder: encoder))
} catch let error as ClientError {
    print("sample-app: \(error)")
    exit(error.exitStatus.rawValue)
} catch let error as SystemError {
    print("sample-app: \(error)")
    exit(ExitStatus.ioError.rawValue)
}
