// Einsum: diagonals, then the operands multiplied from the left to the right, each pair as one
// matrix product.
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// A letter, or an axis of the ellipsis: those count from the last one, from here on.
using Label = int;
constexpr Label kEllipsis = 1000;
using Labels = SmallVector<Label>;

/// A tensor whose axes have names, each one once.
struct Labelled {
  Value value;
  Labels labels;
};

struct Equation {
  SmallVector<std::string> operands; // "." stands for an ellipsis
  std::optional<std::string> result;
};

FailureOr<Equation> parseEquation(NodeReader &node) {
  std::string text;
  for (char c : node.text("equation", ""))
    if (!llvm::isSpace(c))
      text += c;
  auto [left, right] = StringRef(text).split("->");
  Equation equation;
  auto readTerm = [&](StringRef term) -> FailureOr<std::string> {
    auto [before, after] = term.split("...");
    std::string letters = (before + after).str();
    if (!llvm::all_of(letters, [](char c) { return llvm::isAlpha(c); }))
      return node.error() << "cannot read '" << term << "' in its equation '" << text << "'";
    return term.contains("...") ? (before + "." + after).str() : letters;
  };
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  for (StringRef term : terms) {
    FailureOr<std::string> read = readTerm(term);
    if (failed(read))
      return failure();
    equation.operands.push_back(*read);
  }
  if (StringRef(text).contains("->")) {
    FailureOr<std::string> read = readTerm(right);
    if (failed(read))
      return failure();
    equation.result = *read;
  }
  if (equation.operands.size() != node.inputCount())
    return node.error() << "its equation '" << text << "' is one of " << equation.operands.size()
                        << " operands, not of " << node.inputCount();
  return equation;
}

/// The labels of a term whose ellipsis stands for `hidden` axes.
Labels labelsOf(StringRef term, int64_t hidden) {
  Labels labels;
  for (char c : term) {
    if (c != '.')
      labels.push_back(c);
    for (int64_t axis = hidden; c == '.' && axis-- > 0;)
      labels.push_back(kEllipsis + static_cast<Label>(axis));
  }
  return labels;
}

/// The axes of the result: what the equation says, or else the ellipsis and every letter that
/// appears once, in alphabetical order.
FailureOr<Labels> resultLabels(NodeReader &node, const Equation &equation, int64_t hidden) {
  Labels labels;
  if (equation.result) {
    labels = labelsOf(*equation.result, hidden);
  } else {
    std::string all = llvm::join(equation.operands, "");
    labels = labelsOf(".", hidden);
    for (int letter = 0; letter < 128; ++letter)
      if (letter != '.' && llvm::count(all, static_cast<char>(letter)) == 1)
        labels.push_back(letter);
  }
  Labels sorted = labels;
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return node.error() << "the result of its equation names an axis twice";
  return labels;
}

/// The operand with its axes in this order; all are named.
Value arrange(GraphBuilder &build, const Labelled &operand, ArrayRef<Label> order) {
  SmallVector<int64_t> permutation;
  for (Label label : order)
    permutation.push_back(llvm::find(operand.labels, label) - operand.labels.begin());
  return build.transpose(operand.value, permutation);
}

/// Two axes of one name become one: the elements where their positions are equal.
LogicalResult takeDiagonal(GraphBuilder &build, Labelled &operand, size_t first, size_t second) {
  TensorType type = tensorType(operand.value);
  if (failed(build.getFacts().requireEqual(build.getLocation(), type.getDim(first),
                                           type.getDim(second), "the axes have one label")))
    return failure();
  SmallVector<int64_t> permutation;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != static_cast<int64_t>(first) && axis != static_cast<int64_t>(second))
      permutation.push_back(axis);
  permutation.append({static_cast<int64_t>(first), static_cast<int64_t>(second)});
  Value square = build.transpose(operand.value, permutation);
  if (!square)
    return failure();
  SmallVector<Dim> shape = tensorType(square).getShape();
  shape.back() = build.size(1);
  Type i64 = IntegerType::get(build.getContext(), 64);
  Dim size = shape[shape.size() - 2];
  Expression rows = countTo(build, size, i64).reshaped({size, build.size(1)});
  Value diagonal = build.create<GatherElementsOp>(
      {square, build.expand(rows.value(), shape)},
      build.attribute("axis", static_cast<int64_t>(shape.size()) - 1));
  shape.pop_back();
  operand.value = build.reshape(diagonal, shape);
  Label label = operand.labels[first];
  llvm::erase(operand.labels, label);
  operand.labels.push_back(label);
  return success(operand.value != nullptr);
}

LogicalResult takeDiagonals(GraphBuilder &build, Labelled &operand) {
  for (size_t second = 1; second < operand.labels.size(); ++second) {
    auto first = llvm::find(operand.labels, operand.labels[second]) - operand.labels.begin();
    if (static_cast<size_t>(first) == second)
      continue;
    if (failed(takeDiagonal(build, operand, first, second)))
      return failure();
    second = 0;
  }
  return success();
}

/// Sums over the axes that `isWanted` refuses.
void sumOut(GraphBuilder &build, Labelled &operand, llvm::function_ref<bool(Label)> isWanted) {
  SmallVector<int64_t> axes;
  SmallVector<Dim> shape;
  Labels left;
  if (!operand.value)
    return;
  for (auto [axis, label] : llvm::enumerate(operand.labels)) {
    if (!isWanted(label)) {
      axes.push_back(static_cast<int64_t>(axis));
      continue;
    }
    left.push_back(label);
    shape.push_back(tensorType(operand.value).getDim(axis));
  }
  if (axes.empty())
    return;
  operand.value = build.reshape(build.reduce(ReductionKind::sum, operand.value, axes), shape);
  operand.labels = left;
}

Labels labelsWhere(ArrayRef<Label> labels, llvm::function_ref<bool(Label)> holds) {
  Labels result;
  llvm::copy_if(labels, std::back_inserter(result), holds);
  return result;
}

Labels joinLabels(std::initializer_list<ArrayRef<Label>> lists) {
  Labels result;
  for (ArrayRef<Label> list : lists)
    result.append(list.begin(), list.end());
  return result;
}

SmallVector<Dim> sizesOf(const Labelled &operand, ArrayRef<Label> labels) {
  return llvm::map_to_vector(labels, [&](Label label) {
    return tensorType(operand.value)
        .getDim(llvm::find(operand.labels, label) - operand.labels.begin());
  });
}

/// The product without a sum: axes of one operand alone are 1 in the other.
Labelled multiplyElements(GraphBuilder &build, const Labelled &left, const Labelled &right) {
  Labels added = labelsWhere(right.labels,
                             [&](Label label) { return !llvm::is_contained(left.labels, label); });
  Labels order = joinLabels({left.labels, added});
  SmallVector<Dim> shape = tensorType(left.value).getShape(), other;
  shape.append(added.size(), build.size(1));
  Labels own =
      labelsWhere(order, [&](Label label) { return llvm::is_contained(right.labels, label); });
  for (Label label : order)
    other.push_back(llvm::is_contained(right.labels, label) ? sizesOf(right, label)[0]
                                                            : build.size(1));
  return {build.create<MulOp>(
              {build.reshape(left.value, shape), build.reshape(arrange(build, right, own), other)}),
          order};
}

/// The product, summed over the axes that both have and `isWanted` refuses.
Labelled multiplyPair(GraphBuilder &build, Labelled left, Labelled right,
                      llvm::function_ref<bool(Label)> isWanted) {
  auto isIn = [](const Labelled &operand) {
    return [&operand](Label label) { return llvm::is_contained(operand.labels, label); };
  };
  auto inLeft = isIn(left), inRight = isIn(right);
  sumOut(build, left, [&](Label label) { return isWanted(label) || inRight(label); });
  sumOut(build, right, [&](Label label) { return isWanted(label) || inLeft(label); });
  if (!left.value || !right.value)
    return {};
  Labels summed = labelsWhere(left.labels, [&](Label l) { return inRight(l) && !isWanted(l); }),
         batch = labelsWhere(left.labels, [&](Label l) { return inRight(l) && isWanted(l); }),
         rows = labelsWhere(left.labels, [&](Label l) { return !inRight(l); }),
         columns = labelsWhere(right.labels, [&](Label l) { return !inLeft(l); });
  if (summed.empty())
    return multiplyElements(build, left, right);
  MLIRContext *context = build.getContext();
  Dim depth = product(sizesOf(left, summed), context);
  SmallVector<Dim> lhs = sizesOf(left, batch), rhs = sizesOf(right, batch), result = lhs;
  SmallVector<Dim> rowSizes = sizesOf(left, rows), columnSizes = sizesOf(right, columns);
  lhs.append({product(rowSizes, context), depth});
  rhs.append({depth, product(columnSizes, context)});
  result.append(rowSizes), result.append(columnSizes);
  Value a = build.reshape(arrange(build, left, joinLabels({batch, rows, summed})), lhs),
        b = build.reshape(arrange(build, right, joinLabels({batch, summed, columns})), rhs);
  return {build.reshape(build.create<MatmulOp>({a, b}), result),
          joinLabels({batch, rows, columns})};
}

/// Sizes of one label agree; an operand in which one is 1 is repeated along the others'.
LogicalResult alignLabels(NodeReader &node, SmallVectorImpl<Labelled> &operands) {
  GraphBuilder &build = node.build;
  llvm::DenseMap<Label, std::pair<size_t, size_t>> found; // operand and axis of the first not 1
  for (auto [index, operand] : llvm::enumerate(operands))
    for (auto [axis, label] : llvm::enumerate(operand.labels)) {
      Dim size = tensorType(operand.value).getDim(axis);
      auto [first, isNew] = found.try_emplace(label, index, axis);
      Dim known = tensorType(operands[first->second.first].value).getDim(first->second.second);
      if (!isNew && known.isConstant(1))
        first->second = {index, axis};
      else if (!size.isConstant(1) &&
               failed(build.getFacts().requireEqual(build.getLocation(), known, size,
                                                    "axes of one label have one size")))
        return failure();
    }
  for (Labelled &operand : operands) {
    Labels left;
    SmallVector<Dim> shape;
    for (auto [axis, label] : llvm::enumerate(operand.labels)) {
      Dim size = tensorType(operand.value).getDim(axis);
      auto [other, otherAxis] = found.lookup(label);
      if (size.isConstant(1) && !tensorType(operands[other].value).getDim(otherAxis).isConstant(1))
        continue;
      left.push_back(label), shape.push_back(size);
    }
    if (left.size() != operand.labels.size())
      operand = {build.reshape(operand.value, shape), left};
  }
  return success();
}

FailureOr<SmallVector<Labelled>> readOperands(NodeReader &node, const Equation &equation,
                                              int64_t &hidden, Type type) {
  SmallVector<Labelled> operands;
  for (auto [index, term] : llvm::enumerate(equation.operands)) {
    auto rank = static_cast<int64_t>(tensorType(node.input(index)).getRank());
    bool isOpen = StringRef(term).contains('.');
    int64_t covered = rank - static_cast<int64_t>(term.size()) + isOpen;
    if (covered < 0 || (covered > 0 && !isOpen))
      return node.error() << "its equation gives " << node.describe(index) << " " << term.size()
                          << " axes";
    hidden = std::max(hidden, covered);
    operands.push_back({node.build.cast(node.input(index), type), labelsOf(term, covered)});
    if (failed(takeDiagonals(node.build, operands.back())))
      return failure();
  }
  return operands;
}

LogicalResult importEinsum(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Equation> equation = parseEquation(node);
  if (failed(equation) || failed(node.requireSameType()))
    return failure();
  // Narrow integers wrap around like wider ones.
  Type element = tensorType(node.input(0)).getElementType(), type = element;
  if (element.isInteger() && element.getIntOrFloatBitWidth() < 32)
    type = IntegerType::get(build.getContext(), 32);
  int64_t hidden = 0;
  FailureOr<SmallVector<Labelled>> operands = readOperands(node, *equation, hidden, type);
  if (failed(operands) || failed(alignLabels(node, *operands)))
    return failure();
  FailureOr<Labels> result = resultLabels(node, *equation, hidden);
  if (failed(result))
    return failure();
  auto isInResult = [&](Label label) { return llvm::is_contained(*result, label); };
  Labelled product = operands->front();
  for (size_t index = 1; index < operands->size() && product.value; ++index)
    product = multiplyPair(build, product, (*operands)[index], [&](Label label) {
      return isInResult(label) ||
             llvm::any_of(ArrayRef(*operands).drop_front(index + 1), [&](const Labelled &later) {
               return llvm::is_contained(later.labels, label);
             });
    });
  sumOut(build, product, isInResult);
  if (!product.value)
    return failure();
  if (product.labels.size() != result->size())
    return node.error() << "the result of its equation names an axis that no operand has";
  return node.output(build.cast(arrange(build, product, *result), element));
}

} // namespace

ArrayRef<NodeRule> einsumRules() {
  static constexpr NodeRule kRules[] = {
      {"Einsum", 12, kEveryInput, importEinsum},
  };
  return kRules;
}

} // namespace smelt::frontend
