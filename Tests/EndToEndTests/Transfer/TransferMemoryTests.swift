// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Pixel-transfer sessions on a Vulkan device (lavapipe): pools in place, several frames in flight.
    @Suite struct TransferMemory {
        /// Gives a daemon the driver that other tests' daemons do not see.
        static var lavapipe: [String: String] {
            get throws { ["VK_DRIVER_FILES": try FakeVulkan.lavapipe()] }
        }

        @Test("Pools are used in place, sealed ones as sources")
        func inPlace() throws {
            let server = try TestDaemon(environment: Self.lavapipe)
            var results: [[UInt8]] = []
            for isSealed in [false, true] {
                let transfer = try Transferer(
                    server.daemon, Transfers.pq, Transfers.halves, width: 64, height: 32, device: "vulkan",
                    sealsSource: isSealed)
                try transfer.fill { UInt16(truncatingIfNeeded: $0 &* 0x9E40) & 0xFFC0 }
                for _ in 0..<3 { #expect(try transfer.convert().status == .ok) }
                let keys = [PropertyKey.pixelTransferMemory]
                let use = try transfer.session.copyProperties(keys)[.pixelTransferMemory]?.description
                #expect(use == "3 pictures in place", "\(use ?? "not reported")")
                results += transfer.results
                // Pools can be removed while the session lasts.
                try transfer.session.removePool(id: 1)
                transfer.session.invalidate()
            }
            #expect(results.count == 6 && results[0].contains { $0 != 0 })
            for result in results { #expect(result == results[0]) }
            #expect(server.hasNoWorkers())
        }

        @Test("Frames are encoded from pools in place")
        func encoding() throws {
            let server = try TestDaemon(environment: Self.lavapipe)
            let (width, height) = (128, 64)
            let encoder = try Encoder(
                server.daemon, .rgba16f, width: width, height: height,
                properties: [
                    .x265Preset: .string("ultrafast"), .quality: .double(1),
                    .colorPrimaries: .string("ITU_R_2020"), .transferFunction: .string("ITU_R_2100_HLG"),
                    .yCbCrMatrix: .string("ITU_R_2020"), .pixelTransferDevicePreference: .string("vulkan"),
                ])
            // Grey of reference white: 75 % of HLG.
            let white = Float16(1).bitPattern
            var frame: [UInt8] = []
            for _ in 0..<width * height * 4 { frame += [UInt8(truncatingIfNeeded: white), UInt8(white >> 8)] }
            for _ in 0..<3 { try encoder.encode(frame) }
            try encoder.finish()
            let device = try encoder.session.copyProperties([.pixelTransferDevice])[.pixelTransferDevice]?
                .description
            #expect(device?.contains("llvmpipe") ?? false, "\(device ?? "no device reported")")
            let file = server.folder.path("out.hevc")
            try encoder.write(to: file)
            let samples = try Probe(file).samples("yuv420p10le")
            let luma = Int(samples[0]) | Int(samples[1]) << 8
            #expect(abs(luma - 721) <= 2, "\(luma)")
        }

        @Test("Surfaces that the converting device cannot read are copied and convert to the same RGB")
        func surfaces() throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: cache, Self.lavapipe)
            let stream = try CodedStream(.i010, width: 130, height: 98, frames: 6, in: server.folder)
            var frames: [[[UInt8]]] = []
            for isHardware in [false, true] {
                let decoder = try Decoder(
                    server.daemon, stream, pixelFormat: .bgra8,
                    specification: isHardware
                        ? HardwareDecoding.require : [.enableHardwareDecoder: .bool(false)],
                    properties: [.pixelTransferDevicePreference: .string("vulkan")])
                #expect(decoder.session.created.usingHardware == isHardware)
                try decoder.decode(stream)
                frames.append(decoder.frames.map(\.samples))
                #expect(decoder.frames.allSatisfy { $0.description.flags.contains(.hardware) == isHardware })
            }
            #expect(frames[0].count == 6 && frames[1].count == 6)
            for (software, hardware) in zip(frames[0], frames[1]) {
                // Planar in software, semi-planar in hardware: two shaders.
                let worst = zip(software, hardware).map { abs(Int($0) - Int($1)) }.max()
                #expect(software.count == hardware.count && worst ?? 255 <= 1, "\(worst ?? -1)")
            }
        }

        @Test("Dependent frames are converted in order")
        func chains() throws {
            let server = try TestDaemon(environment: Self.lavapipe)
            let (width, height, count) = (640, 360, 8)
            func image(_ range: String) -> CreateTransferSession.Image {
                CreateTransferSession.Image(
                    pixelFormat: PixelFormat.nv12.rawValue, primaries: "709", transfer: "bt1886", matrix: "709",
                    range: range, siting: "left")
            }
            let size = FrameLayout.packed(.nv12, width: width, height: height).size
            func layout(_ index: Int) -> FrameLayout {
                FrameLayout.packed(.nv12, width: width, height: height, base: index * size).layout
            }
            // Each frame is the next one's source, so the result depends on their order.
            func run(waiting: Bool) throws -> [UInt8] {
                let session = try TransferSession(
                    server.daemon,
                    CreateTransferSession.Parameters(
                        width: width, height: height, source: image("video"), target: image("full"),
                        device: "vulkan"))
                let memory = try SharedMemory(creating: "test-frames", size: size * (count + 1))
                let bytes = try #require(memory.mutableBytes)
                for index in 0..<size { bytes[index] = UInt8(96 + index % 61) }
                try session.addPool(memory, id: 1)
                var answered: [UInt64] = []
                func wait() throws {
                    guard case .frame(let answer)? = try session.nextEvent(timeout: hangLimit) else {
                        throw SessionError(.invalidSession, "no answer came")
                    }
                    #expect(answer.status == .ok, "\(answer.reason)")
                    answered.append(answer.frameID)
                }
                for index in 0..<count {
                    try session.transfer(
                        TransferFrame(
                            frameID: UInt64(index), source: TransferFrame.Place(poolID: 1, layout: layout(index)),
                            target: TransferFrame.Place(poolID: 1, layout: layout(index + 1))))
                    if waiting { try wait() }
                }
                while answered.count < count { try wait() }
                #expect(answered == (0..<UInt64(count)).map { $0 })
                defer { session.invalidate() }
                return Array(memory.bytes)
            }
            let (serial, together) = (try run(waiting: true), try run(waiting: false))
            #expect(serial == together)
            // Every conversion stretches once more, so that a frame made of an older one would differ.
            #expect(serial[size..<2 * size] != serial[2 * size..<3 * size])
        }
    }
}
