// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import hwctl_media

/// The line that long work prints.
@Suite struct ProgressTests {
    @Test(arguments: [10, 20, 39, 40, 60, 80, 200])
    func fitsTheTerminal(columns: Int) {
        for total in [nil, 1, 100, 12_345_678] {
            for done in [0, 1, 99, 12_345_678] {
                for seconds in [0.001, 10.0, 100_000] {
                    let line = hwctl_media.Progress.line(done, of: total, seconds: seconds, columns: columns)
                    #expect(line.count < columns && !line.isEmpty)
                }
            }
        }
    }

    @Test func saysWhatIsLeft() {
        let line = hwctl_media.Progress.line(1234, of: 5000, seconds: 40, columns: 40)
        #expect(line == "24% 1234/5000, 30.9 fps, 2:02 left")
    }
}
