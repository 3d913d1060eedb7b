// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import HWDComparison
import Testing

@testable import hwctl_media

/// The lines of `hwctl encode` before the first frame and at the end.
@Suite struct EncodeMessageTests {
    @Test func encoderLine() {
        #expect(
            EncoderLine.software("org.hwdaemon.encoder.x265", "this machine has no render node (/dev/dri/renderD*)")
                == "encoding in software (x265): this machine has no render node (/dev/dri/renderD*); see hwctl doctor"
        )
        #expect(
            EncoderLine.software("org.hwdaemon.encoder.x265", nil) == "encoding in software (x265), as requested")
        #expect(
            EncoderLine.software("org.hwdaemon.encoder.x265", "only software supports X265Preset")
                == "encoding in software (x265): the GPU is not used because --preset was given; --speed works for both"
        )
        #expect(
            EncoderLine.software("org.hwdaemon.encoder.x265", "only software supports MultiPassStorage, X265Params")
                .contains("because --two-pass and --property X265Params were given"))
        #expect(
            EncoderLine.hardware("AMD Radeon 780M (radeonsi)")
                == "encoding in hardware: AMD Radeon 780M (radeonsi), verified")
    }

    @Test("Effects are a request for other pictures, and for no HDR metadata of the source")
    func effects() throws {
        let command = try EncodeCommand.parse(["--effect", "exposure:ev=1", "in.mov", "out.mov"])
        let wanted: Set = ["pictures", "mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+", "icc"]
        #expect(AskedChanges(command).names == wanted)
    }

    @Test("A rate that is missed by more than a tenth is said")
    func missedRate() {
        #expect(
            EncodeSummary.rateLine(wanted: 2_000_000, got: 1_700_000)
                == "note: the video has 1.70 Mbit/s, 15 % less than requested (2.00 Mbit/s)")
        #expect(
            EncodeSummary.rateLine(wanted: 500_000, got: 600_000)
                == "note: the video has 600 kbit/s, 20 % more than requested (500 kbit/s)")
        #expect(EncodeSummary.rateLine(wanted: 2_000_000, got: 1_850_000) == nil)
    }
}
