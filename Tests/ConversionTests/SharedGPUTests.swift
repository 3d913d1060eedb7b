// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// A session's pools in place, sealed ones too, and what is copied instead.
    @Suite struct SharedMemories {
        /// Shared pages with pictures one after the other, as a pool has them.
        final class Pool {
            let memory: UnsafeMutableRawBufferPointer

            init(_ size: Int) throws {
                let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                memory = UnsafeMutableRawBufferPointer(
                    start: try #require(start != MAP_FAILED ? start : nil), count: size)
            }

            deinit { munmap(memory.baseAddress, memory.count) }

            var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

            func seal() { #expect(mprotect(memory.baseAddress, memory.count, PROT_READ) == 0) }

            func put(_ picture: Picture, _ layout: FrameLayout) {
                for (index, plane) in layout.planes.enumerated() {
                    let row = picture.format.rowBytes(plane: index, width: picture.width)
                    for y in 0..<picture.planes[index].count / row {
                        let bytes = picture.planes[index][y * row..<(y + 1) * row]
                        UnsafeMutableRawBufferPointer(
                            rebasing: memory[(Int(plane.offset) + y * Int(plane.stride))...]
                        )
                        .copyBytes(from: bytes)
                    }
                }
            }

            func source(_ layout: FrameLayout) throws -> [PlaneView] {
                let base = try #require(bytes.baseAddress)
                return layout.planes(at: base)
            }

            func target(_ layout: FrameLayout) throws -> [MutablePlaneView] {
                let base = try #require(memory.baseAddress)
                return layout.mutablePlanes(at: base)
            }
        }

        static func conversion(_ from: PixelFormat, _ to: PixelFormat, _ width: Int, _ height: Int) -> Conversion {
            func image(_ format: PixelFormat, _ primaries: Primaries) -> ImageDescription {
                ImageDescription(
                    format: format, width: width, height: height,
                    signal: SignalDescription(primaries: primaries, transfer: .sRGB))
            }
            return Conversion(source: image(from, .bt2020), target: image(to, .displayP3))
        }

        static let formats: [(PixelFormat, PixelFormat)] = [
            (.p010, .rgba16f), (.nv12, .bgra8), (.i010, .nv12), (.rgba16f, .p010), (.bgra8, .yu12),
        ]

        @Test("pools in place and copies have the same result", arguments: [(64, 48), (70, 38), (33, 17)])
        func sameBits(width: Int, height: Int) throws {
            let device = try TestDevice.get()
            for (index, (from, to)) in Self.formats.enumerated() {
                let gpu = SharedGPU(device)
                let conversion = Self.conversion(from, to, width, height)
                let converter = try VulkanConverter(ConversionPlan(conversion), on: device)
                let source = FrameLayout.packed(from, width: width, height: height)
                let target = FrameLayout.packed(to, width: width, height: height)
                let picture = Picture.noise(from, width, height, seed: UInt64(index + 40))
                var results: [[UInt8]] = []
                for isSealed in [false, true] {
                    let pool = try Pool(source.size)
                    pool.put(picture, source.layout)
                    if isSealed { pool.seal() }
                    for isUsed in [false, true] {
                        let result = try Pool(target.size)
                        if isUsed {
                            gpu.use(pool.bytes, isWritable: !isSealed, of: pool)
                            gpu.use(result.bytes, isWritable: true, of: result)
                            // Again and again for nothing.
                            gpu.use(pool.bytes, isWritable: !isSealed, of: pool)
                            #expect(device.regions.count == 2)
                        }
                        let before = device.picturesInPlace
                        try converter.convert(
                            try pool.source(source.layout), into: try result.target(target.layout))
                        // Rows that end within a word are written by way of a copy.
                        let isDirect = (0..<to.planeCount).allSatisfy {
                            to.rowBytes(plane: $0, width: width) % 4 == 0
                        }
                        #expect(device.picturesInPlace - before == (isUsed && isDirect ? 1 : 0), "\(from) to \(to)")
                        results.append(Array(result.bytes))
                        gpu.forget(result)
                    }
                    gpu.forget(pool)
                    #expect(device.regions.isEmpty)
                }
                for result in results.dropFirst() { #expect(result == results[0], "\(from) to \(to)") }
                #expect(results[0].contains { $0 != 0 })
            }
            try TestDevice.checkValidation()
        }

        @Test func readsSealedPagesWhereTheTrialPasses() throws {
            #expect(ReadOnlyTrial.passes(try TestDevice.get()))
            try TestDevice.checkValidation()
        }

        @Test func copiesSealedPagesWhereTheTrialFails() throws {
            // A separate device, whose trial result is overridden.
            let device = try VulkanDevice(allowsSoftware: true)
            let gpu = SharedGPU(device)
            device.readsReadOnlyPages = false
            let conversion = Self.conversion(.nv12, .rgba8, 64, 32)
            let converter = try VulkanConverter(ConversionPlan(conversion), on: device)
            let (source, target) = (
                FrameLayout.packed(.nv12, width: 64, height: 32), FrameLayout.packed(.rgba8, width: 64, height: 32)
            )
            let (pool, result) = (try Pool(source.size), try Pool(target.size))
            pool.put(Picture.noise(.nv12, 64, 32, seed: 9), source.layout)
            pool.seal()
            gpu.use(pool.bytes, isWritable: false, of: pool)
            gpu.use(result.bytes, isWritable: true, of: result)
            #expect(device.regions.map(\.isWritable) == [true])
            try converter.convert(try pool.source(source.layout), into: try result.target(target.layout))
            let use = try #require(gpu.memoryUse)
            #expect(use.copied == 1 && use.inPlace == 0)
            #expect(use.text.contains("read-only"), "\(use.text)")
            // A pool that is sealed is never written in place, whoever asks.
            device.readsReadOnlyPages = true
            let sealed = try Pool(target.size)
            sealed.seal()
            gpu.use(sealed.bytes, isWritable: false, of: sealed)
            let region = try #require(device.regions.last)
            let plane = PlaneGeometry.planes(of: conversion.target).planes[0]
            let base = try #require(sealed.bytes.baseAddress)
            #expect(region.offset(of: base, stride: 256, plane, isTarget: false) == 0)
            #expect(region.offset(of: base, stride: 256, plane, isTarget: true) == nil)
        }

        @Test func importsWholeUnitsOfTheMappingOnly() {
            // Pages of 4 KiB, units of 64 KiB: what reaches into another's memory is left out at both ends.
            #expect(ImportedRegion.wholeUnits(of: 65536, in: 0x20000..<0x50001, page: 4096) == 0x20000..<0x50000)
            #expect(ImportedRegion.wholeUnits(of: 65536, in: 0x21000..<0x5F001, page: 4096) == 0x30000..<0x60000)
            #expect(ImportedRegion.wholeUnits(of: 65536, in: 0x21000..<0x2F000, page: 4096).isEmpty)
            // A file that ends within a page has the whole page.
            #expect(ImportedRegion.wholeUnits(of: 4096, in: 0x3010..<0x5010, page: 4096) == 0x3000..<0x6000)
        }

        /// A GPU that loses every picture it has begun.
        final class Lost: PixelConverter {
            var device: String { "a lost one" }
            var depth: Int { 2 }
            private var begun = 0

            func submit(
                _ source: [PlaneView], into target: [MutablePlaneView]
            ) throws(SessionError) -> ConversionTicket {
                begun += 1
                return ConversionTicket(number: begun)
            }

            func finish(_ ticket: ConversionTicket) throws(SessionError) {
                throw SessionError(.pixelTransferNotSupported, "lost")
            }

            func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
                try finish(submit(source, into: target))
            }
        }

        @Test func cpuConvertsEveryPictureInFlight() throws {
            let conversion = Self.conversion(.nv12, .bgra8, 32, 16)
            let (source, target) = (
                FrameLayout.packed(.nv12, width: 32, height: 16), FrameLayout.packed(.bgra8, width: 32, height: 16)
            )
            let pool = try Pool(source.size)
            pool.put(Picture.noise(.nv12, 32, 16, seed: 5), source.layout)
            let results = try (0..<4).map { _ in try Pool(target.size) }
            try CPUConverter(conversion).convert(
                try pool.source(source.layout), into: try results[3].target(target.layout))
            let converter = GPUConverter(Lost(), conversion, threads: 1)
            let tickets = try results.prefix(2).map {
                try converter.submit(try pool.source(source.layout), into: try $0.target(target.layout))
            }
            #expect(converter.depth == 2)
            for ticket in tickets { try converter.finish(ticket) }
            #expect(converter.depth == 1 && converter.device.hasPrefix("CPU"))
            try converter.convert(try pool.source(source.layout), into: try results[2].target(target.layout))
            for result in results.prefix(3) { #expect(Array(result.bytes) == Array(results[3].bytes)) }
            #expect(throws: SessionError.self) { try converter.finish(tickets[0]) }
        }

        /// A GPU that has no memory for a second picture, and ends the first when it is waited for.
        private final class Full: PixelConverter {
            let device = "full"
            let depth = 2
            let inner: CPUConverter
            var first: (source: [PlaneView], target: [MutablePlaneView])?
            private(set) var ended = 0

            init(_ conversion: Conversion) throws(SessionError) { inner = try CPUConverter(conversion, threads: 1) }

            func submit(
                _ source: [PlaneView], into target: [MutablePlaneView]
            ) throws(SessionError) -> ConversionTicket {
                guard first == nil else { throw SessionError(.allocationFailed, "no memory") }
                first = (source, target)
                return ConversionTicket(number: 1)
            }

            func finish(_ ticket: ConversionTicket) throws(SessionError) {
                guard let first else { throw SessionError(.invalidSession, "nothing is in flight") }
                ended += 1
                try inner.convert(first.source, into: first.target)
            }

            func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
                try finish(submit(source, into: target))
            }
        }

        @Test func picturesInFlightEndBeforeTheGPUIsReplaced() throws {
            let conversion = Self.conversion(.nv12, .bgra8, 32, 16)
            let (source, target) = (
                FrameLayout.packed(.nv12, width: 32, height: 16), FrameLayout.packed(.bgra8, width: 32, height: 16)
            )
            let pool = try Pool(source.size)
            pool.put(Picture.noise(.nv12, 32, 16, seed: 7), source.layout)
            let results = try (0..<2).map { _ in try Pool(target.size) }
            let gpu = try Full(conversion)
            let converter = GPUConverter(gpu, conversion, threads: 1)
            let tickets = try results.map {
                try converter.submit(try pool.source(source.layout), into: try $0.target(target.layout))
            }
            #expect(gpu.ended == 1 && tickets[1] == .done && converter.device.hasPrefix("CPU"))
            #expect(Array(results[0].bytes) == Array(results[1].bytes))
            for ticket in tickets { try converter.finish(ticket) }
            #expect(gpu.ended == 1)
            #expect(throws: SessionError.self) { try converter.finish(tickets[0]) }
        }
    }
}
