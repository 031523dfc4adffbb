// The tensors of row moments that a product's epilogue reads, and what it takes from each.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::codegen {

/// Tensors are told apart by the text of the address of a row's groups.
class MomentSources {
public:
  /// The row's mean, as the epilogue reads it.
  std::string mean(const std::string &address, int64_t groups);
  /// What `scale` gives of the row's moments (device/moments.cuh: RowMoments `row`). It is computed once a row, by those
  /// who combine its groups, not by every thread that reads it.
  std::string scale(const std::string &address, int64_t groups, const std::string &scale);
  size_t size() const { return sources.size(); }

  // Of the Problem's functions, the bodies (kernels/gemm/gemm_epilogue.cuh):
  std::string moments() const;
  std::string momentGroups() const;
  std::string rowScales() const;

private:
  struct Source {
    std::string address;
    int64_t groups;
    std::string scale; ///< empty where only the mean is read
  };
  size_t find(const std::string &address, int64_t groups, const std::string &scale);
  std::string ofEach(llvm::function_ref<std::string(const Source &)> value) const;

  std::vector<Source> sources;
};

} // namespace smelt::codegen
