#include "compiler/resolve_shapes.h"

#include "ir/interpret/size_solver.h"
#include "runtime/text.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

#include <algorithm>

using namespace mlir;

namespace smelt::compiler {

namespace {

constexpr int64_t kDefaultLeading = 1;
constexpr int64_t kDefaultExtent = 128;

Status usage(const std::string &message) { return Status(StatusCode::kUsage, message); }

Status checkNames(const Signature &signature, const NamedShapes &given) {
  for (const auto &[name, shape] : given)
    if (llvm::none_of(signature.inputs, [&](const Port &input) { return input.name == name; }))
      return unknownInput(signature, name);
  return {};
}

/// Solves the shapes of one signature.
class ShapeResolver {
public:
  ShapeResolver(const Signature &signature, const NamedShapes &given)
      : signature(signature), given(given), context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<SmeltDialect>();
    context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    for (const SizeRule &rule : signature.rules)
      addRelation(rule.left, rule.right, rule.isEquality, rule.why);
  }

  /// Takes the given shapes, and what they imply.
  Status follow() {
    SMELT_RETURN_IF_ERROR(checkNames(signature, given));
    for (const Port &input : signature.inputs)
      if (auto shape = given.find(input.name); shape != given.end())
        SMELT_RETURN_IF_ERROR(bind(input, shape->second));
    SizeSolver solver(relations);
    const SizeRelation *broken = solver.follow(sizes);
    return broken ? contradiction(*broken) : Status();
  }

  /// Gives the symbols that are still open a size. Where the guards allow none near the defaults,
  /// these stay: whoever runs the model says which guard is in the way.
  void setDefaults() {
    SmallVector<PreferredSize> open;
    for (const Port &input : signature.inputs)
      if (!input.shape.empty() && input.shape[0].isSymbol())
        open.push_back({input.shape[0].text, kDefaultLeading});
    for (const Port &input : signature.inputs)
      for (const Extent &extent : input.shape)
        if (extent.isSymbol())
          open.push_back({extent.text, kDefaultExtent});
    if (std::optional<Symbols> complete = SizeSolver(relations).complete(sizes, open)) {
      sizes = std::move(*complete);
      return;
    }
    for (const auto &[name, size] : open)
      sizes.try_emplace(name, size);
  }

  int64_t sizeOf(const Extent &extent) {
    if (extent.constant)
      return *extent.constant;
    Dim dim = parse(extent.text);
    return dim ? evaluateDim(dim, sizes).value_or(kAnyExtent) : kAnyExtent;
  }

  std::vector<int64_t> shapeOf(const Port &input) {
    std::vector<int64_t> shape;
    auto asked = given.find(input.name);
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      int64_t size = sizeOf(input.shape[axis]);
      bool takesGiven = size == kAnyExtent && asked != given.end();
      shape.push_back(takesGiven ? asked->second[axis] : size);
    }
    return shape;
  }

private:
  /// Null where the text is no expression of sizes.
  Dim parse(const std::string &text) {
    auto attribute =
        dyn_cast_or_null<DimAttr>(parseAttribute("#smelt.dim<" + text + ">", &context));
    return attribute ? Dim(attribute) : Dim();
  }

  void addRelation(const std::string &left, const std::string &right, bool isEquality,
                   const std::string &why) {
    Dim a = parse(left), b = parse(right);
    if (a && b)
      relations.push_back({a, b, isEquality, why});
  }

  /// Takes one input's given shape: numbers must agree, symbols take their values.
  Status bind(const Port &input, const std::vector<int64_t> &shape) {
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
      if (!extent.constant && !extent.isSymbol())
        addRelation(extent.text, std::to_string(shape[axis]), true, "its shape is given");
      if (!extent.isSymbol())
        continue;
      auto [known, isNew] = sizes.try_emplace(extent.text, shape[axis]);
      if (isNew)
        givenBy[extent.text] = input.name;
      else if (known->second != shape[axis])
        return refuse(otherSize(extent.text, known->second, shape[axis]));
    }
    return {};
  }

  std::string otherSize(const std::string &symbol, int64_t known, int64_t size) {
    auto why = signature.equalities.find(symbol);
    bool mayBroadcast = why != signature.equalities.end() && (known == 1 || size == 1);
    return joinText("'", symbol, "' is ", known, " by another dimension, of input '",
                    givenBy[symbol], "'",
                    why == signature.equalities.end() ? "" : "; " + why->second,
                    mayBroadcast ? "; a size of 1 broadcasts only where it is compiled for" : "");
  }

  std::string sizeText(Dim dim) {
    std::optional<int64_t> size = evaluateDim(dim, sizes);
    std::string text = dim.toString();
    return size && !dim.asConstant() ? joinText(text, " = ", *size) : text;
  }

  /// "the given shapes contradict each other: a + b = 5 must equal c = 4 (why), with input 'x'
  /// [a, b] = [2, 3]": all given inputs that have an open dimension.
  Status contradiction(const SizeRelation &broken) {
    std::string text =
        joinText("the model cannot take these shapes together: ", sizeText(broken.left), " must ",
                 broken.isEquality ? "equal " : "be at most ", sizeText(broken.right));
    if (!broken.why.empty())
      text += " (" + broken.why + ")";
    std::string separator = ", where ";
    for (const Port &input : signature.inputs) {
      auto shape = given.find(input.name);
      bool isOpen = llvm::any_of(input.shape, [](const Extent &e) { return !e.constant; });
      if (shape == given.end() || !isOpen)
        continue;
      text += joinText(separator, "input '", input.name, "', ", typeText(input), ", is ",
                       shapeText(shape->second));
      separator = " and ";
    }
    return usage(text);
  }

  const Signature &signature;
  const NamedShapes &given;
  MLIRContext context;
  SmallVector<SizeRelation> relations;
  Symbols sizes;
  std::map<std::string, std::string> givenBy; // input that gave a symbol its size
};

} // namespace

Result<NamedShapes> followShapes(const Signature &signature, const NamedShapes &given) {
  ShapeResolver resolver(signature, given);
  SMELT_RETURN_IF_ERROR(resolver.follow());
  NamedShapes shapes;
  for (const Port &input : signature.inputs)
    shapes[input.name] = resolver.shapeOf(input);
  return shapes;
}

Result<std::vector<std::vector<int64_t>>> resolveShapes(const Signature &signature,
                                                        const NamedShapes &given) {
  ShapeResolver resolver(signature, given);
  SMELT_RETURN_IF_ERROR(resolver.follow());
  resolver.setDefaults();
  std::vector<std::vector<int64_t>> shapes;
  for (const Port &input : signature.inputs) {
    shapes.push_back(resolver.shapeOf(input));
    auto open = std::find(shapes.back().begin(), shapes.back().end(), kAnyExtent);
    if (open != shapes.back().end()) {
      size_t axis = open - shapes.back().begin();
      return usage(joinText("dimension ", axis, " of input '", input.name, "' is ",
                            input.shape[axis].text, "; give the input a shape"));
    }
  }
  return shapes;
}

} // namespace smelt::compiler
