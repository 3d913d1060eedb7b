// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The cases of a test that `make test` runs: one in `stride`, from the first on.
///
/// HWDAEMON_TEST_ALL=1 keeps all, as in `make check PARTS="cases receipts"`, and HWDAEMON_TEST_STRIDE=N keeps one in N of
/// them, as in `make quick`.
public func sampled<Cases: Collection>(_ cases: Cases, oneIn stride: Int = 1) -> [Cases.Element] {
    guard getenv("HWDAEMON_TEST_ALL") == nil else { return Array(cases) }
    let factor = getenv("HWDAEMON_TEST_STRIDE").flatMap { Int(String(cString: $0)) } ?? 1
    return cases.enumerated().filter { $0.offset % (stride * max(1, factor)) == 0 }.map(\.element)
}

/// Every pair of two lists, of which a stride that shares no factor with their counts samples both evenly.
public func pairs<First, Second>(_ first: [First], _ second: some Collection<Second>) -> [(First, Second)] {
    first.flatMap { one in second.map { (one, $0) } }
}
