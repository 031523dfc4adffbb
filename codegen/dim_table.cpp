#include "codegen/dim_table.h"

#include "ir/dialect.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace smelt::codegen {

using plan::DimInstruction;
using plan::DimOpcode;

uint32_t DimTable::index(Dim dim) {
  auto [entry, isNew] = indices.try_emplace(dim.getAttribute(), metadata.dims.size());
  if (isNew) {
    auto expression = std::make_unique<plan::DimExpressionT>();
    append(dim, expression->program);
    metadata.dims.push_back(std::move(expression));
  }
  return entry->second;
}

uint32_t DimTable::symbolIndex(StringRef name) {
  auto [entry, isNew] = symbols.try_emplace(name, metadata.symbols.size());
  if (isNew)
    metadata.symbols.push_back(name.str());
  return entry->second;
}

void DimTable::appendAtom(Attribute atom, std::vector<DimInstruction> &program) {
  if (auto symbol = dyn_cast<StringAttr>(atom)) {
    program.emplace_back(DimOpcode::symbol, symbolIndex(symbol.getValue()));
    return;
  }
  auto call = cast<DimCallAttr>(atom);
  append(Dim(cast<DimAttr>(call.getLhs())), program);
  append(Dim(cast<DimAttr>(call.getRhs())), program);
  DimOpcode opcode = llvm::StringSwitch<DimOpcode>(call.getFunction())
                         .Case("floordiv", DimOpcode::floor_div)
                         .Case("ceildiv", DimOpcode::ceil_div)
                         .Case("mod", DimOpcode::mod)
                         .Case("min", DimOpcode::min)
                         .Default(DimOpcode::max);
  program.emplace_back(opcode, 0);
}

/// A coefficient of 1 before atoms is left out, so that a plain symbol is one instruction: that is
/// how the runtime recognises the input dimensions that define symbols.
void DimTable::append(Dim dim, std::vector<DimInstruction> &program) {
  SmallVector<Dim::Term> terms = dim.getTerms();
  if (terms.empty())
    program.emplace_back(DimOpcode::constant, 0);
  for (auto [index, term] : llvm::enumerate(terms)) {
    bool hasFactor = term.coefficient != 1 || term.atoms.empty();
    if (hasFactor)
      program.emplace_back(DimOpcode::constant, term.coefficient);
    for (Attribute atom : term.atoms) {
      appendAtom(atom, program);
      if (hasFactor)
        program.emplace_back(DimOpcode::mul, 0);
      hasFactor = true;
    }
    if (index > 0)
      program.emplace_back(DimOpcode::add, 0);
  }
}

} // namespace smelt::codegen
