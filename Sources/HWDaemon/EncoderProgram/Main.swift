// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEncoderWorker

/// `hwdaemon-encoder`: one compression session in software, or on a VA-API driver.
@main
struct EncoderMain {
    static func main() { EncoderWorker.run() }
}
