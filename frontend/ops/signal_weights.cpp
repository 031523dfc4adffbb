// What signals are weighed with: windows by their length, and the bands of the mel scale.
#include "frontend/element_type.h"
#include "frontend/node_table.h"
#include "frontend/ops/constant.h"
#include "frontend/ops/signal.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The element type that the attribute `output_datatype` names.
FailureOr<Type> windowType(NodeReader &node) {
  int64_t number = node.integer("output_datatype", 1);
  Type type = elementType(node.build.getContext(), static_cast<int32_t>(number));
  if (!type || number != static_cast<int32_t>(number) || type.isInteger(1))
    return node.error() << "an output of " << dataTypeName(static_cast<int32_t>(number))
                        << " is not supported";
  return type;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// offset - first cos(t) + second cos(2 t), t = 2 pi i / n, in double precision: a window is made
/// once for a size.
LogicalResult outputWindow(NodeReader &node, double offset, double first, double second) {
  GraphBuilder &build = node.build;
  Type f64 = Float64Type::get(build.getContext()), i64 = IntegerType::get(build.getContext(), 64);
  FailureOr<Dim> size = readSize(node, 0, "the size", 0);
  FailureOr<Type> type = windowType(node);
  if (failed(size) || failed(type))
    return failure();
  auto number = [&](double value) { return build.scalar(value, f64); };
  Dim period = node.integer("periodic", 1) ? *size : *size - 1;
  Value step = build.create<DivOp>({number(kTurn), build.cast(build.dim(period, i64), f64)});
  Value position = build.createAs<IotaOp>(TensorType::get({*size}, f64), {});
  auto wave = [&](double frequency, double factor) {
    Value angle = build.create<MulOp>({position, build.create<MulOp>({step, number(frequency)})});
    return build.create<MulOp>({build.unary<CosOp>(angle), number(factor)});
  };
  Value window = build.create<SubOp>({number(offset), wave(1, first)});
  if (second != 0)
    window = build.create<AddOp>({window, wave(2, second)});
  return node.output(build.cast(window, *type));
}

LogicalResult importHannWindow(NodeReader &node) { return outputWindow(node, 0.5, 0.5, 0); }
LogicalResult importHammingWindow(NodeReader &node) {
  return outputWindow(node, 25.0 / 46, 21.0 / 46, 0);
}
LogicalResult importBlackmanWindow(NodeReader &node) { return outputWindow(node, 0.42, 0.5, 0.08); }

//===----------------------------------------------------------------------===//
// Mel weights
//===----------------------------------------------------------------------===//

/// Of a matrix that is computed at import.
constexpr int64_t kMostMelWeights = int64_t{1} << 22;

// mel = 2595 log10(1 + hertz / 700)
constexpr double kMelScale = 2595 / 2.30258509299404568402;
double toMel(double hertz) { return kMelScale * std::log1p(hertz / 700); }
double toHertz(double mel) { return 700 * std::expm1(mel / kMelScale); }

/// How many bins of the spectrum, bands, and where these begin, peak and end.
struct MelBands {
  int64_t bins, bands;
  SmallVector<int64_t> edges;
};

FailureOr<MelBands> readMelBands(NodeReader &node) {
  SmallVector<int64_t> counts;
  for (size_t index : {0, 1, 2}) {
    FailureOr<SmallVector<int64_t>> value = node.constants(index, "a number of the mel scale");
    if (failed(value))
      return failure();
    if (value->size() != 1 || value->front() < 1 || value->front() > kMaxElements)
      return node.error() << "needs one positive number, got " << node.describe(index);
    counts.push_back(value->front());
  }
  auto low = constantFloat(node.input(3)), high = constantFloat(node.input(4));
  if (!low || !high) {
    node.build.needValue(node.input(3));
    node.build.needValue(node.input(4));
    return node.error() << "the edges of the mel scale must be constant numbers";
  }
  MelBands mel{counts[1] / 2 + 1, counts[0], {}};
  if (mel.bands > kMostMelWeights / mel.bins)
    return node.error() << "a matrix of " << mel.bins << " by " << mel.bands << " is not supported";
  double first = toMel(*low), step = (toMel(*high) - first) / static_cast<double>(mel.bands + 2);
  for (int64_t edge = 0; edge < mel.bands + 2; ++edge) {
    double hertz = toHertz(first + static_cast<double>(edge) * step);
    double bin =
        std::floor(static_cast<double>(counts[1] + 1) * hertz / static_cast<double>(counts[2]));
    if (!(bin >= 0 && bin < static_cast<double>(mel.bins)))
      return node.error() << "its edges lie outside the spectrum";
    mel.edges.push_back(static_cast<int64_t>(bin));
  }
  return mel;
}

/// Bands are triangles over the bins, of height 1.
LogicalResult importMelWeightMatrix(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Type> type = windowType(node);
  FailureOr<MelBands> mel = readMelBands(node);
  if (failed(type) || failed(mel))
    return failure();
  std::vector<double> weights(mel->bins * mel->bands);
  for (int64_t band = 0; band < mel->bands; ++band) {
    int64_t begin = mel->edges[band], peak = mel->edges[band + 1], end = mel->edges[band + 2];
    auto weight = [&](int64_t bin) -> double & { return weights[bin * mel->bands + band]; };
    for (int64_t bin = begin; bin < peak; ++bin)
      weight(bin) = static_cast<double>(bin - begin) / static_cast<double>(peak - begin);
    weight(peak) = 1;
    for (int64_t bin = peak; bin < end; ++bin)
      weight(bin) = static_cast<double>(end - bin) / static_cast<double>(end - peak);
  }
  auto shaped =
      RankedTensorType::get({mel->bins, mel->bands}, Float64Type::get(build.getContext()));
  Value matrix = build.constant(DenseElementsAttr::get(shaped, ArrayRef<double>(weights)));
  return node.output(build.cast(matrix, *type));
}

} // namespace

ArrayRef<NodeRule> signalWeightRules() {
  static constexpr NodeRule kRules[] = {
      {"BlackmanWindow", 17, 1, importBlackmanWindow},
      {"HammingWindow", 17, 1, importHammingWindow},
      {"HannWindow", 17, 1, importHannWindow},
      {"MelWeightMatrix", 17, 5, importMelWeightMatrix},
  };
  return kRules;
}

} // namespace smelt::frontend
