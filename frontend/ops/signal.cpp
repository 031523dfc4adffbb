// Fourier transforms, as products with a matrix that is made where the sizes are known.
#include "frontend/ops/signal.h"

#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Of a constant matrix: beyond it a product is no way to transform.
constexpr int64_t kMostMatrixElements = int64_t{1} << 27;

/// A transform of `length` points, of which `taken` are given and `made` are wanted; numbers are
/// real or complex.
struct Transform {
  Dim length, taken, made;
  bool inverse, complexInput, complexOutput;
  /// Half of a spectrum is given: of what it does not hold, each has its mirror image there.
  bool mirrors;

  int64_t inputParts() const { return complexInput ? 2 : 1; }
  int64_t outputParts() const { return complexOutput ? 2 : 1; }
};

/// The whole numbers from 0 on along one of the axes of the matrix: point and part of the input,
/// point and part of the output.
Value countAlong(GraphBuilder &build, unsigned axis, Dim size) {
  Type i64 = IntegerType::get(build.getContext(), 64);
  SmallVector<Dim> shape(4 - axis, build.size(1));
  shape[0] = size;
  return build.reshape(build.createAs<IotaOp>(TensorType::get({size}, i64), {}), shape);
}

/// cos(2 pi n k / length), a quarter turn on from the real part to the imaginary one. Turns are
/// counted in whole numbers, so that large n k lose nothing.
Value turnMatrix(GraphBuilder &build, const Transform &transform) {
  Type i64 = IntegerType::get(build.getContext(), 64), f64 = Float64Type::get(build.getContext());
  auto whole = [&](Dim value) { return build.dim(value, i64); };
  Value from = countAlong(build, 0, transform.taken), to = countAlong(build, 2, transform.made);
  Value fromPart = countAlong(build, 1, build.size(transform.inputParts())),
        toPart = countAlong(build, 3, build.size(transform.outputParts()));
  Value product = build.create<MulOp>({from, to});
  Value turns = build.create<MulOp>({product, whole(build.size(transform.inverse ? -4 : 4))});
  Value quarters =
      build.create<MulOp>({build.create<SubOp>({toPart, fromPart}), whole(transform.length)});
  Dim circle = transform.length * 4;
  Value turned = build.create<ModOp>({build.create<AddOp>({turns, quarters}), whole(circle)});
  Value unit = build.create<DivOp>({build.scalar(kTurn, f64), build.cast(whole(circle), f64)});
  return build.unary<CosOp>(build.create<MulOp>({build.cast(turned, f64), unit}));
}

/// [taken * parts, made * parts]: what the points are multiplied by.
Value transformMatrix(GraphBuilder &build, const Transform &transform, Type element) {
  Type i64 = IntegerType::get(build.getContext(), 64), f64 = Float64Type::get(build.getContext());
  auto real = [&](Dim value) { return build.cast(build.dim(value, i64), f64); };
  Value matrix = turnMatrix(build, transform);
  if (transform.mirrors) { // all count twice but the constant and the highest frequency
    Value from = countAlong(build, 0, transform.taken);
    Value isFirst = build.create<EqualOp>({from, build.scalar(0, i64)});
    Value isLast = build.create<EqualOp>(
        {build.create<AddOp>({from, from}), build.dim(transform.length, i64)});
    Value weight = build.create<SelectOp>(
        {build.create<OrOp>({isFirst, isLast}), build.scalar(1, f64), build.scalar(2, f64)});
    matrix = build.create<MulOp>({matrix, weight});
  }
  if (transform.inverse)
    matrix = build.create<DivOp>({matrix, real(transform.length)});
  return build.reshape(build.cast(matrix, element), {transform.taken * transform.inputParts(),
                                                     transform.made * transform.outputParts()});
}

/// Transforms [..., points, parts] along the points.
Value apply(NodeReader &node, Value input, const Transform &transform) {
  GraphBuilder &build = node.build;
  int64_t axis = tensorType(input).getRank() - 2;
  Value taken = build.widen(build.slice(input, axis, build.size(0), transform.taken));
  if (!taken)
    return {};
  Dim inputs = transform.taken * transform.inputParts(),
      outputs = transform.made * transform.outputParts();
  auto constantInputs = inputs.asConstant(), constantOutputs = outputs.asConstant();
  if (constantInputs && constantOutputs &&
      *constantInputs > kMostMatrixElements / std::max<int64_t>(*constantOutputs, 1))
    return node.error() << "a transform of " << transform.length.toString()
                        << " points is not supported: its matrix would be too large",
           Value();
  SmallVector<Dim> shape = tensorType(taken).getShape(), rows = shape;
  rows.pop_back(), rows.back() = inputs;
  bool isVector = rows.size() == 1;
  if (isVector)
    rows.insert(rows.begin(), build.size(1));
  Value product = build.create<MatmulOp>(
      {build.reshape(taken, rows),
       transformMatrix(build, transform, tensorType(taken).getElementType())});
  shape[axis] = transform.made, shape.back() = build.size(transform.outputParts());
  return build.cast(build.reshape(product, shape), tensorType(input).getElementType());
}

/// Whether the last axis of input 0 holds complex numbers.
FailureOr<bool> isComplex(NodeReader &node) {
  TensorType type = tensorType(node.input(0));
  auto parts = type.getRank() < 2 ? std::nullopt : type.getShape().back().asConstant();
  if (parts != 1 && parts != 2)
    return node.error() << "the size of the last axis must be constant: 1, of real numbers, or 2, "
                        << "of complex ones; got " << node.describe(0);
  return parts == 2;
}

/// The points to make of `given` ones, along with what else the attributes say.
FailureOr<Transform> readTransform(NodeReader &node, Dim given) {
  GraphBuilder &build = node.build;
  FailureOr<bool> complexInput = isComplex(node);
  if (failed(complexInput))
    return failure();
  bool inverse = node.flag("inverse"), onesided = node.flag("onesided");
  bool mirrors = inverse && onesided;
  Dim standard = mirrors ? (given - 1) * 2 : given;
  FailureOr<Dim> length = node.input(1) ? readSize(node, 1, "the length of the transform", 1)
                                        : FailureOr<Dim>(standard);
  if (failed(length))
    return failure();
  if (auto points = length->asConstant(); mirrors && points && *points < 1)
    return node.error() << "half of a spectrum of " << given.toString()
                        << " points tells no length of a signal: give the length, input 1";
  if (onesided && *complexInput != inverse)
    return node.error() << "a one-sided transform is from real to complex numbers or, inverse, "
                        << "from complex to real ones; got " << node.describe(0);
  Dim half = length->floorDiv(build.size(2)) + 1;
  return Transform{*length,
                   given.min(mirrors ? half : *length),
                   onesided && !inverse ? half : *length,
                   inverse,
                   *complexInput,
                   !mirrors,
                   mirrors};
}

/// The axis to transform: an attribute at first, input 2 since opset 20.
FailureOr<int64_t> transformedAxis(NodeReader &node, int64_t rank) {
  int64_t axis = node.opset() < 20 ? node.integer("axis", 1) : -2;
  if (node.opset() >= 20 && node.input(2)) {
    FailureOr<SmallVector<int64_t>> given = node.constants(2, "the axis");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error() << "needs one axis, got " << node.describe(2);
    axis = given->front();
  }
  FailureOr<int64_t> normal = node.normalAxis(axis, rank);
  if (succeeded(normal) && *normal == rank - 1)
    return node.error() << "the last axis, of real and imaginary parts, cannot be transformed";
  return normal;
}

LogicalResult importDft(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  int64_t rank = type.getRank();
  FailureOr<int64_t> axis = transformedAxis(node, rank);
  if (failed(axis))
    return failure();
  FailureOr<Transform> transform = readTransform(node, type.getDim(*axis));
  if (failed(transform))
    return failure();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[*axis], permutation[rank - 2]);
  Value input = build.transpose(node.input(0), permutation);
  return node.output(input ? build.transpose(apply(node, input, *transform), permutation)
                           : Value());
}

/// The length of a frame: as given, or that of the window, or all of the signal.
FailureOr<Dim> frameLength(NodeReader &node, Dim signal) {
  FailureOr<Dim> length = signal;
  if (node.input(2))
    length = tensorType(node.input(2)).getDim(0);
  if (node.input(3))
    length = readSize(node, 3, "the length of a frame", 1);
  if (failed(length) || !node.input(2))
    return length;
  ShapeFacts &facts = node.build.getFacts();
  if (failed(facts.requireEqual(node.build.getLocation(), tensorType(node.input(2)).getDim(0),
                                *length, "the window covers a frame")))
    return failure();
  return facts.canonical(*length);
}

/// Overlapping frames of [batch, signal, parts] as [batch, frames, length, parts], windowed.
Value windowFrames(NodeReader &node, Dim length, int64_t step) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  if (failed(build.getFacts().requireAtMost(build.getLocation(), length, shape[1],
                                            "the signal holds a frame")))
    return {};
  Dim frames = (shape[1] - length).floorDiv(build.size(step)) + 1;
  if (failed(build.requireSizes({frames, length})))
    return {};
  TensorType framed = tensorType(node.input(0)).withShape({shape[0], frames, length, shape[2]});
  Value result = build.createAs<WindowsOp>(framed, node.input(0),
                                           {build.attribute("axis", int64_t{1}),
                                            build.attribute("stride", step),
                                            build.attribute("dilation", int64_t{1})});
  Value window = node.input(2);
  return window ? build.create<MulOp>({result, build.reshape(window, {length, build.size(1)})})
                : result;
}

LogicalResult importStft(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<bool> complexInput = isComplex(node);
  FailureOr<SmallVector<int64_t>> step = node.constants(1, "the step of the frames");
  if (failed(complexInput) || failed(step) || failed(node.requireSameType({0, 2})))
    return failure();
  if (tensorType(node.input(0)).getRank() != 3 || step->size() != 1 || step->front() < 1 ||
      step->front() > kMaxElements)
    return node.error() << "needs a signal [batch, length, parts] and one positive step, got "
                        << node.describe(0) << " and " << node.describe(1);
  if (node.input(2) && tensorType(node.input(2)).getRank() != 1)
    return node.error() << "its window " << node.describe(2) << " must be a vector";
  FailureOr<Dim> length = frameLength(node, tensorType(node.input(0)).getDim(1));
  if (failed(length))
    return failure();
  bool onesided = node.integer("onesided", 1);
  if (onesided && *complexInput)
    return node.error() << "a one-sided transform needs real numbers, got " << node.describe(0);
  Value frames = windowFrames(node, *length, step->front());
  Dim made = onesided ? length->floorDiv(build.size(2)) + 1 : *length;
  return node.output(
      frames ? apply(node, frames, {*length, *length, made, false, *complexInput, true, false})
             : Value());
}

} // namespace

FailureOr<Dim> readSize(NodeReader &node, size_t index, StringRef what, int64_t least) {
  FailureOr<SmallVector<Dim>> sizes = node.dims(index, what);
  if (failed(sizes))
    return failure();
  if (sizes->size() != 1)
    return node.error() << what << " must be one number, got " << node.describe(index);
  if (auto size = sizes->front().asConstant(); size && *size > kMaxElements)
    return node.error() << what << ", " << *size << ", has too many elements";
  if (failed(node.build.getFacts().requireAtMost(node.build.getLocation(), node.build.size(least),
                                                 sizes->front(), what)))
    return failure();
  return sizes->front();
}

ArrayRef<NodeRule> signalRules() {
  static constexpr NodeRule kRules[] = {
      {"DFT", 17, 1, importDft},
      {"STFT", 17, 2, importStft},
  };
  return kRules;
}

} // namespace smelt::frontend
