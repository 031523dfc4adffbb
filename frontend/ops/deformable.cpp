// DeformConv: a convolution whose filter reads each of its elements beside its place, by an offset
// that data give: the samples are the columns of a product.
#include "frontend/node_table.h"
#include "frontend/ops/contraction.h"
#include "frontend/ops/grid.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The inputs, by name; scoped, for other files have a kBias too.
struct DeformInput {
  enum : size_t { kData, kFilter, kOffset, kBias, kMask };
};

class DeformableConv {
public:
  DeformableConv(NodeReader &node, const Convolution &conv)
      : node(node), build(node.build), conv(conv),
        input(tensorType(node.input(DeformInput::kData)).getShape()),
        filter(tensorType(node.input(DeformInput::kFilter)).getShape()),
        offsetGroups(build.size(node.integer("offset_group", 1))) {}

  LogicalResult import() {
    if (failed(readSizes()) ||
        failed(checkOffsets(DeformInput::kOffset, taps * build.size(spatial()))) ||
        (node.input(DeformInput::kMask) && failed(checkOffsets(DeformInput::kMask, taps))))
      return failure();
    Value result = multiply(samples());
    if (!result || !node.input(DeformInput::kBias))
      return node.output(result);
    if (failed(requireBias(node, DeformInput::kBias, DeformInput::kFilter)))
      return failure();
    SmallVector<Dim> shape(spatial() + 1, build.size(1));
    shape.front() = filter[0];
    return node.output(
        build.create<AddOp>({result, build.reshape(node.input(DeformInput::kBias), shape)}));
  }

private:
  int64_t spatial() const { return static_cast<int64_t>(input.size()) - 2; }
  Type element() const { return tensorType(node.input(DeformInput::kData)).getElementType(); }
  /// Of positions and samples.
  Type wide() const {
    return element().isF64() ? element() : Type(Float32Type::get(build.getContext()));
  }

  LogicalResult readSizes() {
    bool isPositive = node.integer("offset_group", 1) > 0;
    auto inGroup = isPositive ? input[1].exactDiv(offsetGroups) : std::nullopt;
    if (!inGroup)
      return node.error() << "the channels of " << node.describe(DeformInput::kData)
                          << " do not make " << offsetGroups.toString() << " groups of offsets";
    groupChannels = *inGroup;
    images = input[0] * offsetGroups;
    kernel.assign(filter.begin() + 2, filter.end());
    taps = product(kernel, build.getContext());
    const Window &window = conv.window;
    for (int64_t axis = 0; axis < spatial(); ++axis) {
      Dim padded = input[axis + 2] + window.pads[axis] + window.pads[axis + spatial()],
          reach = window.reach(axis, kernel[axis]);
      if (failed(build.getFacts().requireAtMost(build.getLocation(), reach, padded,
                                                "the filter fits into the padded input")))
        return failure();
      counts.push_back((padded - reach).floorDiv(build.size(window.strides[axis])) + 1);
    }
    return success();
  }

  /// Input `index` has `each` values for every place of the filter, of each group.
  LogicalResult checkOffsets(size_t index, Dim each) {
    SmallVector<Dim> wanted{input[0], offsetGroups * each},
        given = tensorType(node.input(index)).getShape();
    wanted.append(counts);
    if (given.size() != wanted.size())
      return node.error() << node.describe(index) << " must be " << toString(wanted);
    for (auto [size, of] : llvm::zip(given, wanted))
      if (failed(build.getFacts().requireEqual(build.getLocation(), size, of,
                                               "each place of the filter has its offset")))
        return failure();
    return success();
  }

  /// 0, step, 2 step, ... along `axis` of the positions, [images, kernel..., counts...].
  Expression along(int64_t axis, Dim size, int64_t step) {
    SmallVector<Dim> shape(1 + 2 * spatial(), build.size(1));
    shape[axis] = size;
    return (countTo(build, size, wide()) * static_cast<double>(step)).reshaped(shape);
  }

  /// Where along `axis` each element of the filter reads at each of its places, [images, samples].
  Expression positions(int64_t axis) {
    SmallVector<Dim> shape{images};
    shape.append(kernel);
    shape.push_back(build.size(spatial()));
    shape.append(counts);
    Value offsets = build.reshape(build.cast(node.input(DeformInput::kOffset), wide()), shape);
    Value own = build.slice(offsets, spatial() + 1, build.size(axis), build.size(1));
    shape.erase(shape.begin() + spatial() + 1);
    Expression position = Expression(build, own).reshaped(shape) +
                          along(1 + axis, kernel[axis], conv.window.dilations[axis]) +
                          along(1 + spatial() + axis, counts[axis], conv.window.strides[axis]);
    return (position - static_cast<double>(conv.window.pads[axis])).reshaped({images, samplesOf()});
  }

  Dim places() const { return product(counts, build.getContext()); }
  Dim samplesOf() const { return taps * places(); }

  /// [N, groups, channels * taps, places] in the type of the input.
  Value samples() {
    SmallVector<Dim> shape{images, groupChannels};
    shape.append(input.begin() + 2, input.end());
    SmallVector<Expression> at;
    for (int64_t axis = 0; axis < spatial(); ++axis)
      at.push_back(positions(axis));
    Value values = sampleLinear(build, build.reshape(node.input(DeformInput::kData), shape), at);
    if (Value mask = node.input(DeformInput::kMask))
      values = build.create<MulOp>(
          {values, build.reshape(build.cast(mask, wide()), {images, build.size(1), samplesOf()})});
    if (!values)
      return {};
    return build.reshape(build.cast(values, element()),
                         {input[0], build.size(conv.groups), filter[1] * taps, places()});
  }

  Value multiply(Value columns) {
    Dim groups = build.size(conv.groups);
    auto filters = filter[0].exactDiv(groups);
    if (!filters)
      return node.error() << "its filter " << node.describe(DeformInput::kFilter)
                          << " does not divide into " << conv.groups << " groups",
             Value();
    Value matrix =
        build.reshape(node.input(DeformInput::kFilter), {groups, *filters, filter[1] * taps});
    SmallVector<Dim> shape{input[0], filter[0]};
    shape.append(counts);
    Value result = build.create<MatmulOp>({matrix, columns});
    return result ? build.reshape(result, shape) : result;
  }

  NodeReader &node;
  GraphBuilder &build;
  const Convolution &conv;
  SmallVector<Dim> input, filter, kernel, counts; // counts: places along each axis
  Dim offsetGroups, groupChannels, images, taps;
};

LogicalResult importDeformConv(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  FailureOr<Convolution> conv = Convolution::read(node, DeformInput::kData, DeformInput::kFilter);
  return failed(conv) ? failure() : DeformableConv(node, *conv).import();
}

} // namespace

ArrayRef<NodeRule> deformableRules() {
  static constexpr NodeRule kRules[] = {
      {"DeformConv", 19, 3, importDeformConv},
  };
  return kRules;
}

} // namespace smelt::frontend
