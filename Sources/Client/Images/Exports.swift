// SPDX-License-Identifier: MIT

// `import HWImages` is all that an app needs: regions, orientations, ranges of depth and the kinds of auxiliary pictures are types
// of HWDHEIF, which stays hidden otherwise.
@_exported public import HWClient
@_exported public import enum HWDHEIF.AuxiliaryKind
@_exported public import struct HWDHEIF.DepthRange
@_exported public import struct HWDHEIF.Orientation
@_exported public import struct HWDHEIF.PixelRect
