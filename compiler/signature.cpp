#include "compiler/signature.h"

#include "runtime/element_type.h"
#include "runtime/text.h"

#include <algorithm>
#include <cctype>

namespace smelt::compiler {

std::string_view typeName(ElementType type) {
  const char *name = runtime::elementTypeName(type);
  return name ? name : "?";
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
