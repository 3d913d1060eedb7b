// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

@Suite struct HDREditTests {
    private static let edges = RPUActiveArea(left: 10, right: 20, top: 30, bottom: 40)

    /// One row of the table: an edit, and the actions for RPUs, HDR10+, mastering display, content light and ambient viewing.
    static let rows: [(HDREdit, [HDREditOutcome.Action])] = [
        (.scale(horizontal: 0.5, vertical: 0.5), [.recompute, .recompute, .keep, .keep, .keep]),
        (.crop(edges), [.recompute, .replace, .keep, .keep, .keep]),
        (.pad(edges), [.recompute, .replace, .keep, .keep, .keep]),
        (.grade, [.recompute, .replace, .keep, .replace, .keep]),
        (.overlay, [.recompute, .replace, .keep, .replace, .keep]),
        (.blend, [.recompute, .replace, .keep, .replace, .keep]),
        (.frameMixing, [.recompute, .replace, .keep, .keep, .keep]),
        (.cut, [.recompute, .keep, .keep, .keep, .keep]), (.join, [.recompute, .keep, .keep, .keep, .keep]),
        (.duplicate, [.keep, .keep, .keep, .keep, .keep]),
        (.convert(to: .pq), [.replace, .replace, .replace, .replace, .keep]),
        (.convert(to: .hlg), [.replace, .drop, .drop, .drop, .keep]),
        (.convert(to: .sdr), [.drop, .drop, .drop, .drop, .drop]),
    ]

    @Test("What becomes of metadata", arguments: rows)
    func outcomes(edit: HDREdit, actions: [HDREditOutcome.Action]) {
        let result = HDREditOutcome(after: [edit])
        #expect(
            [
                result.dolbyVision, result.hdr10Plus, result.masteringDisplay, result.contentLight,
                result.ambientViewing,
            ] == actions)
    }

    @Test func theStrongestActionOfSeveralEditsHolds() {
        let both = HDREditOutcome(after: [.convert(to: .sdr), .scale(horizontal: 2, vertical: 2)])
        #expect(both.dolbyVision == .drop && both.changesActiveArea)
        #expect(HDREditOutcome(after: []) == HDREditOutcome(after: [.duplicate]))
    }

    @Test func nothingChangesWithoutAnEdit() throws {
        let rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_84.mov")[0])
        #expect(try rpu.edited([]) == rpu && rpu.edited([.duplicate]) == rpu)
    }

    @Test func scalesAndCropsTheActiveArea() throws {
        let generator = DolbyVisionGenerator(.profile84, activeArea: RPUActiveArea(top: 100, bottom: 101))
        let rpu = try generator.rpu(light: RPULight(max: 3000, average: 2000))
        let scaled = try rpu.edited([.scale(horizontal: 0.5, vertical: 0.5)])
        #expect(scaled.displayManagement?.content(ofLevel: 5) == .level5(RPUActiveArea(top: 50, bottom: 51)))
        let cropped = try rpu.edited([.crop(RPUActiveArea(top: 60, bottom: 200))])
        #expect(cropped.displayManagement?.content(ofLevel: 5) == .level5(RPUActiveArea(top: 40, bottom: 0)))
        // All else stays.
        var expected = rpu
        expected.displayManagement?.extension1[1] = try RPUBlock(.level5(RPUActiveArea(top: 50, bottom: 51)))
        #expect(scaled == expected)
    }

    @Test func scalesTheWindowsOfHDR10Plus() throws {
        var metadata = HDR10PlusMetadata()
        var window = HDR10PlusMetadata.Window()
        (window.corners, window.center, window.axes) = ([10, 20, 1900, 1060], [960, 540], [100, 200, 150])
        window.rotationAngle = 30
        metadata.windows = [window]
        (metadata.light, metadata.tones) = ([.init(), .init()], [.init(), .init()])
        metadata.light[1].averageMaxRGB = 5000
        let scaled = metadata.scaled(horizontal: 0.5, vertical: 0.25)
        #expect(scaled.windows[0].corners == [5, 5, 950, 265] && scaled.windows[0].center == [480, 135])
        // √(0.5 · 0.25) is 0.35355.
        #expect(scaled.windows[0].axes == [35, 71, 53] && scaled.windows[0].rotationAngle == 30)
        #expect(scaled.light == metadata.light && scaled.tones == metadata.tones)
        #expect(try HDR10PlusMetadata(payload: scaled.payload()) == scaled)
        #expect(metadata.scaled(horizontal: 1e9, vertical: .nan).windows[0].corners == [65_535, 0, 65_535, 0])
    }

    @Test func addsAnActiveAreaForPadding() throws {
        let rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_84.mov")[0])
        let padded = try rpu.edited([.pad(RPUActiveArea(left: 8, right: 8))])
        #expect(padded.displayManagement?.extension1.map(\.level) == [1, 4, 5])
        #expect(try rpu.edited([.scale(horizontal: 2, vertical: 2)]) == rpu)
    }

    @Test func measuresLightAndDropsTrimsAfterAGrade() throws {
        var rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_84.mov")[0])
        var graded = RPUDisplayTrim(parts: 2)
        (graded.targetDisplayIndex, graded.slope, graded.midContrastBias) = (1, 2100, 2000)
        rpu.displayManagement?.extension1.append(try RPUBlock(.level2(RPUTrim())))
        rpu.displayManagement?.extension2?.insert(try RPUBlock(.level8(graded)), at: 3)
        let measured = DolbyVisionRPU.Measurement(
            light: RPULight(min: 1, max: 2500, average: 1700), anchor: RPUAnchor(anchorPQ: 1700, anchorPower: 400))
        let edited = try rpu.edited([.grade], measurement: measured)
        let metadata = try #require(edited.displayManagement)
        #expect(
            metadata.extension1.map(\.content) == [
                .level1(measured.light), .level4(RPUAnchor(anchorPQ: 1700, anchorPower: 400)),
            ])
        let trims = metadata.extension2?.filter { $0.level == 8 }.map(\.content)
        var neutral = RPUDisplayTrim(parts: 2)
        neutral.targetDisplayIndex = 1
        #expect(trims == DolbyVisionGenerator.iPhoneTrims.map { .level8($0) } + [.level8(neutral)])
        #expect(edited.mapping == rpu.mapping && edited.header == rpu.header)
        // Without a measured anchor the stale one goes.
        let without = try rpu.edited([.overlay], measurement: .init(light: measured.light))
        #expect(without.displayManagement?.content(ofLevel: 4) == nil)
    }

    @Test func marksAShotAtAJoin() throws {
        let rpu = try DolbyVisionRPU(nal: DolbyVisionTests.rpus("dolby_vision_81.hevc")[5])
        #expect(rpu.displayManagement?.sceneRefreshFlag == 0)
        #expect(try rpu.edited([.join], startsShot: true).displayManagement?.sceneRefreshFlag == 1)
        #expect(try rpu.edited([.join]) == rpu)
    }
}
