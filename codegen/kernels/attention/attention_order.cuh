// The order in which attention_tma.cuh takes its tiles, where it is not head after head.
//
// Problem: a block takes every n-th tile of the order. Under a causal mask the tiles of the last rows
// are the longest, and a block's sum of them is the time. Taking the longest of all heads first shares
// them out, but comes back to the keys of a head only after those of all others, which L2 then holds no
// more: every row of tiles reads all keys and values from memory (32 x 16 heads of 128 x 512 tokens on
// an H100: 470 MB and 160 us, where cuDNN takes 109).
//
// Method: sections of as many heads as L2 holds the keys and values of. Within one, rows of tiles go over
// its heads before the next row: neighbours read the same biases, where heads have them in common. The
// second section of a pair begins with the longest rows, the first of it with the shortest: what a block
// gets too much of in the one it gets too little of in the other. Two sections at least, for that reason.
//
// Assumes: heads that share their keys are neighbours. Constant expressions, for the host's tests too.
// Predicted, over 600 random shapes: the block with most to do has 2 % more steps than the mean (longest
// first of all: 5 %) at eight tiles a block and more, 4 % (11 %) at four, 14 % (42 %) at one or two; keys and
// values come from memory once.
// Gain (both on one H100, 16,384 tokens in all): causal heads of 128 elements at 512 tokens 160 us to 119, at 1,024
// 241 to 169, at 2,048 390 to 284, at 4,096 575 to 500; of 64 elements at 8,192 1,285 to 1,192.
#pragma once

namespace smelt {

/// Tiles of `rows` rows of tiles by `heads` heads (of all batches).
class AttentionOrder {
public:
  struct Place {
    int head, row; // row of tiles
  };

  /// `keyBytes`: of a key and a value. `sharing`: heads that share them.
  constexpr AttentionOrder(int rows, int heads, int keys, int keyBytes, int sharing)
      : rows(rows), heads(heads),
        sectionHeads(ceilDiv(heads, sectionsFor(heads, keys, keyBytes, sharing))) {}

  constexpr Place at(int index) const {
    int section = index / (rows * sectionHeads), within = index % (rows * sectionHeads);
    int first = section * sectionHeads, width = min(sectionHeads, heads - first);
    int row = within / width, fromEnd = ceilDiv(heads, sectionHeads) - 1 - section;
    return {first + within % width, fromEnd % 2 == 0 ? rows - 1 - row : row};
  }

  /// The first row of warpgroup `group`, of two, in the tile at `row`, where all tiles run at once and the longest is the
  /// time: of the one from the head's start, of the other as far from its end, so that all tiles are as long. `groupRows`:
  /// of a warpgroup. `end`: of the last tile.
  static constexpr int rowFromBothEnds(int row, int group, int groupRows, int end) {
    return group == 0 ? row / 2 : end - groupRows - row / 2;
  }

private:
  /// An H100's L2 has 50 MB, in halves that keep copies of each other's lines.
  static constexpr int kSectionBytes = 16 << 20;

  /// An even number.
  static constexpr int sectionsFor(int heads, int keys, int keyBytes, int sharing) {
    int fitting = max(kSectionBytes / keyBytes / max(keys, 1), 1);
    return 2 * ceilDiv(heads, 2 * fitting * sharing);
  }

  static constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }
  static constexpr int min(int a, int b) { return a < b ? a : b; }
  static constexpr int max(int a, int b) { return a > b ? a : b; }

  int rows, heads, sectionHeads;
};

} // namespace smelt
