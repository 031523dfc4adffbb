// Transposed convolutions: plain ones over the input with zeros between its elements.
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"
#include "frontend/ops/window.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr int64_t kLargestCount = 1 << 30;

/// One spatial axis: what the plain convolution pads the spread input with.
struct SpreadAxis {
  int64_t stride, dilation, before, after;
};

/// `stride` - 1 zeros between the elements of an axis.
Value spread(GraphBuilder &build, Value input, int64_t axis, int64_t stride) {
  if (!input || stride == 1)
    return input;
  SmallVector<Dim> shape = tensorType(input).getShape(), split = shape;
  Dim size = shape[axis];
  split.insert(split.begin() + axis + 1, build.size(1));
  Value zero = build.scalar(0, tensorType(input).getElementType());
  Value padded =
      build.pad(build.reshape(input, split), axis + 1, build.size(0), build.size(stride - 1), zero);
  shape[axis] = size * stride;
  return build.slice(build.reshape(padded, shape), axis, build.size(0), (size - 1) * stride + 1);
}

/// Filters [channels, results / groups, kernel...] as a plain convolution has them: [results,
/// channels / groups, kernel...], backwards.
Value turnFilter(GraphBuilder &build, Value filter, int64_t groups) {
  SmallVector<Dim> shape = tensorType(filter).getShape(), split = shape;
  split[0] = shape[0].floorDiv(build.size(groups));
  split.insert(split.begin(), build.size(groups));
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, split.size()));
  std::swap(permutation[1], permutation[2]);
  SmallVector<Dim> turned = shape;
  turned[0] = shape[1] * groups, turned[1] = split[1];
  Value result = build.reshape(build.transpose(build.reshape(filter, split), permutation), turned);
  for (size_t axis = 2; axis < shape.size(); ++axis)
    if (!shape[axis].isConstant(1))
      result = build.slice(result, static_cast<int64_t>(axis), shape[axis] - 1, shape[axis], -1);
  return result;
}

/// Each element of the input times the filter, added up where the results meet.
Value convTranspose(GraphBuilder &build, Value input, Value filter, Value bias,
                    ArrayRef<SpreadAxis> axes, int64_t groups) {
  if (!input || !filter)
    return {};
  SmallVector<int64_t> starts, ends, dilations;
  Value zero = build.scalar(0, tensorType(input).getElementType());
  for (auto [index, axis] : llvm::enumerate(axes)) {
    auto place = static_cast<int64_t>(index) + 2;
    input = spread(build, input, place, axis.stride);
    input = build.pad(input, place, build.size(std::min<int64_t>(axis.before, 0)),
                      build.size(std::min<int64_t>(axis.after, 0)), zero);
    starts.push_back(std::max<int64_t>(axis.before, 0));
    ends.push_back(std::max<int64_t>(axis.after, 0));
    dilations.push_back(axis.dilation);
  }
  starts.append(ends);
  SmallVector<Value> operands{input, turnFilter(build, filter, groups)};
  if (bias)
    operands.push_back(bias);
  return build.create<ConvOp>(
      operands, {build.attribute("strides", SmallVector<int64_t>(axes.size(), 1)),
                 build.attribute("pads", starts), build.attribute("dilations", dilations),
                 build.attribute("groups", groups)});
}

/// Where the filter's steps are as wide as the filter, results never meet: one matrix product, whose
/// rows are the elements of every block.
Value convBlocks(GraphBuilder &build, Value input, Value filter, Value bias) {
  SmallVector<Dim> in = tensorType(input).getShape(), kernel = tensorType(filter).getShape();
  MLIRContext *context = build.getContext();
  Dim pixels = product(ArrayRef(in).drop_front(2), context),
      rows = product(ArrayRef(kernel).drop_front(1), context);
  Value blocks =
      build.create<MatmulOp>({build.transposeMatrix(build.reshape(filter, {kernel[0], rows})),
                              build.reshape(input, {in[0], in[1], pixels})});
  SmallVector<Dim> split{in[0], kernel[1]}, result = split;
  SmallVector<int64_t> permutation{0, 1};
  auto spatial = static_cast<int64_t>(in.size()) - 2;
  split.append(kernel.begin() + 2, kernel.end()), split.append(in.begin() + 2, in.end());
  for (int64_t axis = 0; axis < spatial; ++axis) {
    permutation.append({2 + spatial + axis, 2 + axis});
    result.push_back(in[axis + 2] * kernel[axis + 2]);
  }
  Value sum = build.reshape(build.transpose(build.reshape(blocks, split), permutation), result);
  if (!bias)
    return sum;
  SmallVector<Dim> perChannel(spatial + 1, build.size(1));
  perChannel[0] = kernel[1];
  return build.create<AddOp>({sum, build.reshape(bias, perChannel)});
}

/// What is cut from the ends of one axis of the full result, which has `full` elements.
struct Cut {
  int64_t before, after;
};

/// The ends that make a result of `wanted` elements; the odd one is cut from the end (upper) or the
/// start. A longer result goes on with zeros.
Cut cutTo(int64_t full, int64_t wanted, bool isUpper) {
  int64_t total = std::max<int64_t>(full - wanted, 0),
          before = isUpper ? total / 2 : total - total / 2;
  return {before, full - wanted - before};
}

FailureOr<SmallVector<SpreadAxis>> readSpreadAxes(NodeReader &node) {
  SmallVector<Dim> in = tensorType(node.input(0)).getShape(),
                   kernel = tensorType(node.input(1)).getShape();
  size_t spatial = in.size() - 2;
  FailureOr<Window> steps = readExplicitWindow(node, spatial);
  auto added = readSizes(node, "output_padding", spatial, 0, 0);
  if (failed(steps) || failed(added))
    return failure();
  std::string automatic = node.text("auto_pad", "NOTSET");
  bool isUpper = automatic == "SAME_UPPER", isSame = isUpper || automatic == "SAME_LOWER";
  if (!isSame && automatic != "NOTSET" && automatic != "VALID")
    return node.error() << "auto_pad '" << automatic << "' is unknown";
  // Some exporters name the batch and the channels too.
  auto wanted = node.integers("output_shape");
  if (wanted && wanted->size() == spatial + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != spatial)
    return node.error() << "its output_shape must hold " << spatial << " sizes";
  SmallVector<SpreadAxis> axes;
  for (size_t axis = 0; axis < spatial; ++axis) {
    auto size = in[axis + 2].asConstant(), taps = kernel[axis + 2].asConstant();
    if (!taps || *taps < 1 || *taps > kLargestCount)
      return node.error() << "a filter of such a size is not supported: " << node.describe(1);
    bool isSane = !wanted || ((*wanted)[axis] >= 1 && (*wanted)[axis] <= kLargestCount);
    if (!isSane)
      return node.error() << "its output_shape names " << (*wanted)[axis] << " elements";
    if (wanted && !size)
      return node.error() << "an output_shape with sizes that vary is not supported: "
                          << node.describe(0);
    int64_t stride = steps->strides[axis], reach = (*taps - 1) * steps->dilations[axis],
            beyond = reach + 1 - stride + (*added)[axis]; // of the full result over size * stride
    Cut cut{steps->pads[axis], steps->pads[axis + spatial]};
    if (wanted)
      cut = cutTo(*size * stride + beyond, (*wanted)[axis], isUpper);
    else if (isSame)
      cut = cutTo(beyond, 0, isUpper);
    else if (automatic == "VALID")
      cut = {0, 0};
    axes.push_back(
        {stride, steps->dilations[axis], reach - cut.before, reach - cut.after + (*added)[axis]});
  }
  return axes;
}

LogicalResult checkTransposedShapes(NodeReader &node, int64_t groups) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> in = tensorType(node.input(0)).getShape(),
                   filter = tensorType(node.input(1)).getShape();
  if (in.size() < 3 || filter.size() != in.size())
    return node.error() << node.describe(0) << " and filter " << node.describe(1)
                        << " must have the same rank, at least 3";
  auto channels = filter[0].asConstant();
  if (groups < 1 || groups > kLargestCount || !channels || *channels % groups != 0)
    return node.error() << "filter " << node.describe(1) << " cannot have " << groups << " groups";
  if (failed(build.getFacts().requireEqual(build.getLocation(), in[1], filter[0],
                                           "there is a filter for each channel")))
    return failure();
  for (size_t axis = 2; axis < in.size(); ++axis)
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1),
                                              tensorType(node.input(0)).getDim(axis),
                                              "a transposed convolution has an element to spread")))
      return failure();
  ArrayRef<Dim> kernel = ArrayRef(filter).drop_front(2);
  if (auto declared = node.integers("kernel_shape"))
    if (SmallVector<Dim>(kernel) !=
        llvm::map_to_vector(*declared, [&](int64_t size) { return build.size(size); }))
      return node.error() << "its kernel_shape contradicts the filter " << node.describe(1);
  if (node.input(2) && tensorType(node.input(2)).getShape() != ArrayRef(filter[1] * groups))
    return node.error() << "its bias " << node.describe(2) << " does not fit the filter "
                        << node.describe(1);
  return success();
}

LogicalResult importConvTranspose(NodeReader &node) {
  int64_t groups = node.integer("group", 1);
  if (failed(node.requireSameType()) || failed(checkTransposedShapes(node, groups)))
    return failure();
  FailureOr<SmallVector<SpreadAxis>> axes = readSpreadAxes(node);
  if (failed(axes))
    return failure();
  bool isBlocks = groups == 1;
  for (auto [index, axis] : llvm::enumerate(*axes)) {
    int64_t taps = *tensorType(node.input(1)).getDim(index + 2).asConstant();
    isBlocks &= axis.stride == taps && axis.dilation == 1 && axis.before == taps - 1 &&
                axis.after == taps - 1;
  }
  return node.output(isBlocks ? convBlocks(node.build, node.input(0), node.input(1), node.input(2))
                              : convTranspose(node.build, node.input(0), node.input(1),
                                              node.input(2), *axes, groups));
}

/// One filter for each element of a block: a 1 in its place.
Value blockFilters(GraphBuilder &build, Dim channels, ArrayRef<Dim> block, Type type) {
  Dim count = product(block, build.getContext());
  Type i64 = IntegerType::get(build.getContext(), 64);
  Expression place = countTo(build, count, i64), filter = place.reshaped({count, build.size(1)});
  Value units = build.cast(build.create<EqualOp>({filter.value(), place.value()}), type);
  SmallVector<Dim> shape{channels * count, build.size(1)};
  shape.append(block.begin(), block.end());
  return build.reshape(build.expand(units, {channels, count, count}), shape);
}

/// An image that is made of blocks: their sizes and numbers, and the convolution, by axis.
struct BlockImage {
  SmallVector<Dim> block, counts;
  SmallVector<SpreadAxis> axes;
  int64_t elements = 1, blocks = 1; // of a block, of the image
};

FailureOr<BlockImage> readBlockImage(NodeReader &node) {
  FailureOr<SmallVector<int64_t>> image = node.constants(1, "the shape of the image"),
                                  block = node.constants(2, "the shape of the blocks");
  if (failed(image) || failed(block))
    return failure();
  FailureOr<Window> steps = readExplicitWindow(node, image->size());
  if (failed(steps))
    return failure();
  if (image->empty())
    return node.error() << "needs an image of at least one axis, got " << node.describe(1);
  BlockImage result;
  for (auto [axis, size] : llvm::enumerate(*image)) {
    int64_t taps = block->size() == image->size() ? (*block)[axis] : 0;
    int64_t stride = steps->strides[axis], dilation = steps->dilations[axis],
            before = steps->pads[axis], after = steps->pads[axis + image->size()];
    bool isSane = taps >= 1 && taps <= kLargestCount && size >= 1 && size <= kLargestCount;
    int64_t reach = isSane ? (taps - 1) * dilation : 0,
            room = isSane ? size + before + after - reach - 1 : -1;
    if (room < 0)
      return node.error() << "cannot make the image " << node.describe(1) << " of blocks "
                          << node.describe(2);
    int64_t count = room / stride + 1, full = (count - 1) * stride + 1 + reach;
    result.axes.push_back({stride, dilation, reach - before, reach + before + size - full});
    result.counts.push_back(node.build.size(count));
    result.block.push_back(node.build.size(taps));
    result.elements *= taps, result.blocks *= count;
    if (result.elements > kLargestCount || result.blocks > kLargestCount)
      return node.error() << "has too many blocks";
  }
  return result;
}

/// Columns [batch, channels * block, blocks] added up where blocks of the image meet.
LogicalResult importCol2Im(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  if (type.getRank() != 3 || !isa<FloatType>(type.getElementType()))
    return node.error() << "of anything but three axes of floats is not supported: "
                        << node.describe(0);
  FailureOr<BlockImage> image = readBlockImage(node);
  if (failed(image))
    return failure();
  auto rows = type.getDim(1).asConstant();
  if (!rows || *rows % image->elements != 0)
    return node.error() << node.describe(0) << " does not hold the blocks of such an image";
  if (failed(build.getFacts().requireEqual(build.getLocation(), type.getDim(2),
                                           build.size(image->blocks),
                                           "there is a column for each block")))
    return failure();
  SmallVector<Dim> split = tensorType(node.input(0)).getShape();
  split.pop_back();
  split.append(image->counts);
  int64_t channels = *rows / image->elements;
  Value filters = blockFilters(build, build.size(channels), image->block, type.getElementType());
  return node.output(convTranspose(build, build.reshape(node.input(0), split), filters, Value(),
                                   image->axes, channels));
}

} // namespace

ArrayRef<NodeRule> convTransposeRules() {
  static constexpr NodeRule kRules[] = {
      {"Col2Im", 18, 3, importCol2Im},
      {"ConvTranspose", 1, 2, importConvTranspose},
  };
  return kRules;
}

} // namespace smelt::frontend
