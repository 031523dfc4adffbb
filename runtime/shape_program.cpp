#include "runtime/shape_program.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>
#include <array>

namespace smelt::runtime {

/// Whether the quotient and the remainder exist in 64 bits.
static bool canDivide(int64_t left, int64_t right) {
  return right != 0 && (left != INT64_MIN || right != -1);
}

static std::optional<int64_t> floorDivide(int64_t left, int64_t right) {
  if (!canDivide(left, right))
    return std::nullopt;
  bool isBelow = left % right != 0 && (left < 0) != (right < 0);
  return left / right - isBelow;
}

static std::optional<int64_t> ceilDivide(int64_t left, int64_t right) {
  if (!canDivide(left, right))
    return std::nullopt;
  bool isAbove = left % right != 0 && (left < 0) == (right < 0);
  return left / right + isAbove;
}

/// The remainder that has the sign of the divisor.
static std::optional<int64_t> modulo(int64_t left, int64_t right) {
  if (!canDivide(left, right))
    return std::nullopt;
  int64_t remainder = left % right;
  return remainder != 0 && (remainder < 0) != (right < 0) ? remainder + right : remainder;
}

static std::optional<int64_t> apply(plan::DimOpcode opcode, int64_t left, int64_t right) {
  switch (opcode) {
  case plan::DimOpcode::add:
    return checkedAdd(left, right);
  case plan::DimOpcode::sub:
    return checkedSub(left, right);
  case plan::DimOpcode::mul:
    return checkedMul(left, right);
  case plan::DimOpcode::floor_div:
    return floorDivide(left, right);
  case plan::DimOpcode::ceil_div:
    return ceilDivide(left, right);
  case plan::DimOpcode::mod:
    return modulo(left, right);
  case plan::DimOpcode::min:
    return std::min(left, right);
  case plan::DimOpcode::max:
    return std::max(left, right);
  case plan::DimOpcode::constant:
  case plan::DimOpcode::symbol:
    break;
  }
  return std::nullopt;
}

std::optional<int64_t> evaluateDim(const plan::DimExpressionT &dim,
                                   std::span<const int64_t> symbols) {
  std::array<int64_t, plan::kMaxDimStack> stack;
  size_t depth = 0;
  for (const plan::DimInstruction &instruction : dim.program) {
    if (instruction.opcode() == plan::DimOpcode::constant) {
      stack[depth++] = instruction.operand();
    } else if (instruction.opcode() == plan::DimOpcode::symbol) {
      stack[depth++] = symbols[static_cast<size_t>(instruction.operand())];
    } else {
      --depth;
      std::optional<int64_t> value = apply(instruction.opcode(), stack[depth - 1], stack[depth]);
      if (!value)
        return std::nullopt;
      stack[depth - 1] = *value;
    }
  }
  return stack[0];
}

/// Whether the text is a sum or a difference, not in parentheses.
static bool isSum(const std::string &text) {
  int depth = 0;
  for (char letter : text) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (letter == ' ' && depth == 0)
      return true;
  }
  return false;
}

static std::string applyText(plan::DimOpcode opcode, const std::string &left,
                             const std::string &right) {
  auto factor = [](const std::string &text) { return isSum(text) ? "(" + text + ")" : text; };
  auto call = [&](const char *name) { return name + ("(" + left) + ", " + right + ")"; };
  switch (opcode) {
  case plan::DimOpcode::add:
    return left + " + " + right;
  case plan::DimOpcode::sub:
    return left + " - " + factor(right);
  case plan::DimOpcode::mul:
    return factor(left) + "*" + factor(right);
  case plan::DimOpcode::floor_div:
    return call("floordiv");
  case plan::DimOpcode::ceil_div:
    return call("ceildiv");
  case plan::DimOpcode::mod:
    return call("mod");
  case plan::DimOpcode::min:
    return call("min");
  case plan::DimOpcode::max:
    return call("max");
  case plan::DimOpcode::constant:
  case plan::DimOpcode::symbol:
    break;
  }
  return left;
}

std::string dimText(const plan::MetadataT &metadata, uint32_t dim) {
  std::vector<std::string> stack;
  for (const plan::DimInstruction &instruction : metadata.dims[dim]->program) {
    if (instruction.opcode() == plan::DimOpcode::constant) {
      stack.push_back(std::to_string(instruction.operand()));
    } else if (instruction.opcode() == plan::DimOpcode::symbol) {
      stack.push_back(metadata.symbols[static_cast<size_t>(instruction.operand())]);
    } else {
      std::string right = stack.back();
      stack.pop_back();
      stack.back() = applyText(instruction.opcode(), stack.back(), right);
    }
  }
  return stack.back();
}

/// The symbol that a dim is, when it is exactly one.
static std::optional<size_t> symbolOf(const plan::DimExpressionT &dim) {
  if (dim.program.size() == 1 && dim.program[0].opcode() == plan::DimOpcode::symbol)
    return static_cast<size_t>(dim.program[0].operand());
  return std::nullopt;
}

static std::string tensorText(const plan::MetadataT &metadata, const plan::TensorT &tensor) {
  std::string text = "'" + tensor.name + "' [";
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i > 0 ? ", " : "") + dimText(metadata, tensor.dims[i]);
  return text + "]";
}

/// The capacities that outputs are given; where an output is given none, its own extent.
static Status solveCapacities(const plan::MetadataT &metadata, std::span<const int64_t> capacities,
                              std::vector<int64_t> &symbols) {
  std::vector<const plan::TensorT *> source(symbols.size()); // of the value of a capacity
  for (size_t i = 0; i < capacities.size(); ++i) {
    const plan::TensorT &output = *metadata.outputs[i];
    if (output.capacity == plan::kNone || capacities[i] == 0)
      continue;
    const plan::TensorT *&first = source[output.capacity];
    if (first != nullptr && symbols[output.capacity] != capacities[i])
      return Status(StatusCode::kUsage,
                    joinText("output '", output.name, "' is bound with a capacity of ",
                             capacities[i], ", but '", first->name, "' with ",
                             symbols[output.capacity], "; the model needs both to be equal"));
    first = &output;
    symbols[output.capacity] = capacities[i];
  }
  for (const auto &output : metadata.outputs) {
    if (output->capacity == plan::kNone || source[output->capacity] != nullptr)
      continue;
    std::optional<int64_t> extent =
        evaluateDim(*metadata.dims[output->dims[output->capacity_axis]], symbols);
    symbols[output->capacity] = std::max(symbols[output->capacity], extent.value_or(0));
  }
  return {};
}

static Result<std::vector<int64_t>> solveSymbols(const plan::MetadataT &metadata,
                                                 std::span<const Shape> inputs,
                                                 std::span<const int64_t> capacities) {
  std::vector<std::optional<int64_t>> solved(metadata.symbols.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const plan::TensorT &tensor = *metadata.inputs[i];
    if (inputs[i].size() != tensor.dims.size())
      return Status(StatusCode::kUsage,
                    joinText("input ", tensorText(metadata, tensor), " has ", tensor.dims.size(),
                             " dimensions, not the ", inputs[i].size(), " of the given shape ",
                             shapeText(inputs[i])));
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (inputs[i][d] < 0)
        return Status(StatusCode::kUsage,
                      joinText("input ", tensorText(metadata, tensor), ": the given shape ",
                               shapeText(inputs[i]), " has a negative extent"));
      std::optional<size_t> symbol = symbolOf(*metadata.dims[tensor.dims[d]]);
      if (symbol && !solved[*symbol])
        solved[*symbol] = inputs[i][d];
    }
  }
  std::vector<int64_t> symbols;
  symbols.reserve(solved.size());
  for (const std::optional<int64_t> &value : solved)
    symbols.push_back(value.value_or(0));
  SMELT_RETURN_IF_ERROR(solveCapacities(metadata, capacities, symbols));
  return symbols;
}

static std::string symbolsText(const plan::MetadataT &metadata, std::span<const int64_t> symbols) {
  std::string text;
  for (size_t i = 0; i < symbols.size(); ++i)
    text += joinText(i > 0 ? ", " : "", metadata.symbols[i], " = ", symbols[i]);
  return text;
}

static Status checkInputs(const plan::MetadataT &metadata, std::span<const Shape> inputs,
                          const ShapeValues &values) {
  auto matches = [&](const plan::TensorT &tensor, const Shape &shape) {
    return std::equal(tensor.dims.begin(), tensor.dims.end(), shape.begin(), shape.end(),
                      [&](uint32_t dim, int64_t extent) { return values.dims[dim] == extent; });
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!matches(*metadata.inputs[i], inputs[i]))
      return Status(StatusCode::kUsage,
                    joinText("input ", tensorText(metadata, *metadata.inputs[i]),
                             " must have shape ", shapeText(shapeOf(*metadata.inputs[i], values)),
                             values.symbols.empty() ? "" : " where ",
                             symbolsText(metadata, values.symbols), ", but was given ",
                             shapeText(inputs[i])));
  return {};
}

/// "seq = 513", or the number alone.
static std::string sizeText(const plan::MetadataT &metadata, uint32_t dim, int64_t value) {
  std::string number = std::to_string(value), text = dimText(metadata, dim);
  return text == number ? number : text + " = " + number;
}

static Status checkGuards(const plan::MetadataT &metadata, const ShapeValues &values) {
  for (const auto &guard : metadata.guards) {
    int64_t left = values.dims[guard->left], right = values.dims[guard->right];
    bool isEqual = guard->relation == plan::Relation::equal;
    if (isEqual ? left != right : left > right)
      return Status(StatusCode::kUsage,
                    joinText("these shapes do not fit the model: ", guard->message, ": ",
                             sizeText(metadata, guard->left, left),
                             isEqual ? " must equal " : " must be at most ",
                             sizeText(metadata, guard->right, right), " where ",
                             symbolsText(metadata, values.symbols)));
  }
  return {};
}

static Status checkExtents(const plan::MetadataT &metadata, const ShapeValues &values) {
  auto isNegative = [&](uint32_t dim) { return values.dims[dim] < 0; };
  for (const auto &output : metadata.outputs)
    if (std::any_of(output->dims.begin(), output->dims.end(), isNegative))
      return Status(StatusCode::kUsage,
                    joinText("output ", tensorText(metadata, *output), " would have shape ",
                             shapeText(shapeOf(*output, values)), " where ",
                             symbolsText(metadata, values.symbols)));
  return {};
}

Result<ShapeValues> solveShapes(const plan::MetadataT &metadata, std::span<const Shape> inputs,
                                std::span<const int64_t> capacities) {
  ShapeValues values;
  SMELT_ASSIGN_OR_RETURN(values.symbols, solveSymbols(metadata, inputs, capacities));
  values.dims.reserve(metadata.dims.size());
  for (uint32_t i = 0; i < metadata.dims.size(); ++i) {
    std::optional<int64_t> value = evaluateDim(*metadata.dims[i], values.symbols);
    if (!value)
      return Status(StatusCode::kUsage,
                    joinText("these shapes are out of range: ", dimText(metadata, i),
                             " overflows or divides by zero where ",
                             symbolsText(metadata, values.symbols)));
    values.dims.push_back(*value);
  }
  SMELT_RETURN_IF_ERROR(checkInputs(metadata, inputs, values));
  SMELT_RETURN_IF_ERROR(checkGuards(metadata, values));
  SMELT_RETURN_IF_ERROR(checkExtents(metadata, values));
  return values;
}

Shape shapeOf(const plan::TensorT &tensor, const ShapeValues &values) {
  Shape shape;
  shape.reserve(tensor.dims.size());
  for (uint32_t dim : tensor.dims)
    shape.push_back(values.dims[dim]);
  return shape;
}

Result<int64_t> tensorBytes(const plan::TensorT &tensor, const ShapeValues &values) {
  std::optional<int64_t> bytes = plan::elementBytes(tensor.element_type);
  for (uint32_t dim : tensor.dims)
    bytes = bytes ? checkedMul(*bytes, values.dims[dim]) : std::nullopt;
  if (!bytes)
    return Status(StatusCode::kUsage,
                  joinText("'", tensor.name, "' of shape ", shapeText(shapeOf(tensor, values)),
                           " is too large"));
  return *bytes;
}

} // namespace smelt::runtime
