// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
package import HWDModel

// Sources, their frames, the queue and the session's settings are the library's.
@_exported public import HWCapture

extension CaptureSettings {
    /// The session that the options of `hwctl capture` ask for.
    package init(_ arguments: CaptureArguments, _ format: CaptureFormat, _ pixelFormat: PixelFormat) {
        self.init(
            format, pixelFormat, specification: arguments.specification, properties: arguments.properties,
            constantRate: arguments.constantFrameRate
                ? arguments.rate.map { CaptureRate(Int($0.numerator), Int($0.denominator)) } : nil)
    }
}

extension CaptureError: CommandError {
    package var commandFailure: CommandFailure { CommandFailure(exitStatus, reason) }
}
