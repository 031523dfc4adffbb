// What follows a matrix product inside its kernel.
//
// The ops behind the product are computed on `width` neighbouring columns at a time. What they read
// is fetched before the main loop; statistics of norms are computed once a row, from moments that
// the kernel before has stored, and those of the results stored for the kernels behind.
#pragma once

#include "codegen/kernels/gemm/gemm_product.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace smelt::codegen {

/// The tensors of row moments that an epilogue reads, each as the text of the address of a row's
/// groups.
class MomentSources {
public:
  /// The name of the row's combined moments in the epilogue.
  std::string add(const std::string &address, int64_t groups) {
    auto [found, isNew] = numbers.try_emplace(address, numbers.size());
    std::string number = std::to_string(found->second);
    if (isNew) {
      addresses += "if constexpr (I == " + number + ")\n  return " + address + ";\n";
      counts += "if constexpr (I == " + number + ")\n  return " + std::to_string(groups) + ";\n";
    }
    return "rows[" + number + "]";
  }
  size_t size() const { return numbers.size(); }

  std::string addresses, counts; // bodies of moments() and momentGroups()

private:
  std::map<std::string, size_t> numbers;
};

/// The texts of the Problem's functions.
struct GemmEpilogue {
  int64_t width;
  std::string columnMembers, columns; ///< what it reads that is the same for all rows
  std::string inputMembers, inputs;   ///< what else it reads
  std::string prefetch;
  MomentSources moments;
  std::string text;
  /// The same in two parts, for a template that computes pairs of columns and stores vectors of `width`.
  struct InFragments {
    std::string members; ///< of the results, of which each is a vector of 16-bit floats
    std::string text;    ///< computes them
    std::string stores;  ///< takes them from there
  };
  std::optional<InFragments>
      inFragments; ///< of one product, short, without inputs of each element and without moments
  std::set<std::string> sizes;
};

/// Whether what becomes of a sum takes many instructions, such as GELU.
bool callsFunctions(const GemmProduct &product);

/// The epilogue with the widest accesses that all its tensors allow.
mlir::FailureOr<GemmEpilogue> emitGemmEpilogue(GemmProduct &product);

} // namespace smelt::codegen
