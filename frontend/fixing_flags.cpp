#include "frontend/fixing_flags.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// More are no help.
constexpr size_t kMostFlags = 4;

using Symbols = llvm::StringSet<>;

void addSymbols(Dim dim, Symbols &symbols) {
  dim.forEachSymbol([&](StringRef name) { symbols.insert(name); });
}

std::string nameOf(func::FuncOp function, unsigned input) {
  auto name = function.getArgAttrOfType<StringAttr>(input, "smelt.name");
  return name ? name.str() : "input_" + std::to_string(input);
}

/// "x=<batch>x576"; none where the input has none of the symbols.
std::optional<std::string> shapeFlag(func::FuncOp function, unsigned input,
                                     const Symbols &symbols) {
  std::string text;
  bool isConcerned = false;
  for (Dim dim : tensorType(function.getArgument(input)).getShape()) {
    Symbols own;
    addSymbols(dim, own);
    bool isWanted =
        llvm::any_of(own.keys(), [&](StringRef name) { return symbols.contains(name); });
    isConcerned |= isWanted;
    text += text.empty() ? "" : "x";
    text += dim.asConstant() ? dim.toString() : isWanted ? "<" + dim.toString() + ">" : "?";
  }
  return isConcerned ? std::optional("--shape " + nameOf(function, input) + "=" + text)
                     : std::nullopt;
}

void addShapeFlags(func::FuncOp function, const Symbols &symbols, SmallVector<std::string> &flags) {
  for (unsigned input = 0; input < function.getNumArguments(); ++input)
    if (std::optional<std::string> flag = shapeFlag(function, input, symbols))
      flags.push_back(*flag);
}

std::string joined(ArrayRef<std::string> flags) {
  if (flags.empty())
    return "";
  bool isShortened = flags.size() > kMostFlags,
       hasValue = llvm::any_of(flags, [](StringRef flag) { return flag.starts_with("--value"); });
  return "; give it by " + llvm::join(flags.take_front(kMostFlags), " ") +
         (isShortened ? " and so on" : "") + (hasValue ? " (for one run: --input)" : "");
}

} // namespace

std::string fixingFlags(Value value) {
  auto function = dyn_cast<func::FuncOp>(value.getParentRegion()->getParentOp());
  if (!function)
    return "";
  llvm::SetVector<Value> seen;
  Symbols symbols;
  llvm::SmallVector<std::string> flags;
  seen.insert(value);
  for (size_t next = 0; next < seen.size(); ++next) {
    Value current = seen[next];
    if (auto dims = current.getDefiningOp<DimsOp>())
      for (Attribute dim : dims.getDims())
        addSymbols(Dim(cast<DimAttr>(dim)), symbols);
    if (Operation *op = current.getDefiningOp())
      seen.insert(op->operand_begin(), op->operand_end());
    else if (auto input = dyn_cast<BlockArgument>(current))
      flags.push_back("--value " + nameOf(function, input.getArgNumber()) + "=@FILE.npy");
  }
  addShapeFlags(function, symbols, flags);
  return joined(flags);
}

std::string fixingFlags(func::FuncOp function, Dim size) {
  Symbols symbols;
  addSymbols(size, symbols);
  llvm::SmallVector<std::string> flags;
  addShapeFlags(function, symbols, flags);
  return joined(flags);
}

} // namespace smelt::frontend
