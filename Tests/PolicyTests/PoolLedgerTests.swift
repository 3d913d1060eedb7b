// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite struct PoolLedgerTests {
    @Test func enforcesTheLimitsOfPools() throws {
        var pools = PoolLedger<String>(maxBytes: 1 << 20)
        try pools.add(1, "one", size: 1 << 19, isWritable: true)
        #expect(pools[1]?.size == 1 << 19 && pools[1]?.isWritable == true && pools[2] == nil)
        for (reason, id, size) in [
            ("number in use", 1, 1), ("over the limit", 2, (1 << 19) + 1), ("overflow", 2, .max), ("empty", 2, 0),
        ] as [(String, UInt32, UInt64)] {
            #expect(throws: SessionError.self, "\(reason)") {
                try pools.add(id, "two", size: size, isWritable: true)
            }
        }
        for id in 2...16 { try pools.add(UInt32(id), "more", size: 1, isWritable: false) }
        #expect(throws: SessionError.self, "17 pools") { try pools.add(17, "more", size: 1, isWritable: false) }
    }

    @Test("The pool of copies is one more, with a limit of its own", arguments: [1 << 20, 2 << 30] as [UInt64])
    func copies(maxBytes: UInt64) throws {
        let limit = min(maxBytes, 1 << 30)
        var pools = PoolLedger<String>(maxBytes: maxBytes)
        for id in 1...16 { try pools.add(UInt32(id), "app's", size: maxBytes / 16, isWritable: false) }
        let error = #expect(throws: SessionError.self) {
            try pools.add(.max, "copies", size: limit + 1, isWritable: true)
        }
        #expect(error?.status == .parameter && error?.reason.contains("limit of \(limit) bytes") == true)
        try pools.add(.max, "copies", size: limit, isWritable: true)
        #expect(throws: SessionError.self, "number in use") {
            try pools.add(.max, "copies", size: 1, isWritable: true)
        }
        #expect(throws: SessionError.self, "17 pools of the app's") {
            try pools.add(17, "more", size: 1, isWritable: true)
        }
        // It takes nothing from the app's pools.
        #expect(try pools.remove(1, isInUse: false) == "app's")
        try pools.add(17, "more", size: maxBytes / 16, isWritable: true)
        #expect(try pools.remove(.max, isInUse: false) == "copies")
        try pools.add(.max, "copies", size: limit, isWritable: true)
    }

    @Test func removesOnlyUnusedPools() throws {
        var pools = PoolLedger<String>(maxBytes: 1 << 20)
        try pools.add(1, "one", size: 1 << 20, isWritable: true)
        #expect(throws: SessionError.self, "in flight") { try pools.remove(1, isInUse: true) }
        #expect(try pools.remove(1, isInUse: false) == "one")
        #expect(throws: SessionError.self, "gone") { try pools.remove(1, isInUse: false) }
        try pools.add(2, "two", size: 1 << 20, isWritable: true)
    }
}
