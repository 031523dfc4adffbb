// Method: one run of the float32 model gives every op the values it will meet. There each op that the
// rules would narrow is evaluated again from operands rounded to 16 bits, its result rounded too: its
// own error. The worst of them stay wide; how many, a bisection finds, whose every step narrows a copy
// of the module, fuses it, and runs it with all that kernels store rounded, as a GPU runs it.
//
// Assumes that keeping more of the worst ops wide makes no output worse. Where it does, the bound
// still holds for what is returned, since that was measured itself.
#include "compiler/narrow_within.h"

#include "compiler/diagnostics.h"
#include "ir/interpret/interpret.h"
#include "passes/narrow/narrowing.h"
#include "passes/pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::compiler {

namespace {

/// ||output - reference|| / ||reference||; infinite where an output is no number and the reference is.
double relativeError(const HostTensor &output, const HostTensor &reference) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < reference.getNumElements(); ++i) {
    double actual = output.getDouble(i), expected = reference.getDouble(i);
    if (actual == expected || (std::isnan(actual) && std::isnan(expected)))
      continue;
    if (!std::isfinite(actual) || !std::isfinite(expected))
      return std::numeric_limits<double>::infinity();
    difference += (actual - expected) * (actual - expected);
  }
  for (int64_t i = 0; i < reference.getNumElements(); ++i)
    if (double value = reference.getDouble(i); std::isfinite(value))
      norm += value * value;
  return difference == 0 ? 0 : norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

struct Candidate {
  Operation *op;
  size_t position; ///< in the block
  double error = 0;
};

/// One search for what must stay wide.
class Search {
public:
  Search(ModuleOp raised, WeightStore &weights, const NarrowingOptions &options,
         const ProgressHandler &progress)
      : raised(raised), weights(weights), options(options), progress(progress),
        main(raised.lookupSymbol<func::FuncOp>("main")) {
    Builder builder(raised.getContext());
    type = options.to == FloatPrecision::bf16 ? FloatType(builder.getBF16Type())
                                              : builder.getF16Type();
  }

  Result<NarrowingReport> run();

private:
  Status measureOps(ArrayRef<HostTensor> inputs);
  Status measureOp(Candidate &candidate, ArrayRef<HostTensor> operands,
                   ArrayRef<HostTensor> results, const Symbols &symbols);
  void findCandidates();
  Result<double> errorWith(size_t wide);
  Result<OwningOpRef<ModuleOp>> fused();
  Result<size_t> fewestWide();
  void mark(size_t wide);
  Status step();
  Status failure(const Twine &what) const { return Status(StatusCode::kInternal, what.str()); }

  ModuleOp raised;
  WeightStore &weights;
  const NarrowingOptions &options;
  const ProgressHandler &progress;
  func::FuncOp main;
  FloatType type;
  std::vector<Candidate> candidates;
  llvm::DenseMap<Operation *, size_t> candidateOf;
  std::optional<passes::Narrowing> rules;
  std::vector<std::vector<HostTensor>> references; // outputs of each calibration run
  size_t stepsDone = 0;
  double reached = 0; // the error of the last bisection step that kept the bound
};

} // namespace

void Search::findCandidates() {
  rules.emplace(main, type, &weights);
  for (Operation &op : main.getBody().front().without_terminator())
    if ((rules->narrowsOperands(&op) || rules->narrowsResults(&op)) && !op.hasTrait<View>()) {
      candidateOf[&op] = candidates.size();
      candidates.push_back({&op, candidates.size()});
    }
}

/// The error that an op makes by itself: of operands and results rounded to 16 bits.
Status Search::measureOp(Candidate &candidate, ArrayRef<HostTensor> operands,
                         ArrayRef<HostTensor> results, const Symbols &symbols) {
  SmallVector<HostTensor> rounded(operands);
  for (OpOperand &operand : candidate.op->getOpOperands())
    if (HostTensor &tensor = rounded[operand.getOperandNumber()];
        tensor.getElementType().isF32() && !rules->keepsOperand(operand))
      roundValues(tensor, type);
  auto narrow = evaluate(candidate.op, rounded, symbols, {Precision::f32, &weights, 0});
  if (failed(narrow))
    return failure("an op cannot be evaluated in 16 bits");
  for (auto [output, reference] : llvm::zip(*narrow, results)) {
    if (!reference.getElementType().isF32())
      continue;
    if (rules->narrowsResults(candidate.op))
      roundValues(output, type);
    candidate.error = std::max(candidate.error, relativeError(output, reference));
  }
  return {};
}

/// Runs the float32 model on one set of inputs: its outputs are references.
Status Search::measureOps(ArrayRef<HostTensor> inputs) {
  SmallVector<Shape> shapes =
      llvm::map_to_vector(inputs, [](const HostTensor &input) { return Shape(input.getShape()); });
  FailureOr<Symbols> symbols = solveSymbols(main, shapes);
  if (failed(symbols) || failed(checkGuards(raised, *symbols)))
    return Status(StatusCode::kUsage, "the calibration inputs do not fit the model");
  llvm::DenseMap<Value, HostTensor> values;
  llvm::DenseMap<Value, unsigned> usesLeft;
  for (auto [argument, input] : llvm::zip(main.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto operands = llvm::map_to_vector(op.getOperands(),
                                        [&](Value operand) { return values.lookup(operand); });
    auto results = evaluate(&op, operands, *symbols, {Precision::f32, &weights, 0});
    if (failed(results))
      return failure("an op cannot be evaluated");
    if (auto found = candidateOf.find(&op); found != candidateOf.end())
      SMELT_RETURN_IF_ERROR(measureOp(candidates[found->second], operands, *results, *symbols));
    for (auto [value, result] : llvm::zip(op.getResults(), *results)) {
      values[value] = result;
      usesLeft[value] = static_cast<unsigned>(llvm::range_size(value.getUses()));
    }
    for (Value operand : op.getOperands())
      if (auto left = usesLeft.find(operand); left != usesLeft.end() && --left->second == 0)
        values.erase(operand);
  }
  std::vector<HostTensor> &outputs = references.emplace_back();
  for (Value output : main.getBody().front().getTerminator()->getOperands())
    outputs.push_back(values.lookup(output));
  return {};
}

/// Lets the first `wide` candidates stay as they are.
void Search::mark(size_t wide) {
  for (size_t i = 0; i < candidates.size(); ++i)
    if (i < wide)
      candidates[i].op->setAttr(passes::kKeepWide, UnitAttr::get(raised.getContext()));
    else
      candidates[i].op->removeAttr(passes::kKeepWide);
}

Status Search::step() {
  size_t total = 2 + static_cast<size_t>(std::ceil(std::log2(candidates.size() + 1.0)));
  stepsDone = std::min(stepsDone + 1, total);
  if (progress && !progress({"narrow", stepsDone, total}))
    return Status(StatusCode::kResources, "stopped while measuring");
  return {};
}

/// A narrowed and fused copy of the module, as it is marked.
Result<OwningOpRef<ModuleOp>> Search::fused() {
  OwningOpRef<ModuleOp> copy(raised.clone());
  PassManager manager(raised.getContext());
  PipelineOptions pipeline;
  pipeline.weights = &weights;
  pipeline.narrowTo = options.to == FloatPrecision::bf16 ? "bf16" : "f16";
  pipeline.after = "raise";
  pipeline.until = "fuse";
  buildPipeline(manager, pipeline);
  if (mlir::failed(manager.run(*copy)))
    return failure("a pass failed on the narrowed model");
  return copy;
}

/// The largest error of an output with the first `wide` candidates kept.
Result<double> Search::errorWith(size_t wide) {
  SMELT_RETURN_IF_ERROR(step());
  mark(wide);
  SMELT_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module, fused());
  InterpretOptions interpret;
  interpret.roundStored = true;
  Interpreter interpreter(*module, weights, interpret);
  double largest = 0;
  for (auto [inputs, expected] : llvm::zip(options.calibration, references)) {
    FailureOr<std::vector<HostTensor>> outputs = interpreter.run(inputs);
    if (mlir::failed(outputs))
      return interpreter.ranOutOfMemory()
                 ? Status(StatusCode::kResources, "there is no memory for a calibration run")
                 : failure("the narrowed model cannot be run");
    for (auto [output, reference] : llvm::zip(*outputs, expected))
      largest = std::max(largest, relativeError(output, reference));
  }
  return largest;
}

/// By bisection; the error reached is kept.
Result<size_t> Search::fewestWide() {
  size_t tooFew = 0, enough = candidates.size();
  SMELT_ASSIGN_OR_RETURN(double error, errorWith(0));
  if (error <= *options.within) {
    reached = error;
    return size_t{0};
  }
  SMELT_ASSIGN_OR_RETURN(reached, errorWith(enough));
  if (reached > *options.within)
    return Status(
        StatusCode::kAccuracy,
        llvm::formatv("no narrowing keeps the outputs within {0:e1}: with nothing in 16 "
                      "bits they are off by {1:e1} in float32 itself; give a larger bound",
                      *options.within, reached));
  while (enough - tooFew > 1) {
    size_t middle = tooFew + (enough - tooFew) / 2;
    SMELT_ASSIGN_OR_RETURN(error, errorWith(middle));
    bool holds = error <= *options.within;
    (holds ? enough : tooFew) = middle;
    if (holds)
      reached = error;
  }
  return enough;
}

Result<NarrowingReport> Search::run() {
  findCandidates();
  for (const std::vector<HostTensor> &inputs : options.calibration)
    SMELT_RETURN_IF_ERROR(measureOps(inputs));
  SMELT_RETURN_IF_ERROR(step());
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::pair(-a.error, a.position) < std::pair(-b.error, b.position);
  });
  SMELT_ASSIGN_OR_RETURN(size_t wide, fewestWide());
  mark(wide);
  NarrowingReport report;
  report.narrow = candidates.size() - wide;
  report.error = reached;
  for (const Candidate &candidate : ArrayRef(candidates).take_front(wide))
    report.wide.push_back({locationText(candidate.op->getLoc()),
                           candidate.op->getName().stripDialect().str(), candidate.error});
  return report;
}

Result<NarrowingReport> narrowWithin(ModuleOp raised, WeightStore &weights,
                                     const NarrowingOptions &options,
                                     const ProgressHandler &progress) {
  return Search(raised, weights, options, progress).run();
}

} // namespace smelt::compiler
