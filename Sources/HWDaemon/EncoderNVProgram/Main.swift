// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEncoderWorker
internal import HWDModel

/// `hwdaemon-encoder-nv`: one compression session that may use NVIDIA's encoder, for which it links libavcodec.
///
/// It does all that hwdaemon-encoder does, because a session whose hardware does not open continues in the same process.
@main
struct NVEncoderMain {
    static func main() { EncoderWorker.run([.nvidia: NVENCDevice.open]) }
}
