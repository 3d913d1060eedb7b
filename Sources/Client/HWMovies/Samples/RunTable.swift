// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Rows of a box that each say something of several consecutive samples: `stts`, `ctts`.
///
/// The rows stay as they are in the file, so that no memory is taken for samples that the file merely claims.
struct RunTable: Sendable {
    private let rows: BigEndianTable
    /// The first sample of each row, and the number of samples of all rows at the end.
    private let starts: [Int]

    /// Rows of two columns, of which the first is the number of samples.
    init(_ rows: BigEndianTable) {
        self.rows = rows
        var starts: [Int] = []
        starts.reserveCapacity(rows.rowCount + 1)
        var total = 0
        for row in 0..<rows.rowCount {
            starts.append(total)
            total += Int(rows[row, 0])
        }
        starts.append(total)
        self.starts = starts
    }

    /// The number of samples that have rows.
    var count: Int { starts[starts.count - 1] }

    /// The number of rows.
    var rowCount: Int { rows.rowCount }

    /// The second column of a row.
    func value(_ row: Int) -> UInt32 { rows[row, 1] }

    /// The first sample of a row.
    func start(_ row: Int) -> Int { starts[row] }

    /// The row of a sample; nil where it has none.
    func row(of sample: Int) -> Int? {
        guard sample >= 0, sample < count else { return nil }
        // The last row that starts at or before the sample has it: rows without samples start where the next one does.
        return starts.partitionPoint { $0 > sample } - 1
    }
}

extension Array {
    /// The first index whose element satisfies `predicate`, in an array where all elements after such a one do, too.
    func partitionPoint(_ predicate: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
