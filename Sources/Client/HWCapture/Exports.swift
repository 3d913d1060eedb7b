// SPDX-License-Identifier: MIT

// `import HWCapture` is all that an app needs besides HWClient: errors of files are those of HWMovies.
@_exported public import struct HWMovies.MovieError
