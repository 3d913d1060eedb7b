// SPDX-License-Identifier: GPL-2.0-or-later
// A libFuzzer target over the reader of HEIF files: it may throw but not trap. Built by scripts/fuzz.
import HWDBoxes
import HWDHEIF

/// Reads everything that a file has: pictures, plans, auxiliary pictures, metadata, sequences.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let source = MemorySource(Array(UnsafeBufferPointer(start: start, count: count)))
    guard let file = try? HEIFFile(source) else { return 0 }
    for item in file.items.prefix(32) {
        _ = try? file.data(of: item.id, from: source, limit: 1 << 20)
        for (property, _) in file.properties(of: item).prefix(16) {
            // What is read can be written, and is read again as it was.
            guard let box = try? property.box() else { continue }
            _ = box.bytes
        }
    }
    for id in file.shownPictures.prefix(4) {
        _ = (file.thumbnails(of: id), file.auxiliaries(of: id), try? file.alpha(of: id), file.groups(of: id))
        for metadata in file.metadata(of: id).prefix(4) {
            guard let tiff = try? file.exif(metadata.id, from: source) else { continue }
            _ = (ExifFields(tiff: tiff), ExifFields.replacingOrientation(in: tiff, with: 1))
            guard var editor = ExifEditor(tiff), (try? editor.setContentIdentifier("identifier")) != nil else {
                continue
            }
            if ExifFields(tiff: editor.tiff)?.contentIdentifier != "identifier" {
                fatalError("the identifier is lost")
            }
        }
        _ = try? file.replacingExif(of: id, with: ExifEditor().tiff, from: source)
        check(id, file, source)
    }
    for number in 1...min(4, max(1, file.sequence?.tracks.first?.samples.count ?? 1)) {
        guard let picture = try? file.picture(ofSequence: number), let id = picture.primary else { continue }
        check(id, picture, source)
        _ = try? picture.alpha(of: id)
    }
    return 0
}

/// Checks that the steps of a plan stay inside of their canvas.
private func check(_ id: UInt32, _ file: HEIFFile, _ source: MemorySource) {
    guard let picture = try? file.picture(id) else { return }
    let part = PixelRect(
        x: picture.shownWidth / 3, y: picture.shownHeight / 3, width: (picture.shownWidth + 2) / 3,
        height: (picture.shownHeight + 2) / 3)
    for region in [nil, part] {
        guard let plan = try? file.plan(id, region: region, from: source) else { continue }
        let canvas = PixelRect(width: plan.width, height: plan.height)
        for case .copy(let copy) in plan.steps {
            // Unlike a precondition, this prints its message in an optimized build.
            if copy.destination.intersection(canvas) != copy.destination || copy.source.x < 0 || copy.source.y < 0 {
                fatalError("item \(copy.item) leads outside of the picture")
            }
        }
    }
}
