// SPDX-License-Identifier: GPL-2.0-or-later
// Properties of the source's format.

const bool SOURCE_DEEP = SOURCE == P010 || SOURCE == I010;
const bool SOURCE_PAIRS = SOURCE == NV12 || SOURCE == P010;
const bool SOURCE_YCBCR = SOURCE <= I010;

// The 10-bit sample in a word's lower half.
uint deep(uint word) { return SOURCE == P010 ? (word & 0xffffu) >> 6 : word & 0x3ffu; }
