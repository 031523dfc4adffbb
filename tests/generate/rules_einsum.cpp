// Products that equations spell, and transposed convolutions.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// What an equation does, by the sizes of its letters.
struct DrawnEquation {
  std::string text;
  std::map<char, Size> sizes;

  Shape shape(const std::string &letters) const {
    Shape result;
    for (char letter : letters)
      result.push_back(sizes.at(letter));
    return result;
  }
};

std::string shuffled(Drawing &draw, std::string letters) {
  for (size_t i = letters.size(); i > 1; --i)
    std::swap(letters[i - 1],
              letters[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i) - 1))]);
  return letters;
}

/// Each letter of the operand with a chance to be shared, and a new one.
std::string drawOther(Drawing &draw, const std::string &own, DrawnEquation &equation) {
  std::string other;
  for (char letter : own)
    if (!equation.sizes.at(letter).isDerived() && draw.chance(0.6))
      other += letter;
  if (draw.chance(0.6)) {
    equation.sizes['z'] = draw.drawConstant(33);
    other += 'z';
  }
  return shuffled(draw, other);
}

/// Any pair, summed over some of the letters; alone now and then.
Drawn drawEinsum(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isTaken = operand.type != Wire::BOOL && operand.type != Wire::BFLOAT16 && rank >= 1 &&
                 rank <= 5 && largestCount(operand.shape) <= 1 << 14;
  if (!isTaken)
    return std::nullopt;
  DrawnEquation equation;
  std::string own = std::string("abcde").substr(0, rank), other, all = own, result;
  for (size_t axis = 0; axis < rank; ++axis)
    equation.sizes[own[axis]] = operand.shape[axis];
  bool isPair = draw.chance(0.8);
  if (isPair)
    other = drawOther(draw, own, equation);
  for (char letter : other)
    if (own.find(letter) == std::string::npos)
      all += letter;
  double terms = 1;
  for (char letter : all)
    if (draw.chance(0.6))
      result += letter;
    else
      terms *= static_cast<double>(std::max<int64_t>(equation.sizes.at(letter).largest(), 1));
  result = shuffled(draw, result);
  Value factor = draw.tamed(operand, isFloat(operand.type) ? 8 : 5);
  double largest = factor.bounds.magnitude() * (isPair ? 5 : 1) * terms;
  if (largestCount(equation.shape(all)) > 1 << 18 || largest > safeMagnitude(operand.type))
    return std::nullopt;
  std::vector<Value> inputs{factor};
  if (isPair)
    inputs.push_back(generate::operand(draw, operand.type, equation.shape(other),
                                       isFloat(operand.type) ? Bounds{-1, 1} : Bounds{-5, 5}));
  equation.text = own + (isPair ? "," + other : "") + "->" + result;
  return draw.node("Einsum", inputs, Attributes().add("equation", equation.text.c_str()),
                   operand.type, equation.shape(result), {-largest, largest});
}

/// One spatial axis or two, groups, strides, dilations and paddings.
Drawn drawConvTranspose(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isTaken = isFloat(operand.type) && (rank == 3 || rank == 4) &&
                 (operand.type != Wire::BFLOAT16 || draw.opset() >= 22) &&
                 operand.shape[1].isConstant() && operand.shape[1].values[0] >= 1 &&
                 operand.shape[1].values[0] <= 64;
  if (!isTaken)
    return std::nullopt;
  int64_t in = operand.shape[1].values[0], groups = in % 2 == 0 && draw.chance(0.3) ? 2 : 1,
          out = draw.between(1, 5);
  bool isBlocks = draw.chance(0.3);
  Shape filter{operand.shape[1], Size::of(out)}, result{operand.shape[0], Size::of(out * groups)};
  std::vector<int64_t> strides, dilations, starts, ends, added;
  for (size_t axis = 2; axis < rank; ++axis) {
    int64_t kernel = draw.between(1, 4), stride = isBlocks ? kernel : draw.between(1, 3),
            dilation = isBlocks ? 1 : draw.between(1, 2), reach = (kernel - 1) * dilation + 1,
            before = isBlocks ? 0 : draw.between(0, (reach - 1) / 2),
            after = isBlocks ? 0 : draw.between(0, (reach - 1) / 2),
            more = isBlocks ? 0 : draw.between(0, stride - 1);
    if (operand.shape[axis].smallest() < 1)
      return std::nullopt;
    filter.push_back(Size::of(kernel));
    result.push_back(draw.changed(operand.shape[axis], [&](int64_t size) {
      return (size - 1) * stride + reach - before - after + more;
    }));
    strides.push_back(stride), dilations.push_back(dilation), starts.push_back(before),
        ends.push_back(after), added.push_back(more);
  }
  if (largestCount(result) > 1 << 16)
    return std::nullopt;
  Value input = draw.tamed(operand, 8);
  std::vector<Value> inputs{input, draw.leaf(operand.type, filter, {-1, 1})};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {Size::of(out * groups)}, {-1, 1}));
  starts.insert(starts.end(), ends.begin(), ends.end());
  double largest =
      input.bounds.magnitude() * static_cast<double>(largestCount(filter) / out / groups) + 1;
  return draw.node("ConvTranspose", inputs,
                   Attributes()
                       .add("strides", strides)
                       .add("dilations", dilations)
                       .add("pads", starts)
                       .add("output_padding", added)
                       .add("group", groups),
                   operand.type, result, {-largest, largest});
}

/// The operand's last axis as blocks of three, one element apart, of a line.
Drawn drawCol2Im(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isTaken = isFloat(operand.type) && rank == 3 && operand.shape[2].isConstant() &&
                 operand.shape[2].values[0] >= 1 && operand.shape[1].isConstant() &&
                 operand.shape[1].values[0] >= 1;
  if (!isTaken)
    return std::nullopt;
  int64_t rows = operand.shape[1].values[0],
          block = rows % 3 == 0   ? 3
                  : rows % 2 == 0 ? 2
                                  : 1,
          stride = draw.between(1, 2), length = (operand.shape[2].values[0] - 1) * stride + block;
  Value input = draw.tamed(operand, 100);
  Shape shape{operand.shape[0], Size::of(rows / block), Size::of(length)};
  if (largestCount(shape) > 1 << 16)
    return std::nullopt;
  return draw.node("Col2Im", {input, draw.integers({length}), draw.integers({block})},
                   Attributes().add("strides", std::vector<int64_t>{stride}), operand.type, shape,
                   {input.bounds.low * 3 - 1, input.bounds.high * 3 + 1});
}

} // namespace

std::vector<Rule> einsumRules() {
  return {{"Einsum", 12, drawEinsum},
          {"ConvTranspose", 11, drawConvTranspose},
          {"Col2Im", 18, drawCol2Im}};
}

} // namespace smelt::generate
