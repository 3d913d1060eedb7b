// SPDX-License-Identifier: GPL-2.0-or-later
public import ArgumentParser
internal import HWDEdits

/// The values of `hwctl encode --hdr`.
extension HDRMode: ExpressibleByArgument {}
