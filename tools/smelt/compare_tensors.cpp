#include "tools/smelt/compare_tensors.h"

#include "compiler/onnx_graph.h"
#include "ir/location.h"
#include "tools/smelt/compare_fusions.h"
#include "tools/smelt/interpreter_array.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::tools {

/// Weights of 16 bits are off by 2^-9 at most, and what is computed from many layers of them by some more; a
/// tensor that a pass scaled, negated or moved, by far more.
constexpr double kRoundedSameness = 0.1;

/// Values as they were computed, not rounded to their declared type.
static Array unrounded(const HostTensor &tensor) {
  Array array{ElementType::f64, tensor.getShape().vec(), {}};
  array.bytes.resize(static_cast<size_t>(tensor.getNumElements()) * sizeof(double));
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    array.set(static_cast<size_t>(i), tensor.getDouble(i));
  return array;
}

namespace {

/// A tensor of the ONNX graph, as it should be.
struct KnownTensor {
  std::string name, node, op;
  ElementType type, arithmetic;
  Array exact;
  bool isFound = false;
  TensorError found = {};
};

/// What the graph computes, by the interpreter in double precision.
class GraphTensors {
public:
  Status compute(const ModelFlags &flags, const std::vector<Array> &inputs) {
    ModelFlags exposing = flags;
    exposing.exposesAll = exposing.isSilent = true;
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(exposing));
    compiler::ModelRunner runner(*model, CpuArithmetic::kDouble);
    SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runOnCpu(runner, inputs));
    std::vector<ElementType> arithmetic = arithmeticOf(model->module());
    llvm::StringMap<size_t> resultOf;
    for (auto [index, port] : llvm::enumerate(model->signature().outputs))
      resultOf.insert({port.name, index});
    for (const GraphNode &node : readOnnxGraph(model->path())) {
      positionOf.insert({node.name, positionOf.size()});
      for (const std::string &output : node.outputs)
        if (auto result = resultOf.find(output); result != resultOf.end()) {
          const Port &port = model->signature().outputs[result->second];
          ofNode[node.name].push_back(all.size());
          all.push_back({output, node.name, node.op, port.type, arithmetic[result->second],
                         unrounded(results[result->second])});
        }
    }
    return {};
  }

  /// Those of the last node among `nodes`, in the order of the graph.
  ArrayRef<size_t> ofLast(ArrayRef<StringRef> nodes) const {
    std::optional<StringRef> last;
    for (StringRef node : nodes)
      if (positionOf.contains(node) &&
          (!last || positionOf.lookup(*last) < positionOf.lookup(node)))
        last = node;
    auto found = last ? ofNode.find(*last) : ofNode.end();
    return found == ofNode.end() ? ArrayRef<size_t>() : ArrayRef<size_t>(found->second);
  }

  std::vector<KnownTensor> all; ///< in the order of the graph

private:
  llvm::StringMap<size_t> positionOf; ///< of nodes
  llvm::StringMap<std::vector<size_t>> ofNode;
};

/// Finds the graph's tensors in a fused model, and what the device makes of them.
class Search {
public:
  Search(GraphTensors &graph, FusedRun &seen, const Tolerances &tolerances)
      : graph(graph), seen(seen), tolerances(tolerances) {}

  Status run(const std::vector<Array> &inputs);

private:
  using Visit = llvm::function_ref<void(Operation &, ArrayRef<HostTensor> results)>;

  Status evaluateAll(Block &block, KnownValues &values, Precision precision, Visit visit);
  Status searchFusion(FusionOp fusion, size_t index, ArrayRef<HostTensor> exactOperands);
  double sameness(const KnownTensor &tensor) const;
  Array deviceArray(FusionOp fusion, Value value, const HostTensor &inside, bool &isInside) const;

  GraphTensors &graph;
  FusedRun &seen;
  const Tolerances &tolerances;
};

} // namespace

/// Evaluates a block op by op; `values` holds its arguments, and then all values.
Status Search::evaluateAll(Block &block, KnownValues &values, Precision precision, Visit visit) {
  EvaluateOptions options{precision, &seen.model().weights(), 0};
  for (Operation &op : block.without_terminator()) {
    auto operands = llvm::map_to_vector(op.getOperands(),
                                        [&](Value operand) { return values.lookup(operand); });
    auto results = evaluate(&op, operands, seen.symbols(), options);
    if (failed(results))
      return seen.failure("an op of the fused model cannot be evaluated");
    for (auto [value, result] : llvm::zip(op.getResults(), *results))
      values[value] = result;
    visit(op, *results);
  }
  return {};
}

/// How far a value may be from the tensor that it stands for, both in double precision. Constants and
/// weights are those of the passes, which round them to 16 bits.
double Search::sameness(const KnownTensor &tensor) const {
  bool isWide = tensor.arithmetic == ElementType::f32 || tensor.arithmetic == ElementType::f64;
  bool isRounded = narrows(tolerances.precision) || !isWide;
  return isFloat(tensor.type) && isRounded ? kRoundedSameness
                                           : defaultTolerance(tensor.type, /*tf32=*/false);
}

/// What the device left of a value of a fusion, or what is computed for it.
Array Search::deviceArray(FusionOp fusion, Value value, const HostTensor &inside,
                          bool &isInside) const {
  for (auto [output, yielded] : llvm::zip(fusion.getOutputs(), fusion.getYield()->getOperands()))
    if (yielded == value) {
      isInside = false;
      return seen.arrayOf(output);
    }
  isInside = true;
  return unrounded(inside);
}

Status Search::searchFusion(FusionOp fusion, size_t index, ArrayRef<HostTensor> exactOperands) {
  KnownValues exact, onDevice;
  SMELT_ASSIGN_OR_RETURN(SmallVector<HostTensor> operands, seen.operandsOf(fusion));
  for (auto [argument, value, operand] :
       llvm::zip(fusion.getBlock().getArguments(), exactOperands, operands)) {
    exact[argument] = value;
    onDevice[argument] = operand;
  }
  auto ignore = [](Operation &, ArrayRef<HostTensor>) {};
  SMELT_RETURN_IF_ERROR(evaluateAll(fusion.getBlock(), exact, Precision::f64, ignore));
  return evaluateAll(
      fusion.getBlock(), onDevice, Precision::f32, [&](Operation &op, ArrayRef<HostTensor>) {
        for (Value value : op.getResults())
          for (size_t number : graph.ofLast(nodeNames(op.getLoc()))) {
            KnownTensor &tensor = graph.all[number];
            Array meant = unrounded(exact.lookup(value));
            if (tensor.isFound || meant.shape != tensor.exact.shape ||
                !(compareTensors(meant, tensor.exact).relativeNorm <= sameness(tensor)))
              continue;
            bool isInside = false;
            Array actual = deviceArray(fusion, value, onDevice.lookup(value), isInside);
            tensor.isFound = true;
            tensor.found = {tensor.name,
                            tensor.node,
                            tensor.op,
                            index,
                            isInside,
                            tensor.exact.shape,
                            compareTensors(actual, tensor.exact),
                            tolerances.of(tensor.type, tensor.arithmetic)};
          }
      });
}

Status Search::run(const std::vector<Array> &inputs) {
  KnownValues exact;
  for (auto [argument, input] : llvm::zip(seen.main().getArguments(), inputs)) {
    SMELT_ASSIGN_OR_RETURN(exact[argument],
                           toInterpreter(input, argument.getType(), Precision::f64));
  }
  Status status;
  auto search = [&](Operation &op, ArrayRef<HostTensor>) {
    auto fusion = dyn_cast<FusionOp>(op);
    if (!fusion || !status.isOk())
      return;
    auto operands =
        llvm::map_to_vector(fusion.getInputs(), [&](Value input) { return exact.lookup(input); });
    status = searchFusion(fusion, seen.numberOf(fusion), operands);
  };
  SMELT_RETURN_IF_ERROR(evaluateAll(seen.main().getBody().front(), exact, Precision::f64, search));
  return status;
}

Result<TensorErrors> compareTensors(const ModelFlags &flags, FusedRun &seen,
                                    const std::vector<Array> &inputs,
                                    const Tolerances &tolerances) {
  GraphTensors graph;
  SMELT_RETURN_IF_ERROR(graph.compute(flags, inputs));
  SMELT_RETURN_IF_ERROR(Search(graph, seen, tolerances).run(inputs));
  TensorErrors errors;
  for (KnownTensor &tensor : graph.all)
    if (tensor.isFound)
      errors.tensors.push_back(std::move(tensor.found));
  errors.unknown = graph.all.size() - errors.tensors.size();
  return errors;
}

} // namespace smelt::tools
