// Method: rows that lie behind each other on both sides are copied whole. Where neighbours of the source
// and of the target go along two loops, squares of elements are turned round in buffers that the nearest cache
// holds, so that both sides move whole lines: the rows of a square may lie a power of two apart. Sources are read
// along their rows, which the hardware foresees.
#include "codegen/weight_moves.h"

#include "ir/element_bytes.h"
#include "ir/interpret/strided.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace mlir;

namespace smelt::codegen {

namespace {

using Loops = SmallVector<plan::CopyLoop>;

/// Calls `visit` with the offsets, in elements, of every round of the loops.
template <class Visit>
void forEachRound(ArrayRef<plan::CopyLoop> loops, uint64_t source, uint64_t target,
                  const Visit &visit) {
  if (loops.empty())
    return visit(source, target);
  const plan::CopyLoop &loop = loops.front();
  for (uint64_t i = 0; i < loop.count(); ++i)
    forEachRound(loops.drop_front(), source + i * loop.source_stride(),
                 target + i * loop.target_stride(), visit);
}

/// Loops between two sides of elements. Both may lie at any address.
template <class Element> class ElementMoves {
public:
  ElementMoves(const std::byte *source, std::byte *target) : source(source), target(target) {}

  void copy(const WeightPart &part) const {
    Loops outer = part.loops;
    if (outer.empty() || outer.back().target_stride() != 1)
      outer.emplace_back(1, 1, 1);
    plan::CopyLoop along = outer.pop_back_val(), down(1, 1, 1);
    bool isRow = along.source_stride() == 1;
    auto neighbours =
        llvm::find_if(outer, [](const plan::CopyLoop &loop) { return loop.source_stride() == 1; });
    if (!isRow && neighbours != outer.end()) {
      down = *neighbours;
      outer.erase(neighbours);
    }
    forEachRound(outer, part.sourceOffset, part.targetOffset, [&](uint64_t from, uint64_t to) {
      isRow ? copyRow(from, to, along.count()) : turnRound(from, to, down, along);
    });
  }

private:
  static constexpr uint64_t kWidth = sizeof(Element), kSide = kWidth > 2 ? 32 : 64; // of a square
  static constexpr auto kWhole = std::integral_constant<uint64_t, kSide>();

  void copyRow(uint64_t from, uint64_t to, uint64_t count) const {
    std::memcpy(target + to * kWidth, source + from * kWidth, count * kWidth);
  }

  /// `down` goes along neighbours of the source, `along` along those of the target.
  void turnRound(uint64_t from, uint64_t to, const plan::CopyLoop &down,
                 const plan::CopyLoop &along) const {
    uint64_t sourceStride = along.source_stride(), targetStride = down.target_stride();
    for (uint64_t column = 0; column < along.count(); column += kSide)
      for (uint64_t row = 0; row < down.count(); row += kSide) {
        uint64_t first = from + row + column * sourceStride,
                 last = to + row * targetStride + column;
        uint64_t columns = along.count() - column, rows = down.count() - row;
        if (columns >= kSide && rows >= kSide)
          turnSquare(first, sourceStride, kWhole, last, targetStride, kWhole);
        else
          turnSquare(first, sourceStride, std::min(kSide, columns), last, targetStride,
                     std::min(kSide, rows));
      }
  }

  /// Loops of known counts become shuffles of vectors: a whole square takes a third of the time.
  template <class Count>
  void turnSquare(uint64_t from, uint64_t sourceStride, Count columns, uint64_t to,
                  uint64_t targetStride, Count rows) const {
    Element read[kSide][kSide], turned[kSide][kSide];
    for (uint64_t column = 0; column < columns; ++column)
      std::memcpy(read[column], source + (from + column * sourceStride) * kWidth, rows * kWidth);
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t column = 0; column < columns; ++column)
        turned[row][column] = read[column][row];
    for (uint64_t row = 0; row < rows; ++row)
      std::memcpy(target + (to + row * targetStride) * kWidth, turned[row], columns * kWidth);
  }

  const std::byte *source;
  std::byte *target;
};

} // namespace

bool areAllOf(Value value, const WeightParts &followed) {
  TensorType type = tensorType(value);
  uint64_t elements = 0;
  for (const WeightPart &part : followed.parts) {
    if (tensorType(WeightOp(part.source).getOutput()).getElementType() != type.getElementType())
      return false;
    uint64_t rounds = 1;
    for (const plan::CopyLoop &loop : part.loops)
      rounds *= loop.count();
    elements += rounds;
  }
  return followed.obstacle == nullptr &&
         elements == static_cast<uint64_t>(*type.getNumElements().asConstant());
}

void copyPart(const WeightPart &part, size_t width, std::span<const std::byte> source,
              std::span<std::byte> target) {
  switch (width) {
  case 1:
    return ElementMoves<uint8_t>(source.data(), target.data()).copy(part);
  case 2:
    return ElementMoves<uint16_t>(source.data(), target.data()).copy(part);
  case 4:
    return ElementMoves<uint32_t>(source.data(), target.data()).copy(part);
  case 8:
    return ElementMoves<uint64_t>(source.data(), target.data()).copy(part);
  }
  llvm_unreachable("elements are 1, 2, 4 or 8 bytes wide");
}

void copyTransposed(TransposeOp op, std::span<const std::byte> source,
                    std::span<std::byte> target) {
  SmallVector<int64_t> sizes = tensorType(op.getInput()).getStaticShape(),
                       strides = interpret::rowMajorStrides(sizes);
  WeightPart part;
  uint64_t step = 1;
  for (int64_t axis : llvm::reverse(op.getPermutation())) {
    if (sizes[axis] != 1)
      part.loops.insert(part.loops.begin(), plan::CopyLoop(sizes[axis], strides[axis], step));
    step *= sizes[axis];
  }
  copyPart(part, elementBytes(tensorType(op.getInput()).getElementType()), source, target);
}

} // namespace smelt::codegen
