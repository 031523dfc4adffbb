#include "passes/fuse/merge_cost.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace smelt::passes {

int64_t typicalSize(Dim dim) {
  return dim.evaluate([](llvm::StringRef) { return std::optional<int64_t>(kTypicalSize); })
      .value_or(1);
}

KernelCost SharedProduct::product(int64_t columns, int64_t storedColumns) const {
  int64_t elements = rows * depth + depth * columns + rows * storedColumns;
  return {1, elements * elementBytes};
}

KernelCost SharedProduct::apart() const {
  KernelCost cost;
  for (const BranchShape &branch : branches)
    cost = cost + product(branch.columns, branch.columns);
  return cost;
}

KernelCost SharedProduct::sideBySide() const {
  int64_t columns = 0;
  KernelCost copies;
  for (const BranchShape &branch : branches) {
    columns += branch.columns;
    if (branch.isMaterialized)
      copies = copies + KernelCost{1, 2 * rows * branch.columns * elementBytes};
  }
  return product(columns, columns) + copies;
}

KernelCost SharedProduct::combined() const {
  int64_t stored = branches.front().columns;
  return product(stored * static_cast<int64_t>(branches.size()), stored);
}

KernelCost SharedProduct::chained() const {
  int64_t stored = rows * branches.front().columns * elementBytes;
  return apart() + KernelCost{0, stored * static_cast<int64_t>(branches.size() - 1)};
}

std::string describeSaving(KernelCost saved) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "saves " << saved.launches << (saved.launches == 1 ? " launch" : " launches") << " and "
         << llvm::format("%.1f KB (%.1f us at typical sizes)",
                         static_cast<double>(saved.bytes) / 1e3, saved.microseconds());
  return text;
}

} // namespace smelt::passes
