// SPDX-License-Identifier: GPL-2.0-or-later
internal import LibAV
internal import Model
internal import Probing
internal import Sessions
internal import Synchronization

/// Memory of this process for the pictures of one trial.
final class HeapMemory: PictureMemory {
    private struct State {
        var slots: [Int: UnsafeMutableRawBufferPointer] = [:]
        var last = 0
    }

    // Memory that only this object frees.
    private let slots = Mutex(State())

    func allocate(byteCount: Int) -> FrameSlot? { slot(byteCount) }

    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot { slot(byteCount) }

    private func slot(_ byteCount: Int) -> FrameSlot {
        slots.withLock { state in
            let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
            state.last += 1
            state.slots[state.last] = UnsafeMutableRawBufferPointer(start: base, count: byteCount)
            return FrameSlot(id: state.last, base: base, poolOffset: 0, byteCount: byteCount)
        }
    }

    func free(_ id: Int) { slots.withLock { $0.slots.removeValue(forKey: id)?.deallocate() } }

    /// A picture's samples in the depth that the stream has.
    func judged(_ picture: OutputPicture) -> JudgedPicture {
        slots.withLock { state in
            guard let bytes = state.slots[picture.slot] else {
                return JudgedPicture(width: 0, height: 0, bitDepth: 0, planes: [])
            }
            // An 8-bit sample is brought to 10 bits by a factor of 4.
            let shift = 10 - picture.bitDepth
            let planes = picture.layout.planes.indices.map { plane -> [UInt16] in
                let columns = plane == 0 ? picture.width : (picture.width + 1) / 2
                let place = picture.layout.planes[plane]
                return (0..<(plane == 0 ? picture.height : (picture.height + 1) / 2)).flatMap { row in
                    (0..<columns).map { column in
                        let offset = Int(place.offset) + row * Int(place.stride) + 2 * column
                        return bytes.load(fromByteOffset: offset, as: UInt16.self) >> UInt16(shift)
                    }
                }
            }
            return JudgedPicture(
                width: picture.width, height: picture.height, bitDepth: picture.bitDepth, planes: planes)
        }
    }
}
