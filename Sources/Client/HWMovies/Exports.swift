// SPDX-License-Identifier: MIT

// `import HWMovies` is all that an app needs: boxes, apertures, ratios and configuration records are types of modules that
// stay hidden otherwise.
@_exported public import struct HWDBoxes.Box
@_exported public import struct HWDBoxes.CleanAperture
@_exported public import struct HWDBoxes.FourCC
@_exported public import struct HWDHEVC.DecoderConfigurationRecord
@_exported public import enum HWDModel.ExitStatus
@_exported public import struct HWDModel.Rational
