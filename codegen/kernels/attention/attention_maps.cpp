// Describes operands of attention by tensor maps.
#include "codegen/kernels/attention/attention_maps.h"

#include "codegen/cuda_text.h"
#include "codegen/kernels/attention/attention_config.cuh"
#include "codegen/lanes.h"

using namespace mlir;

namespace smelt::codegen {

std::optional<HeadLayout> headLayout(unsigned input, Dim first, const Index &index,
                                     int64_t elementBytes, bool mayBroadcast) {
  int64_t unit = 16 / elementBytes;
  Dim unused = Dim::constant(first.getContext(), unit);
  SmallVector<Dim> strides; // of an axis with one element: any
  bool moves[3] = {};
  Dim misfit = Dim::constant(first.getContext(), 0);
  auto canFit = [&](Dim distance) {
    if (knownDivisor(distance, Lanes()) % unit != 0)
      misfit = misfit.max(distance.mod(unused));
    return !distance.asConstant() || *distance.asConstant() % unit == 0;
  };
  for (unsigned axis : {2, 1, 0}) {
    std::optional<StringRef> symbol = index[axis].asSymbol();
    std::optional<Dim> stride = symbol ? linearFactor(first, *symbol) : unused;
    moves[axis] = symbol && stride && !stride->isConstant(0);
    if (mayBroadcast && stride && !moves[axis])
      stride = unused;
    if (!stride || stride->isConstant(0) || !stride->isKnownNonNegative() || !canFit(*stride))
      return std::nullopt;
    strides.push_back(*stride);
    if (moves[axis])
      first = first - index[axis] * *stride;
  }
  bool isKnown = canFit(first); // and that by sizes alone
  for (Dim dim : {first, strides[0], strides[1], strides[2]})
    dim.forEachSymbol([&](StringRef symbol) { isKnown &= !symbol.starts_with("%"); });
  if (!isKnown)
    return std::nullopt;
  return HeadLayout{input,    first,    strides[0], strides[1], strides[2],
                    moves[2], moves[1], moves[0],   misfit};
}

/// A map of the layout's buffer without its sizes and boxes.
static TensorMap mapOf(const HeadLayout &layout, Type element) {
  int64_t bytes = elementBytes(element);
  TensorMap map;
  map.buffer = {LaunchBuffer::input, layout.input, {}};
  if (!layout.offset.isConstant(0))
    map.buffer.offset = layout.offset * bytes;
  map.elementType = element;
  map.byteStrides = {layout.rowStride * bytes, layout.headStride * bytes,
                     layout.batchStride * bytes};
  map.l2Promotion = plan::L2Promotion::bytes_256;
  return map;
}

TensorMap headMap(const HeadLayout &layout, TensorType type, int boxRows) {
  auto columns = static_cast<unsigned>(AttentionTmaTiling::panel(*type.getDim(3).asConstant()));
  TensorMap map = mapOf(layout, type.getElementType());
  map.sizes = {type.getDim(3), type.getDim(2), type.getDim(1), type.getDim(0)};
  map.box = {columns, static_cast<unsigned>(boxRows), 1, 1};
  map.swizzle = columns == 64   ? plan::Swizzle::bytes_128
                : columns == 32 ? plan::Swizzle::bytes_64
                                : plan::Swizzle::bytes_32;
  return map;
}

TensorMap biasMap(const HeadLayout &layout, Type element, TensorType query, TensorType key) {
  auto length = [&](bool moves, unsigned axis) {
    return moves ? query.getDim(axis) : Dim::constant(query.getContext(), 1);
  };
  TensorMap map = mapOf(layout, element);
  map.sizes = {key.getDim(2), query.getDim(2), length(layout.isByHead, 1),
               length(layout.isByBatch, 0)};
  map.box = {AttentionTmaTiling::kBiasPanel, AttentionTmaTiling::kGroupRows, 1, 1};
  map.swizzle = plan::Swizzle::bytes_128;
  return map;
}

} // namespace smelt::codegen
