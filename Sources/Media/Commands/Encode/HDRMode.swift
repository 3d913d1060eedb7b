// SPDX-License-Identifier: GPL-2.0-or-later
public import ArgumentParser
public import HWDMediaFile

/// The values of `hwctl encode --hdr`.
extension HDRMode: ExpressibleByArgument {}
