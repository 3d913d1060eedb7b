#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""agree.py RECEIPT NUMBERS RATE: what is captured is in the files or dropped, and the numbers that are missing are those that the receipt
names; NUMBERS is a file of picture_numbers.py."""
import json
import sys

receipt = json.load(open(sys.argv[1]))
numbers = [int(line.split()[0]) for line in open(sys.argv[2])]
rate = int(sys.argv[3])
assert receipt["schema"] == 1
assert numbers == sorted(set(numbers)), "a frame is there twice, or out of order"
assert len(numbers) == receipt["coded"] == sum(file["frames"] for file in receipt["files"]), (len(numbers), receipt["coded"])
assert receipt["captured"] == receipt["coded"] + receipt["dropped"], receipt
assert receipt["dropped"] == sum(receipt["dropped_by_cause"].values()) == sum(drop["frames"] for drop in receipt["drops"])
# Which numbers the receipt misses; beyond one of two frames their times are not in it.
if all(halving["one_of"] == 2 for halving in receipt["halvings"]):
    named = {round(drop["time_s"] * rate) + frame * (2 if drop["cause"] == "rate" else 1)
             for drop in receipt["drops"] if drop["cause"] != "end" for frame in range(drop["frames"])}
    missing = set(range(numbers[-1])) - set(numbers)
    assert missing == {number for number in named if number < numbers[-1]}, missing ^ named
assert numbers[-1] < receipt["captured"]
