// What a model takes and gives, whether it is an .onnx or a .plan.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/status.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::compiler {

using plan::ElementType;

/// NumPy's name: "float16", "int64", "bool"; and "bfloat16".
std::string_view typeName(ElementType type);

/// One dimension of an input or output: a number, a symbol ("batch"), or an expression of symbols.
struct Extent {
  std::string text;
  std::optional<int64_t> constant;

  bool isSymbol() const;
};

struct Port {
  std::string name;
  ElementType type;
  std::vector<Extent> shape;
  /// Integer inputs that the model looks rows up with: values lie in [0, bound).
  std::optional<int64_t> bound;
};

/// A guard: expressions of sizes that must be equal, or the left at most the right, and why.
struct SizeRule {
  std::string left, right;
  bool isEquality;
  std::string why;
};

struct Signature {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  /// What the file lists as inputs, but nobody can give: initializers, which are constants.
  std::vector<std::string> constants;
  /// Why a symbol stands for others of the file too: "node '/add' needs 'm' = 'n'", by 'n'.
  std::map<std::string, std::string> equalities;
  /// What sizes must satisfy together.
  std::vector<SizeRule> rules;
  /// Inputs that are compiled for one value, each with its number among the inputs of the file.
  std::vector<std::pair<std::string, size_t>> fixed = {};
};

/// Refuses a name that is no input of the model, and says which are.
Status unknownInput(const Signature &signature, const std::string &name);

/// "float16 [batch, 128]"
std::string typeText(const Port &port);

/// Where the signature of a plan is not that of the model that it is said to be compiled from: in
/// the number, names, types, ranks or fixed dimensions of inputs and outputs. "" where it is.
std::string findDifference(const Signature &model, const Signature &plan);

/// Extents by input's name; kAnyExtent keeps what the model has.
using NamedShapes = std::map<std::string, std::vector<int64_t>>;
constexpr int64_t kAnyExtent = -1;

} // namespace smelt::compiler
