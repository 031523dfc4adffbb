#include "tools/smelt/dimensions.h"

#include "compiler/file_summary.h"
#include "runtime/read_plan.h"
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/suggestion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <map>

namespace smelt::tools {

namespace {

using Sizes = std::map<std::string, int64_t>;

/// The dimensions of an input as they are written: "batch", "128".
struct NamedInput {
  std::string name;
  std::vector<std::string> shape;
};

Status usage(const std::string &message) { return Status(StatusCode::kUsage, message); }

Result<Sizes> parseSizes(const std::vector<std::string> &flags) {
  Sizes sizes;
  for (const std::string &flag : flags) {
    size_t equals = flag.rfind('=');
    int64_t size = -1;
    if (equals != std::string::npos)
      std::from_chars(flag.data() + equals + 1, flag.data() + flag.size(), size);
    bool isSize = equals != 0 && size >= 0 && flag.substr(equals + 1) == std::to_string(size);
    if (!isSize)
      return usage(joinText("'", flag, "' is no size of a dimension; write NAME=8"));
    if (!sizes.emplace(flag.substr(0, equals), size).second)
      return usage(joinText("dimension '", flag.substr(0, equals), "' is given twice"));
  }
  return sizes;
}

Result<std::vector<NamedInput>> inputsOf(const std::string &path) {
  std::vector<NamedInput> inputs;
  if (!isPlan(path)) {
    for (DeclaredPort &port : summarizeFile(path).inputs)
      inputs.push_back({std::move(port.name), std::move(port.shape)});
    return inputs;
  }
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(path));
  for (const Port &port : signatureOf(plan.metadata()).inputs) {
    inputs.push_back({port.name, {}});
    for (const Extent &extent : port.shape)
      inputs.back().shape.push_back(extent.text);
  }
  return inputs;
}

Status refuseUnknown(const std::string &path, const std::vector<NamedInput> &inputs,
                     const Sizes &sizes) {
  std::vector<std::string> names;
  for (const NamedInput &input : inputs)
    for (const std::string &dimension : input.shape)
      if (!llvm::isDigit(dimension[0]) && dimension != "?" && !llvm::is_contained(names, dimension))
        names.push_back(dimension);
  for (const auto &[name, size] : sizes) {
    if (llvm::is_contained(names, name))
      continue;
    std::string meant = nearest(name, names);
    return usage(joinText(path, ": no input has a dimension '", name, "'",
                          meant.empty() ? "" : ", did you mean '" + meant + "'?",
                          names.empty() ? "; the sizes of all are fixed, or have no name"
                                        : "; there are " + llvm::join(names, ", ")));
  }
  return {};
}

/// The shape of one input, "8x?"; "" where it has none of the dimensions.
std::string shapeOf(const NamedInput &input, const Sizes &sizes) {
  std::vector<std::string> extents;
  bool isConcerned = false;
  for (const std::string &dimension : input.shape) {
    auto size = sizes.find(dimension);
    isConcerned |= size != sizes.end();
    bool isFixed = llvm::isDigit(dimension[0]);
    extents.push_back(size != sizes.end() ? std::to_string(size->second)
                      : isFixed           ? dimension
                                          : "?");
  }
  return isConcerned ? llvm::join(extents, "x") : "";
}

/// A shape that is given stays, and must have the sizes that are given too.
Status checkGiven(const NamedInput &input, const std::vector<int64_t> &given, const Sizes &sizes) {
  for (size_t axis = 0; axis < std::min(input.shape.size(), given.size()); ++axis) {
    auto size = sizes.find(input.shape[axis]);
    if (size != sizes.end() && given[axis] != size->second)
      return usage(joinText("--dim says that '", size->first, "' is ", size->second,
                            ", --shape of input '", input.name, "' says ",
                            given[axis] == kAnyExtent ? "?" : std::to_string(given[axis])));
  }
  return {};
}

} // namespace

Status nameShapes(const std::string &path, const std::vector<std::string> &dimensions,
                  std::vector<std::string> &shapes) {
  if (dimensions.empty())
    return {};
  SMELT_ASSIGN_OR_RETURN(Sizes sizes, parseSizes(dimensions));
  SMELT_ASSIGN_OR_RETURN(NamedShapes given, parseShapes(shapes));
  SMELT_ASSIGN_OR_RETURN(std::vector<NamedInput> inputs, inputsOf(path));
  SMELT_RETURN_IF_ERROR(refuseUnknown(path, inputs, sizes));
  for (const NamedInput &input : inputs) {
    if (auto known = given.find(input.name); known != given.end())
      SMELT_RETURN_IF_ERROR(checkGiven(input, known->second, sizes));
    else if (std::string shape = shapeOf(input, sizes); !shape.empty())
      shapes.push_back(input.name + "=" + shape);
  }
  return {};
}

} // namespace smelt::tools
