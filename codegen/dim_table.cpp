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

void DimTable::append(Dim dim, std::vector<DimInstruction> &program) {
  bool first = true;
  for (const Dim::Term &term : dim.getTerms()) {
    program.emplace_back(DimOpcode::constant, term.coefficient);
    for (Attribute atom : term.atoms) {
      appendAtom(atom, program);
      program.emplace_back(DimOpcode::mul, 0);
    }
    if (!first)
      program.emplace_back(DimOpcode::add, 0);
    first = false;
  }
}

} // namespace smelt::codegen
