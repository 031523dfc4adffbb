// Fusions of which the same kernels are generated.
//
// Problem: a model repeats its layers, and choosing and writing kernels takes a millisecond a
// fusion where its index arithmetic is long. Method: fusions are hashed and compared by all that
// templates see of them: attributes, types, which inputs are weights, and the body without the
// names of its ONNX nodes. Assumes that the fusions live as long as this. Gain: 5,000 transposes
// and reshapes are selected in 0.1 s instead of 2.2.
#pragma once

#include "ir/dialect.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace smelt::codegen {

class EqualFusions {
public:
  /// What was added with an equal fusion, if there is one.
  std::optional<size_t> find(FusionOp fusion) const;
  void add(FusionOp fusion, size_t index);

private:
  struct Entry {
    FusionOp fusion;
    size_t index;
  };
  llvm::DenseMap<unsigned, llvm::SmallVector<Entry, 1>> entries; ///< by hash
};

} // namespace smelt::codegen
