// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// Memory in place, pictures in slices, two pictures in flight, and the pipeline cache.
    @Suite struct Memory {
        let conversion = Conversion(
            source: ImageDescription(
                format: .p010, width: 64, height: 48,
                signal: SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)),
            target: ImageDescription(
                format: .rgba16f, width: 64, height: 48, signal: SignalDescription(primaries: .displayP3)))

        /// Calls `body` with shared pages like those of a frame pool.
        func withPool(
            _ size: Int, protection: Int32 = PROT_READ | PROT_WRITE,
            _ body: (UnsafeMutableRawPointer) throws -> Void
        )
            throws
        {
            let memory = mmap(nil, size, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
            let base = try #require(memory != MAP_FAILED ? memory : nil)
            defer { munmap(base, size) }
            try body(base)
        }

        @Test func planesInImportedMemoryAreUsedInPlace() throws {
            let device = try TestDevice.get()
            try #require(device.description.importsHostMemory)
            let reference = try ReferenceConverter(conversion)
            let picture = Picture.noise(.p010, 64, 48, seed: 3)
            let source = FrameLayout.packed(.p010, width: 64, height: 48)
            let target = FrameLayout.packed(.rgba16f, width: 64, height: 48, base: source.size)
            try withPool(1 << 16) { pool in
                let converter = try VulkanConverter(reference.plan, on: device)
                try device.importMemory(UnsafeRawBufferPointer(start: pool, count: 1 << 16), isWritable: true)
                for (index, plane) in source.layout.planes.enumerated() {
                    let row = PixelFormat.p010.rowBytes(plane: index, width: 64)
                    for y in 0..<picture.planes[index].count / row {
                        (pool + Int(plane.offset) + y * Int(plane.stride)).copyMemory(
                            from: Array(picture.planes[index][y * row..<(y + 1) * row]), byteCount: row)
                    }
                }
                let ticket = try converter.submit(
                    source.layout.planes(at: pool),
                    into: target.layout.mutablePlanes(at: pool))
                #expect(converter.slots.first?.isDirect == [true])
                try converter.finish(ticket)
                let plane = target.layout.planes[0]
                var result = Picture(.rgba16f, width: 64, height: 48)
                result.planes[0] = (0..<48).flatMap { y in
                    Array(
                        UnsafeRawBufferPointer(start: pool + Int(plane.offset) + y * Int(plane.stride), count: 512))
                }
                #expect(distance(result, from: reference.values(picture)) <= 1)
                device.forgetMemory(pool)
                #expect(device.regions.isEmpty)
            }
            try TestDevice.checkValidation()
        }

        @Test func timesADeviceBesideTheCPU() throws {
            let survey = try VulkanSurvey()
            var device = try #require(survey.devices.first { $0.kind == .cpu })
            device.imports.hostMemoryVerified = true
            let speed = try survey.speed(of: device)
            #expect(speed.picture > 0 && speed.cpuPicture > 0 && speed.cpuThreads > 0 && speed.opening > 0)
        }

        @Test func slownessCountsOnlyWhereTheDeviceIsLeftOpen() {
            let slow = ComputeDevice.Speed(picture: 2, cpuPicture: 1, cpuThreads: 2, opening: 100)
            let fast = ComputeDevice.Speed(picture: 1, cpuPicture: 3, cpuThreads: 2, opening: 100)
            var request = ConverterChoice.Request(
                faults: ["a": "wrong"], speeds: ["a": slow, "b": slow, "c": fast])
            #expect(request.faults(for: conversion).keys.sorted() == ["a", "b"])
            #expect(request.faults(for: conversion)["a"] == "wrong")
            // A hundred small pictures are less work than one of 1080p.
            request.pictures = 100
            #expect(request.faults(for: conversion).keys.sorted() == ["a", "b", "c"])
            request.device = .vulkan
            #expect(request.faults(for: conversion) == ["a": "wrong"])
        }

        @Test func refusesReadOnlyAndUnmappedMemory() throws {
            let device = try TestDevice.get()
            try withPool(1 << 16, protection: PROT_READ) { pool in
                #expect(throws: SessionError.self) {
                    try device.importMemory(UnsafeRawBufferPointer(start: pool, count: 1 << 16), isWritable: true)
                }
            }
            try withPool(1 << 16) { pool in
                // The second half is not mapped.
                munmap(pool + (1 << 15), 1 << 15)
                #expect(throws: SessionError.self) {
                    try device.importMemory(UnsafeRawBufferPointer(start: pool, count: 1 << 16), isWritable: true)
                }
                #expect(ImportedRegion.isMapped(Int(bitPattern: pool)..<Int(bitPattern: pool) + (1 << 15)))
            }
        }

        @Test("pictures in slices have the same result", arguments: [PixelFormat.rgba16f, .i010])
        func slices(target: PixelFormat) throws {
            var conversion = conversion
            conversion.target.format = target
            conversion.target.signal = SignalDescription(
                primaries: .displayP3, transfer: target == .rgba16f ? .linear : .sRGB, siting: .topLeft)
            conversion.options.chromaDownsampling = .siting
            let plan = try ConversionPlan(conversion)
            let picture = Picture.noise(.p010, 64, 48, seed: 4)
            let whole = try VulkanConverter(plan, on: TestDevice.get())
            let sliced = try VulkanConverter(plan, on: TestDevice.get())
            sliced.bindingLimit = 256 + 16 * (target == .rgba16f ? 512 : 128)
            #expect(try convert(picture, with: sliced, to: target) == convert(picture, with: whole, to: target))
            #expect(sliced.slots[0].slices.count > 2)
            #expect(whole.slots[0].slices.count == 1)
            try TestDevice.checkValidation()
        }

        @Test func refusesAThirdPictureInFlight() throws {
            let converter = try VulkanConverter(ConversionPlan(conversion), on: TestDevice.get())
            let planes = FrameLayout.packed(.p010, width: 64, height: 48)
            try withPool(1 << 17) { pool in
                let source = planes.layout.planes(at: pool)
                let target = [MutablePlaneView(base: pool + (1 << 16), stride: 512)]
                let first = try converter.submit(source, into: target)
                let second = try converter.submit(source, into: target)
                #expect(throws: SessionError.self) { try converter.submit(source, into: target) }
                try converter.finish(second)
                try converter.finish(first)
                #expect(throws: SessionError.self) { try converter.finish(first) }
                #expect(throws: SessionError.self) { try converter.convert([source[0]], into: target) }
                #expect(throws: SessionError.self) {
                    try converter.convert(source, into: [MutablePlaneView(base: pool, stride: 500)])
                }
            }
        }

        @Test func deviceIsLostAfterATimeout() throws {
            let others = try threads()
            // A separate device, because it is unusable afterwards.
            let device = try VulkanDevice(allowsSoftware: true)
            var large = conversion
            (large.source.width, large.source.height) = (1280, 720)
            (large.target.width, large.target.height) = (1280, 720)
            let converter = try VulkanConverter(ConversionPlan(large), on: device)
            let own = try threads().subtracting(others)
            converter.timeout = 0
            let picture = Picture(.p010, width: 1280, height: 720)
            #expect(throws: SessionError.self) { _ = try convert(picture, with: converter, to: .rgba16f) }
            let reason = try #require(device.failure?.reason)
            #expect(reason.contains("did not finish"))
            converter.timeout = 30
            let again = #expect(throws: SessionError.self) {
                _ = try convert(picture, with: converter, to: .rgba16f)
            }
            #expect(again?.reason == reason)
            // Its threads still use memory that is never freed; their work ends before the process does.
            waitUntilAsleep(own)
        }

        /// The process's threads.
        private func threads() throws -> Set<String> {
            let folder = try #require(opendir("/proc/self/task"))
            defer { closedir(folder) }
            var names: Set<String> = []
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if !name.hasPrefix(".") { names.insert(name) }
            }
            return names
        }

        /// Waits until threads have no work, or for `hangLimit`: none of them has run for 200 ms.
        private func waitUntilAsleep(_ threads: Set<String>) {
            let deadline = ContinuousClock.now + hangLimit
            var asleep = 0
            while asleep < 20, ContinuousClock.now < deadline {
                usleep(10_000)
                asleep = threads.contains(where: isRunning) ? 0 : asleep + 1
            }
        }

        private func isRunning(_ thread: String) -> Bool {
            let file = open("/proc/self/task/\(thread)/stat", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return false }
            defer { close(file) }
            var text = [UInt8](repeating: 0, count: 128)
            let count = max(0, read(file, &text, text.count))
            return String(decoding: text.prefix(count), as: UTF8.self).contains(") R ")
        }

        /// In a separate process, because setenv(3) is not safe beside threads that read the environment.
        @Test func reportsAMissingDriver() async {
            await #expect(processExitsWith: .success) {
                setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1)
                setenv("VK_DRIVER_FILES", "/nonexistent.json", 1)
                let error = #expect(throws: SessionError.self) { _ = try VulkanDevice(allowsSoftware: true) }
                #expect(error?.status == .couldNotCreateInstance)
                #expect(error?.reason.contains("no Vulkan driver") == true)
            }
        }

        @Test func ignoresDamagedPipelineCaches() throws {
            let device = try TestDevice.get()
            _ = try VulkanConverter(ConversionPlan(conversion), on: device)
            device.savePipelines()
            let file = PipelineCacheFile(uuid: device.description.uuid)
            let path = try #require(file.path)
            #expect(path.hasPrefix(TestDevice.cacheFolder))
            let kept = try #require(file.read())
            #expect(!kept.isEmpty)
            let descriptor = open(path, O_WRONLY)
            #expect(pwrite(descriptor, "x", 1, 20) == 1)
            close(descriptor)
            #expect(file.read() == nil)
            // A device opens despite the damaged file.
            _ = try VulkanDevice(allowsSoftware: true).store()
        }

        @Test func describesAndChoosesDevices() throws {
            let devices = try VulkanDevices.list()
            let software = try #require(devices.first { $0.kind == .software })
            #expect(software.name.contains("llvmpipe"))
            #expect(software.pciAddress == nil)
            #expect(software.uuid.count == 32)
            var card = software
            (card.kind, card.pciAddress, card.index) = (.discrete, "0000:01:00.0", 7)
            let both = [software, card]
            #expect(VulkanDevices.choose(from: both) == card)
            #expect(VulkanDevices.choose(from: [software]) == nil)
            #expect(VulkanDevices.choose(from: [software], allowsSoftware: true) == software)
            #expect(VulkanDevices.choose(from: both, pciAddress: "0000:01:00.0") == card)
            #expect(VulkanDevices.choose(from: both, pciAddress: "0000:02:00.0", allowsSoftware: true) == nil)
            #expect(throws: SessionError.self) { _ = try VulkanDevice(pciAddress: "ffff:ff:1f.7") }
        }

        @Test(
            "spirv-val finds nothing",
            .enabled(if: access("/usr/bin/spirv-val", X_OK) == 0, "spirv-val is not installed"))
        func shadersAreValid() throws {
            for (name, digits) in [
                ("to_rgb", SPIRV.to_rgb), ("to_ycbcr", SPIRV.to_ycbcr), ("image_to_rgb", SPIRV.image_to_rgb),
                ("image_to_ycbcr", SPIRV.image_to_ycbcr), ("to_rgb_effects", SPIRV.to_rgb_effects),
                ("to_ycbcr_effects", SPIRV.to_ycbcr_effects),
                ("image_to_rgb_effects", SPIRV.image_to_rgb_effects),
                ("image_to_ycbcr_effects", SPIRV.image_to_ycbcr_effects),
            ] {
                let words = SPIRV.words(digits)
                #expect(words.first == 0x0723_0203)
                let path = "\(TestDevice.cacheFolder)/\(name).spv"
                let file = try #require(fopen(path, "w"))
                #expect(fwrite(words, 4, words.count, file) == words.count)
                fclose(file)
                #expect(system("/usr/bin/spirv-val --target-env vulkan1.1 '\(path)'") == 0)
            }
        }
    }
}
