// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDColor
internal import HWDModel

/// Converts pictures in several steps, with pictures of its own between them.
final class SteppedConverter: PixelConverter {
    let device: String
    var isCPU: Bool { steps.allSatisfy(\.isCPU) }

    private let steps: [any PixelConverter]
    /// The pictures between the steps.
    private let between: [PageMemory]
    private let layouts: [FrameLayout]
    private let gpu: SharedGPU?

    /// - Parameters:
    ///   - steps: at least one.
    ///   - images: what each step but the last writes.
    ///   - gpu: imports the memory between the steps; nil without one.
    init(_ steps: [any PixelConverter], _ images: [ImageDescription], gpu: SharedGPU?) throws(SessionError) {
        self.steps = steps
        self.gpu = gpu
        device = steps.first(where: { !$0.isCPU })?.device ?? steps[0].device
        var memories: [PageMemory] = []
        var layouts: [FrameLayout] = []
        for image in images {
            let packed = FrameLayout.packed(image.format, width: image.width, height: image.height)
            let memory = try PageMemory(size: packed.size)
            gpu?.use(UnsafeRawBufferPointer(memory.bytes), isWritable: true, of: memory)
            memories.append(memory)
            layouts.append(packed.layout)
        }
        (between, self.layouts) = (memories, layouts)
    }

    deinit { for memory in between { gpu?.forget(memory) } }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        var planes = source
        for (index, step) in steps.enumerated() {
            guard index < between.count, let base = between[index].bytes.baseAddress else {
                return try step.convert(planes, into: target)
            }
            try step.convert(planes, into: layouts[index].mutablePlanes(at: base))
            planes = layouts[index].planes(at: UnsafeRawPointer(base))
        }
    }
}

/// Whole pages, which a GPU may use in place.
final class PageMemory {
    let bytes: UnsafeMutableRawBufferPointer

    /// - Throws: `AllocationFailed`.
    init(size: Int) throws(SessionError) {
        let page = Int(getpagesize())
        let whole = (size + page - 1) / page * page
        let memory = mmap(nil, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            throw SessionError(.allocationFailed, "no memory for a picture of \(size) bytes")
        }
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: whole)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }
}
