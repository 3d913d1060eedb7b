// SPDX-License-Identifier: MIT

/// The Varlink interface `org.hwdaemon`.
enum Interface {}
