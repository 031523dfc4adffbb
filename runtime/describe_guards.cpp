#include "runtime/describe_guards.h"

#include "runtime/shape_program.h"
#include "runtime/text.h"

#include <algorithm>
#include <optional>

namespace smelt::api {

namespace {

/// The operand of a dim that is nothing but one constant, or one symbol.
std::optional<int64_t> onlyOperand(const plan::MetadataT &metadata, uint32_t dim,
                                   plan::DimOpcode opcode) {
  const auto &program = metadata.dims[dim]->program;
  if (program.size() != 1 || program[0].opcode() != opcode)
    return std::nullopt;
  return program[0].operand();
}

/// Symbols in the order in which inputs have them.
std::vector<int64_t> symbolsOfInputs(const plan::MetadataT &metadata) {
  std::vector<int64_t> symbols;
  for (const auto &input : metadata.inputs)
    for (uint32_t dim : input->dims)
      if (std::optional<int64_t> symbol = onlyOperand(metadata, dim, plan::DimOpcode::symbol);
          symbol && std::find(symbols.begin(), symbols.end(), *symbol) == symbols.end())
        symbols.push_back(*symbol);
  return symbols;
}

struct Range {
  smelt_int64 least = 0, most = -1;

  void atLeast(smelt_int64 bound) { least = std::max(least, bound); }
  void atMost(smelt_int64 bound) { most = most < 0 ? bound : std::min(most, bound); }
};

/// What the guards that compare the symbol with a number leave of it.
Range rangeOf(const plan::MetadataT &metadata, int64_t symbol) {
  Range range;
  for (const auto &guard : metadata.guards) {
    bool isEqual = guard->relation == plan::Relation::equal;
    auto isSymbol = [&](uint32_t dim) {
      return onlyOperand(metadata, dim, plan::DimOpcode::symbol) == symbol;
    };
    auto numberOf = [&](uint32_t dim) {
      return onlyOperand(metadata, dim, plan::DimOpcode::constant);
    };
    if (std::optional<int64_t> bound = numberOf(guard->right); bound && isSymbol(guard->left)) {
      range.atMost(*bound);
      if (isEqual)
        range.atLeast(*bound);
    } else if ((bound = numberOf(guard->left)); bound && isSymbol(guard->right)) {
      range.atLeast(*bound);
      if (isEqual)
        range.atMost(*bound);
    }
  }
  return range;
}

Status checkRequest(size_t index, size_t count, const char *what) {
  if (index < count)
    return {};
  return Status(StatusCode::kUsage,
                joinText("there is no ", what, " ", index, "; there are ", count));
}

} // namespace

GuardDescriptions::GuardDescriptions(const plan::MetadataT &metadata) {
  for (int64_t symbol : symbolsOfInputs(metadata)) {
    Range range = rangeOf(metadata, symbol);
    dimensions.push_back({metadata.symbols[static_cast<size_t>(symbol)], range.least, range.most});
  }
  for (const auto &guard : metadata.guards)
    guards.push_back({joinText(runtime::dimText(metadata, guard->left),
                               guard->relation == plan::Relation::equal ? " = " : " <= ",
                               runtime::dimText(metadata, guard->right)),
                      guard->message});
}

Status GuardDescriptions::describe(size_t index, smelt_dimension_info *info) const {
  SMELT_RETURN_IF_ERROR(checkRequest(index, dimensions.size(), "dimension"));
  if (info->struct_size < sizeof(*info))
    return Status(StatusCode::kUsage, "initialise info with SMELT_DIMENSION_INFO_INIT");
  const Dimension &dimension = dimensions[index];
  *info = {info->struct_size, dimension.name.c_str(), dimension.least, dimension.most};
  return {};
}

Status GuardDescriptions::describe(size_t index, smelt_guard_info *info) const {
  SMELT_RETURN_IF_ERROR(checkRequest(index, guards.size(), "guard"));
  if (info->struct_size < sizeof(*info))
    return Status(StatusCode::kUsage, "initialise info with SMELT_GUARD_INFO_INIT");
  *info = {info->struct_size, guards[index].text.c_str(), guards[index].message.c_str()};
  return {};
}

} // namespace smelt::api
