// Times of tilings, measured on a GPU, that stand beside the model of the choice (gemm_choice.h).
//
// Codegen measures nothing: it is given the times, and the same times give the same plan. They are kept as text,
// in a file and in the plan that they decided about.
#pragma once

#include "runtime/status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smelt::codegen {

/// What one tiling of a product took at one number of rows, or why it can not be used.
struct TilingTime {
  int64_t rows;
  std::string tiling; ///< GemmChoice::name
  double microseconds = 0;
  std::string failure = {}; ///< "": it was measured
};

/// The times of products by their key (TunableProduct::key), of one GPU.
class Tuning {
public:
  Tuning(std::string device, std::string architecture)
      : deviceName(std::move(device)), arch(std::move(architecture)) {}

  /// Reads what text() wrote. Fails with kPlan for anything else, and for times of kernels other than this Smelt's.
  static Result<Tuning> parse(llvm::StringRef text);
  /// Null where there is no text, as in a plan that nobody tuned.
  static Result<std::shared_ptr<const Tuning>> parseIfAny(llvm::StringRef text);
  std::string text() const;
  /// The device of such a text, whatever Smelt wrote it; "" where there is none.
  static std::string deviceIn(llvm::StringRef text);

  const std::string &device() const { return deviceName; }
  const std::string &architecture() const { return arch; }

  /// In the order of rows and tilings; none for a product that is not known.
  llvm::ArrayRef<TilingTime> timesOf(const std::string &product) const;
  /// In place of an earlier one of the same rows and tiling. `description` says for people what the product is.
  void add(const std::string &product, const std::string &description, TilingTime time);
  /// The part that is of these products.
  Tuning only(const std::set<std::string> &products) const;
  bool isEmpty() const { return products.empty(); }

private:
  struct Product {
    std::string description;
    std::vector<TilingTime> times;
  };

  std::string deviceName, arch;
  std::map<std::string, Product> products;
};

} // namespace smelt::codegen
