// Plain loops of convolution, matrix product and attention: one element of the result a thread.
#include "codegen/kernels/generic/generic.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// output[n, m, x...] = sum over c, k of input[n, group's c, x * stride + k * dilation - pad] *
/// filter[m, c, k...]
Dim writeConv(ConvOp op, GenericText &text) {
  TensorType input = tensorType(op.getInput()), filter = tensorType(op.getFilter()),
             output = tensorType(op.getOutput());
  size_t spatial = op.getStrides().size();
  SmallVector<std::string> at = text.unravel("o", output.getShape());
  Dim channels = filter.getDim(1),
      perGroup = filter.getDim(0).floorDiv(Dim::constant(op.getContext(), op.getGroups()));
  text.line(text.sumType() + " sum = 0;");
  text.open("c", channels);
  SmallVector<std::string> source{at[0], at[1] + " / (" + text.size(perGroup) + ") * (" +
                                             text.size(channels) + ") + c"};
  SmallVector<std::string> weight{at[1], "c"};
  for (size_t axis = 0; axis < spatial; ++axis) {
    std::string k = "k" + std::to_string(axis), i = "i" + std::to_string(axis);
    text.open(k, filter.getDim(axis + 2));
    text.line("int " + i + " = " + at[axis + 2] + " * " + Twine(op.getStrides()[axis]) + " + " + k +
              " * " + Twine(op.getDilations()[axis]) + " - " + Twine(op.getPads()[axis]) + ";");
    text.line("if (" + i + " < 0 || " + i + " >= " + text.size(input.getDim(axis + 2)) +
              ") continue;");
    source.push_back(i);
    weight.push_back(k);
  }
  text.line("sum += " + text.read(op.getInput(), source) + " * " +
            text.read(op.getFilter(), weight) + ";");
  for (size_t axis = 0; axis < spatial + 1; ++axis)
    text.close();
  if (op.getBias())
    text.line("sum += " + text.read(op.getBias(), {at[1]}) + ";");
  text.line("write(out0 + e, sum);");
  return output.getNumElements();
}

/// The position of `operand` for the batch axes of the result and two matrix axes.
SmallVector<std::string> matrixPosition(TensorType operand, ArrayRef<std::string> result,
                                        std::string row, std::string column) {
  SmallVector<std::string> position(result.drop_back(2).take_back(operand.getRank() - 2));
  position.push_back(std::move(row));
  position.push_back(std::move(column));
  return position;
}

Dim writeMatmul(MatmulOp op, GenericText &text) {
  TensorType lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs()),
             output = tensorType(op.getOutput());
  SmallVector<std::string> at = text.unravel("o", output.getShape());
  text.line(text.sumType() + " sum = 0;");
  text.open("k", lhs.getDim(lhs.getRank() - 1));
  text.line("sum += " + text.read(op.getLhs(), matrixPosition(lhs, at, at[at.size() - 2], "k")) +
            " * " + text.read(op.getRhs(), matrixPosition(rhs, at, "k", at.back())) + ";");
  text.close();
  text.line("write(out0 + e, sum);");
  return output.getNumElements();
}

/// Two passes over the keys: the largest score, then the weighted sum. Each thread recomputes the
/// scores of its row.
Dim writeAttention(AttentionOp op, GenericText &text) {
  TensorType query = tensorType(op.getQuery()), key = tensorType(op.getKey()),
             output = tensorType(op.getOutput());
  std::string sum = text.sumType();
  Type real = tensorType(op.getOutput()).getElementType();
  std::string scale = literal(op.getScaleAttr(), real), cap = literal(op.getSoftcapAttr(), real);
  SmallVector<std::string> at = text.unravel("o", output.getShape());
  int64_t share = *query.getDim(1).asConstant() / *key.getDim(1).asConstant();
  std::string group = at[1] + " / " + std::to_string(share);
  auto writeScore = [&] {
    text.line(sum + " score = 0;");
    text.open("d", query.getDim(3));
    text.line("score += " + text.read(op.getQuery(), {at[0], at[1], at[2], "d"}) + " * " +
              text.read(op.getKey(), {at[0], group, "j", "d"}) + ";");
    text.close();
    text.line("score *= " + scale + ";");
    if (!op.getSoftcap().isZero())
      text.line("score = " + cap + " * tanh(score / " + cap + ");");
    if (op.getBias()) {
      SmallVector<std::string> position{at[0], at[1], at[2], "j"};
      text.line("score += " +
                text.read(op.getBias(),
                          ArrayRef(position).take_back(tensorType(op.getBias()).getRank())) +
                ";");
    }
    if (op.getCausal())
      text.line("if (j > " + at[2] + " + " + text.size(key.getDim(2) - query.getDim(2)) +
                ") score = -infinity();");
  };
  text.line(sum + " largest = -infinity();");
  text.open("j", key.getDim(2));
  writeScore();
  text.line("largest = score > largest ? score : largest;");
  text.close();
  text.line(sum + " total = 0, result = 0;");
  text.open("j", key.getDim(2));
  writeScore();
  text.line("score = largest == -infinity() ? " + sum + "(0) : exp(score - largest);");
  text.line("total += score;");
  text.line("result += score * " + text.read(op.getValue(), {at[0], group, "j", at[3]}) + ";");
  text.close();
  text.line(op.getZeroMaskedRows() ? "write(out0 + e, total == 0 ? total : result / total);"
                                   : "write(out0 + e, result / total);");
  return output.getNumElements();
}

} // namespace

FailureOr<Dim> writeContraction(Operation *op, GenericText &text) {
  return llvm::TypeSwitch<Operation *, FailureOr<Dim>>(op)
      .Case<ConvOp>([&](auto conv) { return writeConv(conv, text); })
      .Case<MatmulOp>([&](auto matmul) { return writeMatmul(matmul, text); })
      .Case<AttentionOp>([&](auto attention) { return writeAttention(attention, text); })
      .Default([](Operation *other) { return other->emitError("has no plain kernel"), failure(); });
}

} // namespace smelt::codegen
