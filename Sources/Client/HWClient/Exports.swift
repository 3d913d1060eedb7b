// SPDX-License-Identifier: MIT

// `import HWClient` is all that an app needs: the parameters, replies, messages and errors in this module's public
// declarations are types of these modules. HWDTransport stays hidden but for the two types that appear there, because
// names such as its `Thread` would collide with Foundation's.
@_exported public import HWDExport
@_exported public import HWDModel
@_exported public import struct HWDTransport.SystemError
@_exported public import class HWDTransport.SharedMemory
@_exported public import HWDWire
