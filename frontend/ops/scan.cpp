// Scan: a body that carries states along an axis of its inputs, unrolled. The length of the axis must be
// known. Opset 8 scans each element of a batch on its own.
#include "frontend/constant_value.h"
#include "frontend/fixing_flags.h"
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Each step is imported, and compiled, anew.
constexpr int64_t kMostScanSteps = 1024;

/// An input or output that is taken apart, or put together, along an axis.
struct ScannedAxis {
  int64_t axis = 0;
  bool isReversed = false;
};

using ScanValues = SmallVector<Value>;

/// One attribute of as many integers as there are inputs or outputs; zeros where it is absent.
FailureOr<SmallVector<int64_t>> readScanList(NodeReader &node, StringRef name, size_t count) {
  SmallVector<int64_t> list = node.integers(name).value_or(SmallVector<int64_t>(count, 0));
  if (list.size() != count)
    return node.error() << "its " << name << " must be " << count << " integers, got "
                        << list.size();
  return list;
}

/// The directions and axes as the attributes give them.
FailureOr<SmallVector<ScannedAxis>> readScannedAxes(NodeReader &node, StringRef directions,
                                                    StringRef axes, size_t count) {
  FailureOr<SmallVector<int64_t>> reversed = readScanList(node, directions, count),
                                  axis = readScanList(node, axes, count);
  if (failed(reversed) || failed(axis))
    return failure();
  SmallVector<ScannedAxis> result;
  for (auto [number, isReversed] : llvm::zip_equal(*axis, *reversed))
    result.push_back({number, isReversed != 0});
  return result;
}

Value dropAxis(GraphBuilder &build, Value all, int64_t axis, int64_t index) {
  SmallVector<Dim> shape = tensorType(all).getShape();
  shape.erase(shape.begin() + axis);
  return build.reshape(build.slice(all, axis, build.size(index), build.size(1)), shape);
}

/// Values of one shape along a new axis; null after a report.
Value stackValues(NodeReader &node, ArrayRef<Value> parts, int64_t axis) {
  GraphBuilder &build = node.build;
  ScanValues pieces;
  for (Value part : parts) {
    if (!part)
      return {};
    SmallVector<Dim> shape = tensorType(part).getShape();
    FailureOr<int64_t> place = node.normalAxis(axis, static_cast<int64_t>(shape.size()) + 1);
    if (failed(place))
      return {};
    axis = *place;
    shape.insert(shape.begin() + axis, build.size(1));
    pieces.push_back(build.reshape(part, shape));
  }
  return build.concat(pieces, axis);
}

/// A scan of given states over given inputs.
class Scan {
public:
  Scan(NodeReader &node, const InnerGraph &body)
      : node(node), build(node.build), body(body), constants(node.build) {}

  LogicalResult run(ScanValues states, ArrayRef<Value> inputs, ArrayRef<ScannedAxis> axes) {
    FailureOr<int64_t> length = readLength(inputs, axes);
    if (failed(length))
      return failure();
    carried = std::move(states);
    scanned.resize(body.outputCount() - carried.size());
    for (int64_t step = 0; step < *length; ++step)
      if (failed(iterate(inputs, axes, step, *length)))
        return failure();
    return success();
  }

  /// Puts a scanned output together.
  Value stacked(size_t index, ScannedAxis axis) {
    ScanValues parts = scanned[index];
    if (axis.isReversed)
      std::reverse(parts.begin(), parts.end());
    return stackValues(node, parts, axis.axis);
  }
  ArrayRef<Value> states() const { return carried; }
  size_t scannedCount() const { return scanned.size(); }

private:
  FailureOr<int64_t> readLength(ArrayRef<Value> inputs, ArrayRef<ScannedAxis> axes) {
    Dim first = tensorType(inputs[0]).getDim(axes[0].axis);
    for (auto [input, axis] : llvm::zip_equal(inputs, axes))
      if (failed(build.getFacts().requireEqual(build.getLocation(), first,
                                               tensorType(input).getDim(axis.axis),
                                               "the scanned inputs have one length")))
        return failure();
    std::optional<int64_t> length = tensorType(inputs[0]).getDim(axes[0].axis).asConstant();
    if (length && *length >= 1 && *length <= kMostScanSteps)
      return *length;
    return node.error() << "a sequence of " << first.toString()
                        << " steps is not supported: its length must be constant, 1 to "
                        << kMostScanSteps << fixingFlags(build.getFunction(), first);
  }

  LogicalResult iterate(ArrayRef<Value> inputs, ArrayRef<ScannedAxis> axes, int64_t step,
                        int64_t length) {
    SmallVector<GraphValue> given(carried.begin(), carried.end());
    for (auto [input, axis] : llvm::zip_equal(inputs, axes))
      given.push_back(
          dropAxis(build, input, axis.axis, axis.isReversed ? length - 1 - step : step));
    FailureOr<SmallVector<GraphValue>> outputs = body.import(given);
    if (failed(outputs))
      return failure();
    for (auto [index, output] : llvm::enumerate(*outputs)) {
      if (!output.isTensor())
        return node.error() << "output " << index << " of its body is " << output.kindName()
                            << ", but must be a tensor";
      if (index < carried.size())
        carried[index] = constants.fold(output.tensor());
      else
        scanned[index - carried.size()].push_back(output.tensor());
    }
    constants.endIteration();
    return success();
  }

  NodeReader &node;
  GraphBuilder &build;
  const InnerGraph &body;
  CarriedConstants constants;
  ScanValues carried;
  SmallVector<ScanValues> scanned;
};

/// The body, which must fit `inputs` values, of which the last are scanned.
FailureOr<InnerGraph> readScanBody(NodeReader &node, size_t inputs) {
  int64_t scanned = node.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(inputs))
    return node.error() << "its num_scan_inputs " << scanned << " must be 1 to " << inputs;
  FailureOr<InnerGraph> body = node.graph("body", inputs, node.outputCount());
  if (failed(body))
    return failure();
  if (body->outputCount() < inputs - scanned)
    return node.error() << "its body gives " << body->outputCount() << " values for "
                        << inputs - scanned << " states";
  return body;
}

LogicalResult importScan(NodeReader &node) {
  FailureOr<InnerGraph> body = readScanBody(node, node.inputCount());
  if (failed(body))
    return failure();
  size_t count = node.integer("num_scan_inputs", 0), states = node.inputCount() - count,
         outputs = body->outputCount() - states;
  auto from = readScannedAxes(node, "scan_input_directions", "scan_input_axes", count),
       into = readScannedAxes(node, "scan_output_directions", "scan_output_axes", outputs);
  if (failed(from) || failed(into))
    return failure();
  ScanValues given = node.inputs();
  for (auto [index, axis] : llvm::enumerate(*from)) {
    FailureOr<int64_t> normal =
        node.normalAxis(axis.axis, tensorType(given[states + index]).getRank());
    if (failed(normal))
      return failure();
    axis.axis = *normal;
  }
  Scan scan(node, *body);
  if (failed(scan.run(ScanValues(given.begin(), given.begin() + states),
                      ArrayRef(given).drop_front(states), *from)))
    return failure();
  for (auto [index, state] : llvm::enumerate(scan.states()))
    if (failed(node.output(state, index)))
      return failure();
  for (auto [index, axis] : llvm::enumerate(*into))
    if (failed(node.output(scan.stacked(index, axis), states + index)))
      return failure();
  return success();
}

/// How many elements the batch has that all inputs begin with.
FailureOr<int64_t> readScanBatch(NodeReader &node, ArrayRef<Value> given) {
  std::optional<int64_t> batch;
  for (Value value : given) {
    TensorType type = tensorType(value);
    std::optional<int64_t> own = type.getRank() > 0 ? type.getDim(0).asConstant() : std::nullopt;
    if (!own || *own < 1 || *own > kMostScanSteps || (batch && *batch != *own))
      return node.error() << "its inputs must have one batch, whose size must be constant, 1 to "
                          << kMostScanSteps
                          << fixingFlags(node.build.getFunction(), type.getDim(0));
    batch = own;
  }
  return *batch;
}

/// Opset 8: lengths of sequences come first; all other inputs begin with the batch, then the axis
/// that is scanned.
LogicalResult importScanOfBatch(NodeReader &node) {
  if (node.input(0))
    return node.error() << "lengths of sequences, " << node.describe(0) << ", are not supported";
  FailureOr<InnerGraph> body = readScanBody(node, node.inputCount() - 1);
  if (failed(body))
    return failure();
  size_t count = node.integer("num_scan_inputs", 0), states = node.inputCount() - 1 - count;
  FailureOr<SmallVector<int64_t>> directions = readScanList(node, "directions", count);
  ScanValues given = node.inputs();
  given.erase(given.begin());
  if (llvm::is_contained(given, Value()))
    return node.error() << "its states and inputs must all be given";
  FailureOr<int64_t> batch =
      failed(directions) ? FailureOr<int64_t>(failure()) : readScanBatch(node, given);
  if (failed(batch))
    return failure();
  SmallVector<ScannedAxis> axes;
  for (int64_t direction : *directions)
    axes.push_back({0, direction != 0});
  SmallVector<ScanValues> rows(body->outputCount());
  for (int64_t index = 0; index < *batch; ++index) {
    ScanValues own = llvm::map_to_vector(
        given, [&](Value value) { return dropAxis(node.build, value, 0, index); });
    for (Value scanned : ArrayRef(own).drop_front(states))
      if (!scanned || tensorType(scanned).getRank() == 0)
        return node.error() << "needs a batch and an axis to scan in its scanned inputs";
    Scan scan(node, *body);
    if (failed(scan.run(ScanValues(own.begin(), own.begin() + states),
                        ArrayRef(own).drop_front(states), axes)))
      return failure();
    for (auto [state, value] : llvm::enumerate(scan.states()))
      rows[state].push_back(value);
    for (size_t output = 0; output < scan.scannedCount(); ++output)
      rows[states + output].push_back(scan.stacked(output, {}));
  }
  for (auto [index, row] : llvm::enumerate(rows))
    if (failed(node.output(stackValues(node, row, 0), index)))
      return failure();
  return success();
}

} // namespace

ArrayRef<NodeRule> scanRules() {
  static constexpr NodeRule kRules[] = {
      {"Scan", 8, 0, importScanOfBatch},
      {"Scan", 9, kEveryInput, importScan},
  };
  return kRules;
}

} // namespace smelt::frontend
