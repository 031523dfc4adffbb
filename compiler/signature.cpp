#include "compiler/signature.h"

#include "runtime/text.h"

#include <algorithm>
#include <cctype>

namespace smelt::compiler {

static constexpr int64_t kDefaultLeading = 1;
static constexpr int64_t kDefaultExtent = 128;

std::string_view typeName(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return "float32";
  case ElementType::f16:
    return "float16";
  case ElementType::bf16:
    return "bfloat16";
  case ElementType::f64:
    return "float64";
  case ElementType::i64:
    return "int64";
  case ElementType::i32:
    return "int32";
  case ElementType::i16:
    return "int16";
  case ElementType::i8:
    return "int8";
  case ElementType::u8:
    return "uint8";
  case ElementType::boolean:
    return "bool";
  }
  return "?";
}

bool Extent::isSymbol() const {
  auto isWord = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return !constant && !text.empty() && std::all_of(text.begin(), text.end(), isWord);
}

std::string typeText(const Port &port) {
  std::string text(typeName(port.type));
  text += " [";
  for (size_t axis = 0; axis < port.shape.size(); ++axis)
    text += (axis ? ", " : "") + port.shape[axis].text;
  return text + "]";
}

static bool isSame(const Port &model, const Port &plan) {
  if (model.name != plan.name || model.type != plan.type || model.shape.size() != plan.shape.size())
    return false;
  for (size_t axis = 0; axis < model.shape.size(); ++axis) {
    auto fixed = model.shape[axis].constant, compiled = plan.shape[axis].constant;
    if (fixed && fixed != compiled)
      return false;
  }
  return true;
}

static std::string portText(const Port &port) {
  return joinText("'", port.name, "' (", typeText(port), ")");
}

static std::string findDifference(const char *role, const std::vector<Port> &model,
                                  const std::vector<Port> &plan) {
  if (model.size() != plan.size())
    return joinText("it has ", plan.size(), " ", role, "s, the model has ", model.size());
  for (size_t i = 0; i < model.size(); ++i)
    if (!isSame(model[i], plan[i]))
      return joinText("its ", role, " ", i, " is ", portText(plan[i]), ", the model's ",
                      portText(model[i]));
  return "";
}

std::string findDifference(const Signature &model, const Signature &plan) {
  std::string inputs = findDifference("input", model.inputs, plan.inputs);
  return inputs.empty() ? findDifference("output", model.outputs, plan.outputs) : inputs;
}

static Status usage(const std::string &message) { return Status(StatusCode::kUsage, message); }

static std::string inputNames(const Signature &signature) {
  std::string names;
  for (const Port &input : signature.inputs)
    names += (names.empty() ? "'" : ", '") + input.name + "'";
  return names;
}

Status unknownInput(const Signature &signature, const std::string &name) {
  const auto &constants = signature.constants;
  bool isConstant = std::find(constants.begin(), constants.end(), name) != constants.end();
  return usage(
      joinText(isConstant ? "initializers are constants for Smelt, so there is" : "the model has",
               " no input '", name, "'; it has ", inputNames(signature)));
}

static Status checkNames(const Signature &signature, const NamedShapes &given) {
  for (const auto &[name, shape] : given) {
    bool known = false;
    for (const Port &input : signature.inputs)
      known |= input.name == name;
    if (!known)
      return unknownInput(signature, name);
  }
  return {};
}

using Symbols = std::map<std::string, int64_t>;

/// Takes one input's given shape: numbers must agree, symbols take their values.
static Status bind(const Signature &signature, const Port &input, const std::vector<int64_t> &shape,
                   Symbols &symbols) {
  auto refuse = [&](const std::string &why) {
    return usage(joinText("input '", input.name, "' is ", typeText(input), ", not ",
                          shapeText(shape), ": ", why));
  };
  if (shape.size() != input.shape.size())
    return refuse(joinText("it has ", input.shape.size(), " dimensions"));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Extent &extent = input.shape[axis];
    if (shape[axis] == kAnyExtent)
      continue;
    if (extent.constant && *extent.constant != shape[axis])
      return refuse(joinText("dimension ", axis, " must be ", *extent.constant));
    if (!extent.isSymbol())
      continue;
    if (shape[axis] < 1)
      return refuse(joinText("size '", extent.text, "' must be at least 1"));
    int64_t value = symbols.emplace(extent.text, shape[axis]).first->second;
    auto why = signature.equalities.find(extent.text);
    if (value != shape[axis])
      return refuse(joinText("'", extent.text, "' is ", value, " by another dimension",
                             why == signature.equalities.end() ? "" : "; " + why->second));
  }
  return {};
}

static void setDefaults(const Signature &signature, Symbols &symbols) {
  for (const Port &input : signature.inputs)
    if (!input.shape.empty() && input.shape[0].isSymbol())
      symbols.emplace(input.shape[0].text, kDefaultLeading);
  for (const Port &input : signature.inputs)
    for (const Extent &extent : input.shape)
      if (extent.isSymbol())
        symbols.emplace(extent.text, kDefaultExtent);
}

Result<std::vector<std::vector<int64_t>>> resolveShapes(const Signature &signature,
                                                        const NamedShapes &given) {
  SMELT_RETURN_IF_ERROR(checkNames(signature, given));
  Symbols symbols;
  for (const Port &input : signature.inputs)
    if (auto shape = given.find(input.name); shape != given.end())
      SMELT_RETURN_IF_ERROR(bind(signature, input, shape->second, symbols));
  setDefaults(signature, symbols);
  std::vector<std::vector<int64_t>> shapes;
  for (const Port &input : signature.inputs) {
    std::vector<int64_t> &shape = shapes.emplace_back();
    auto asked = given.find(input.name);
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const Extent &extent = input.shape[axis];
      if (extent.constant)
        shape.push_back(*extent.constant);
      else if (extent.isSymbol())
        shape.push_back(symbols.at(extent.text));
      else if (asked != given.end() && asked->second[axis] != kAnyExtent)
        shape.push_back(asked->second[axis]);
      else
        return usage(joinText("dimension ", axis, " of input '", input.name, "' is ", extent.text,
                              "; give the input a shape"));
    }
  }
  return shapes;
}

} // namespace smelt::compiler
