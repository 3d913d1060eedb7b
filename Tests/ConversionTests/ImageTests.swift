// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDVulkan
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// Sources in images compared with the same in buffers, and wrong descriptions of dma-bufs.
    @Suite struct Images {
        static let tilings: [(VkImageTiling, String)] = [
            (VK_IMAGE_TILING_LINEAR, "linear"), (VK_IMAGE_TILING_OPTIMAL, "optimal"),
        ]

        @Test(
            "images and buffers have the same result", arguments: tilings.indices, [(64, 48), (70, 38), (33, 17)])
        func sameBits(tiling: Int, size: (width: Int, height: Int)) throws {
            let device = try TestDevice.get()
            let uploader = try ImageUploader(device)
            let targets: [(PixelFormat, PixelFormat)] = [
                (.p010, .rgba16f), (.nv12, .bgra8), (.p010, .nv12), (.rgba16f, .p010), (.bgra8, .rgba8),
            ]
            for (index, (from, to)) in targets.enumerated() {
                var conversion = SharedMemories.conversion(from, to, size.width, size.height)
                conversion.source.signal.siting = index % 2 == 0 ? .center : .topLeft
                conversion.options.chromaDownsampling = .siting
                let converter = try VulkanConverter(ConversionPlan(conversion), on: device)
                let picture = Picture.noise(from, size.width, size.height, seed: UInt64(index + 70))
                let wanted = try convert(picture, with: converter, to: to)
                let images = try uploader.picture(picture, Self.tilings[tiling].0)
                var result = Picture(to, width: size.width, height: size.height)
                // Slices of few rows as well: images are bound whole.
                for limit in [converter.bindingLimit, 256 + 16 * 1024] {
                    converter.bindingLimit = limit
                    var memory = result.planes.map {
                        UnsafeMutableRawBufferPointer.allocate(byteCount: $0.count, alignment: 64)
                    }
                    defer {
                        memory.forEach { $0.deallocate() }
                        memory = []
                    }
                    let ticket = try converter.submit(
                        images,
                        into: try memory.enumerated().map {
                            MutablePlaneView(
                                base: try #require($1.baseAddress),
                                stride: to.rowBytes(plane: $0, width: size.width))
                        })
                    try converter.finish(ticket)
                    result.planes = memory.map { Array($0) }
                    #expect(result == wanted, "\(from) to \(to), \(Self.tilings[tiling].1)")
                }
                #expect(throws: SessionError.self) {
                    let other = try uploader.picture(Picture.noise(from, 16, 16, seed: 1), Self.tilings[tiling].0)
                    _ = try converter.submit(other, into: [])
                }
            }
            try TestDevice.checkValidation()
        }

        @Test func createsNothingForImagesBeforeTheirFirstUse() throws {
            let device = try VulkanDevice(allowsSoftware: true)
            let converter = try VulkanConverter(
                ConversionPlan(SharedMemories.conversion(.nv12, .rgba8, 16, 16)), on: device)
            _ = try convert(Picture.noise(.nv12, 16, 16, seed: 1), with: converter, to: .rgba8)
            #expect(converter.imagePipeline == nil && converter.slots[0].imageSlices.isEmpty)
        }

        /// NV12 of 64x32 in one dma-buf, with faults in its description.
        static func picture(_ change: (inout DMABufPicture) -> Void = { _ in }) -> DMABufPicture {
            var picture = DMABufPicture(
                format: .nv12, width: 64, height: 32, objects: [7],
                planes: [
                    DMABufPicture.Plane(object: 0, offset: 0, pitch: 64, modifier: 0),
                    DMABufPicture.Plane(object: 0, offset: 2048, pitch: 64, modifier: 0),
                ])
            change(&picture)
            return picture
        }

        static let wrong: [(String, DMABufPicture)] = [
            ("not the nv12", picture { $0.format = .p010 }),
            ("cannot hold 64x32", picture { $0.width = 63 }),
            ("cannot hold 64x32", picture { $0.height = 31 }),
            ("cannot hold 64x32", picture { $0.height = .min }),
            ("cannot hold 64x32", picture { $0.height = 1 << 40 }),
            ("cannot hold a row", picture { $0.width = 66 }),
            ("past its object", picture { $0.height = 34 }),
            ("not 1 to 4", picture { $0.objects = [] }),
            ("not 1 to 4", picture { $0.objects = [7, 7, 7, 7, 7] }),
            ("no descriptor", picture { $0.objects = [-1] }),
            ("has 2", picture { $0.planes.removeLast() }),
            ("has 2", picture { $0.planes.append($0.planes[0]) }),
            ("does not exist", picture { $0.planes[1].object = 1 }),
            ("does not exist", picture { $0.planes[0].object = -1 }),
            ("modifier is invalid", picture { $0.planes[0].modifier = DMABufPicture.invalidModifier }),
            ("cannot hold", picture { $0.planes[0].pitch = 63 }),
            ("cannot hold", picture { $0.planes[1].pitch = 1 << 31 }),
            ("cannot hold", picture { $0.planes[1].pitch = .max }),
            ("past its object", picture { $0.planes[1].offset = 2049 }),
            ("past its object", picture { $0.planes[1].offset = .max }),
            ("past its object", picture { $0.planes[0].pitch = 128 }),
            ("past its object", picture { $0.planes[0] = .init(object: 0, offset: 3072, pitch: 64, modifier: 5) }),
        ]

        @Test func refusesWrongDescriptions() throws {
            func validate(_ picture: DMABufPicture, _ size: UInt64 = 3072) throws {
                try picture.validate(.nv12, width: 64, height: 32, sizes: picture.objects.map { _ in size })
            }
            try validate(Self.picture())
            // A tiled plane must only begin inside.
            try validate(Self.picture { $0.planes[0] = .init(object: 0, offset: 3071, pitch: 64, modifier: 5) })
            for (words, picture) in Self.wrong {
                let error = #expect(throws: SessionError.self) { try validate(picture) }
                #expect(
                    error?.status == .parameter && error?.reason.lowercased().contains(words) == true, "\(words)")
            }
            #expect(throws: SessionError.self) { try validate(Self.picture(), 3071) }
            #expect(throws: SessionError.self) { try validate(Self.picture(), 0) }
            let planar = Self.picture { $0.format = .yu12 }
            #expect(throws: SessionError.self) {
                try planar.validate(.yu12, width: 64, height: 32, sizes: [1 << 20])
            }
        }

        /// Tiled surfaces, as Intel's and AMD's drivers export them, are read only with a modifier that the device lists.
        @Test func refusesModifiersThatADeviceDoesNotList() throws {
            func listed(_ modifier: UInt64, planes: UInt32 = 1, sampled: Bool = true)
                -> VkDrmFormatModifierPropertiesEXT
            {
                VkDrmFormatModifierPropertiesEXT(
                    drmFormatModifier: modifier, drmFormatModifierPlaneCount: planes,
                    drmFormatModifierTilingFeatures: sampled ? VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT.rawValue : 0)
            }
            // I915_FORMAT_MOD_Y_TILED, I915_FORMAT_MOD_Y_TILED_CCS, and AMD's GFX10 with 64 KiB blocks (drm_fourcc.h).
            let (tiled, compressed, amd) = (
                UInt64(0x0100_0000_0000_0002), UInt64(0x0100_0000_0000_0004), UInt64(0x0200_0000_0101_6D02)
            )
            try VulkanDevice.checkModifier(tiled, among: [listed(0), listed(tiled)], "GPU")
            for (modifier, known, words) in [
                (tiled, [listed(0)], "does not support"), (amd, [listed(0), listed(tiled)], "0x20000000101"),
                (tiled, [], "does not support"), (compressed, [listed(compressed, planes: 2)], "2 planes"),
                (tiled, [listed(tiled, sampled: false)], "does not read"),
            ] {
                let error = #expect(throws: SessionError.self) {
                    try VulkanDevice.checkModifier(modifier, among: known, "GPU")
                }
                #expect(error?.status == .pixelTransferNotSupported && error?.reason.contains(words) == true)
            }
        }

        @Test func deviceWithoutTheExtensionRefusesDMABufs() throws {
            let device = try TestDevice.get()
            try #require(!device.description.importsDMABufImages, "this device takes dma-bufs: write a test of it")
            let error = #expect(throws: SessionError.self) {
                _ = try device.importPicture(Self.picture(), as: .nv12, width: 64, height: 32)
            }
            #expect(error?.status == .pixelTransferNotSupported && error?.reason.contains("dma-bufs") == true)
            #expect(device.modifiers(of: VK_FORMAT_R8_UINT).isEmpty)
            try TestDevice.checkValidation()
        }
    }
}
