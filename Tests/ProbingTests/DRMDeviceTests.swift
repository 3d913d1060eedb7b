// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDDRM
import Glibc
import HWDModel
import Testing

@testable import HWDProbing

@Suite("DRM devices as libdrm describes them")
struct DRMDeviceTests {
    /// Calls `body` with a device as `drmGetDevices2` describes it.
    private func withDevice<Result>(
        bus: drmPciBusInfo, info: drmPciDeviceInfo, type: Int32 = DRM_BUS_PCI, _ body: (drmDevice) -> Result
    ) -> Result {
        var (bus, info) = (bus, info)
        return withUnsafeMutablePointer(to: &bus) { bus in
            withUnsafeMutablePointer(to: &info) { info in
                var device = drmDevice()
                device.bustype = type
                device.businfo.pci = bus
                device.deviceinfo.pci = info
                return body(device)
            }
        }
    }

    @Test func formatsPCIAddressAndIDLikeTheKernel() {
        let device = withDevice(
            bus: drmPciBusInfo(domain: 0, bus: 3, dev: 0, func: 0),
            info: drmPciDeviceInfo(
                vendor_id: 0x8086, device_id: 0x8a52, subvendor_id: 0x1028, subdevice_id: 0x1, revision_id: 7)
        ) { DRMDevice($0) }
        #expect(device.pciAddress == "0000:03:00.0")
        #expect(device.pciID == "8086:8a52")
        let large = withDevice(
            bus: drmPciBusInfo(domain: 0x1_2ab, bus: 0xc1, dev: 0x1f, func: 7),
            info: drmPciDeviceInfo(
                vendor_id: 0x10de, device_id: 0xf, subvendor_id: 0, subdevice_id: 0, revision_id: 0)
        ) { DRMDevice($0) }
        #expect(large.pciAddress == "12ab:c1:1f.7")
        #expect(large.pciID == "10de:000f")
    }

    @Test func hasNoAddressOnAnotherBus() {
        let device = withDevice(
            bus: drmPciBusInfo(domain: 0, bus: 3, dev: 0, func: 0),
            info: drmPciDeviceInfo(
                vendor_id: 1, device_id: 2, subvendor_id: 0, subdevice_id: 0, revision_id: 0),
            type: DRM_BUS_PLATFORM
        ) { DRMDevice($0) }
        #expect(device.pciAddress == nil && device.pciID == nil)
        #expect(device.link(to: 0) == nil)
    }

    @Test func readsNameAndVersionOfADriver() {
        var name = Array("amdgpu".utf8CString)
        let driver = name.withUnsafeMutableBufferPointer { name in
            var version = drmVersion()
            (version.version_major, version.version_minor, version.version_patchlevel) = (3, 57, 0)
            version.name = name.baseAddress
            version.name_len = 6
            return DRMDriver(version)
        }
        #expect(driver?.name == "amdgpu")
        #expect(driver?.version == "3.57.0")
        #expect(DRMDriver(drmVersion()) == nil)
    }

    @Test func leavesADeviceThatLibdrmDoesNotKnowWithoutADescription() throws {
        var status = stat()
        #expect(stat("/dev/null", &status) == 0)
        #expect(DRMDevice(number: status.st_rdev) == nil)
        let file = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(file) }
        #expect(DRMDriver(file: file) == nil)
        let node = DeviceNode("/dev/null")
        #expect(node.fileDescriptor != nil)
        let description = node.description
        #expect(description.pciAddress == nil && description.kernelDriver == nil && description.byPath == nil)
        #expect(description.reason == nil)
    }

    @Test func reportsMissingNodesAndFiles() {
        let missing = DeviceNode("/nowhere/renderD128").description
        #expect(missing.state == .absent && missing.reason == "no such device")
        let file = DeviceNode("/proc/self/exe").description
        #expect(file.state == .notADevice)
    }
}
