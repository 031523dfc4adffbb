#include "compiler/signature.h"

#include "runtime/text.h"

#include <algorithm>
#include <cctype>

namespace smelt::compiler {

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
  case ElementType::u16:
    return "uint16";
  case ElementType::u32:
    return "uint32";
  case ElementType::u64:
    return "uint64";
  case ElementType::f8e4m3fn:
    return "float8e4m3fn";
  case ElementType::f8e4m3fnuz:
    return "float8e4m3fnuz";
  case ElementType::f8e5m2:
    return "float8e5m2";
  case ElementType::f8e5m2fnuz:
    return "float8e5m2fnuz";
  case ElementType::f4e2m1:
    return "float4e2m1";
  case ElementType::f8e8m0:
    return "float8e8m0";
  case ElementType::i4:
    return "int4";
  case ElementType::u4:
    return "uint4";
  case ElementType::i2:
    return "int2";
  case ElementType::u2:
    return "uint2";
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

static std::string inputNames(const Signature &signature) {
  std::string names;
  for (const Port &input : signature.inputs)
    names += (names.empty() ? "'" : ", '") + input.name + "'";
  return names;
}

Status unknownInput(const Signature &signature, const std::string &name) {
  const auto &constants = signature.constants;
  bool isConstant = std::find(constants.begin(), constants.end(), name) != constants.end();
  return Status(
      StatusCode::kUsage,
      joinText(isConstant ? "initializers are constants for Smelt, so there is" : "the model has",
               " no input '", name, "'; it has ", inputNames(signature)));
}

} // namespace smelt::compiler
