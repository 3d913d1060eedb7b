// SPDX-License-Identifier: MIT

/// What a session was sent and another process would need, in order: items, which are numbered frames or packets, and marks, which
/// are changes and requests between them.
struct ReplayLog<Item, Mark> {
    enum Entry {
        case item(UInt64, Item)
        case mark(Mark)
    }

    /// The items from number `base` on; nil where no process needs one any more.
    private var items: [Item?] = []
    private var base: UInt64
    /// The number of the first item that is kept.
    private(set) var first: UInt64
    /// Each with the number of the item that follows it.
    private(set) var marks: [(next: UInt64, mark: Mark)] = []
    /// The next item and mark for the present process.
    private(set) var nextItem: UInt64
    private(set) var nextMark = 0

    /// - Parameter first: the number of the first item.
    init(first: UInt64) { (base, self.first, nextItem) = (first, first, first) }

    /// The number of the item that follows the last one.
    var end: UInt64 { base + UInt64(items.count) }
    /// Whether the present process was sent everything.
    var isSent: Bool { nextItem == end && nextMark == marks.count }
    /// The range of the items that are kept; some in it are not (nil).
    var numbers: Range<UInt64> { first..<end }

    func contains(_ number: UInt64) -> Bool { numbers.contains(number) }

    private func index(_ number: UInt64) -> Int { Int(number - base) }

    /// An item; nil where there is none, or no process needs it.
    subscript(number: UInt64) -> Item? {
        get { contains(number) ? items[index(number)] : nil }
        set {
            guard contains(number) else { return }
            items[index(number)] = newValue
            if newValue == nil { settle() }
        }
    }

    /// Passes over items that are not needed.
    private mutating func settle() {
        while first < end, items[index(first)] == nil { first += 1 }
        nextItem = max(nextItem, first)
        while nextItem < end, items[index(nextItem)] == nil { nextItem += 1 }
        // The rest is moved only when at least half of the array, and 64 items, are gone.
        let gone = Int(first - base)
        guard gone >= 64, gone * 2 >= items.count else { return }
        items.removeFirst(gone)
        base = first
    }

    // MARK: - Sending

    /// Adds an item.
    ///
    /// - Returns: its number.
    @discardableResult
    mutating func append(_ item: Item) -> UInt64 {
        items.append(item)
        return end - 1
    }

    mutating func append(_ mark: Mark) { marks.append((end, mark)) }

    private var isMarkNext: Bool { nextMark < marks.count && marks[nextMark].next <= nextItem }

    /// The next entry for the present process.
    var nextUnsent: Entry? {
        if isMarkNext { return .mark(marks[nextMark].mark) }
        return self[nextItem].map { .item(nextItem, $0) }
    }

    /// Records that the next entry was sent.
    mutating func didSend() {
        if isMarkNext {
            nextMark += 1
        } else {
            nextItem += 1
            settle()
        }
    }

    /// Starts again for another process.
    mutating func rewind() {
        (nextItem, nextMark) = (first, 0)
        settle()
    }

    // MARK: - Forgetting

    /// Forgets the items before a number, and as many marks.
    mutating func forget(before number: UInt64, marks count: Int) {
        for number in first..<max(first, number) { items[index(number)] = nil }
        marks.removeFirst(count)
        nextMark = max(0, nextMark - count)
        settle()
    }

    /// Forgets a mark that was sent.
    mutating func removeMark(at index: Int) {
        marks.remove(at: index)
        nextMark -= 1
    }

    /// Removes and returns the first mark if it was sent, no item that is kept precedes it, and `isTaken` holds for it.
    mutating func takeFirstMark(where isTaken: (Mark) -> Bool) -> Mark? {
        guard nextMark > 0, let oldest = marks.first, oldest.next <= first, isTaken(oldest.mark) else { return nil }
        removeMark(at: 0)
        return oldest.mark
    }
}
