// What follows a matrix product inside its kernel.
//
// The ops behind the product are computed on `width` neighbouring columns at a time. What they read
// is fetched before the main loop; statistics of norms are computed once a row, from moments that
// the kernel before has stored, and those of the results stored for the kernels behind.
#pragma once

#include "codegen/kernels/gemm/gemm_product.h"

#include <optional>
#include <set>
#include <string>

namespace smelt::codegen {

/// The texts of the Problem's functions.
struct GemmEpilogue {
  int64_t width = 1;
  std::string columnMembers, columns; ///< what it reads that is the same for all rows
  std::string inputMembers, inputs;   ///< what else it reads
  std::string prefetch;
  size_t momentTensors = 0;            ///< whose statistics it reads
  std::string moments;                 ///< where a row's groups of each are,
  std::string momentGroups;            ///< how many,
  std::string rowScales;               ///< and what they scale the row by
  std::string countMembers, addCounts; ///< of a thread, for each total, and what adds them to it
  std::string text;
  /// The same in two parts, for a template that computes pairs of columns and stores vectors of `width`.
  struct InFragments {
    std::string members; ///< of the results, of which each is a vector
    int resultBytes;     ///< of an element of each: 2, of 16-bit floats, or 1, of integers
    std::string text;    ///< computes them
    std::string stores;  ///< takes them from there
    int64_t inputPeriod; ///< columns after which a row's inputs are the same again; 0: none are
  };
  std::optional<InFragments>
      inFragments; ///< short, without moments and totals, and of one product without inputs of each element
  bool isLong = false; ///< takes more statements than a few for each sum
  std::set<std::string> sizes;

  /// Shared memory that it keeps for every row of a tile.
  int sharedBytesPerRow() const {
    constexpr int kStatisticsBytes = 2 * sizeof(float); // device/moments.cuh: RowStatistics
    return static_cast<int>(momentTensors) * kStatisticsBytes;
  }
};

/// Whether what becomes of a sum takes many instructions, such as GELU.
bool callsFunctions(const GemmProduct &product);

/// The epilogue with the widest accesses that all its tensors allow.
mlir::FailureOr<GemmEpilogue> emitGemmEpilogue(GemmProduct &product);

} // namespace smelt::codegen
