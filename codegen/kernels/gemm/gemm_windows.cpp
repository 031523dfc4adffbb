#include "codegen/kernels/gemm/gemm_windows.h"

#include "codegen/cuda_text.h"
#include "codegen/printer.h"
#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

// What an instruction and a map of images have room for.
constexpr int64_t kLowestCorner = -128, kHighestCorner = 127, kFarthestTap = 255,
                  kLongestStride = 8;

constexpr char kMembers[] = R"(
__device__ __forceinline__ WindowPlace windowAt(int m) const {
  $placeParts$
  return {$column$, $row$, $image$};
}
__device__ __forceinline__ WindowOffset windowOffset(int k) const {
  $offsetParts$
  return {$channel$, $right$, $down$};
}
)";

/// What a view, or zeros around it, reads.
Value sourceOf(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return op->getOperand(concat ? operandPaddedByZeros(concat).value_or(0) : 0);
}

/// The filter's axes of more than one pixel, outermost first: nearest to the image they are opened first.
SmallVector<Dim> tapsOf(const GemmProduct &product) {
  MatmulOp matmul = product.matmuls.front();
  SmallVector<Dim> taps;
  for (Value value = matmul.getLhs(); Operation *op = value.getDefiningOp(); value = sourceOf(op))
    if (auto windows = dyn_cast<WindowsOp>(op))
      taps.push_back(tensorType(windows.getOutput()).getDim(windows.getAxis() + 1));
  std::reverse(taps.begin(), taps.end());
  return taps;
}

/// Matches the position of an element of an image, axis by axis.
class WindowMatcher {
public:
  WindowMatcher(const GemmProduct &product, int64_t stepBytes)
      : product(product), stepBytes(stepBytes), bytes(elementBytes(product.lhs.getElementType())) {}

  WindowsOrReason run() {
    WindowsOrReason found;
    if (match())
      found.windows = std::move(layout);
    else
      found.reason = std::move(reason);
    return found;
  }

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }
  bool match();
  bool splitDepth(int64_t channels);
  bool matchPosition(const InputElement &element);
  bool matchAxis(WindowAxis &axis, Dim position, Dim size);
  bool matchTaps(WindowAxis &axis, Dim position, Dim &rest);
  bool matchCorners(WindowAxis &axis, Dim count);
  bool matchZeros(const InputElement &element);
  bool matchSteps(const InputElement &element);
  bool mergeRowsOfTaps(const InputElement &element);
  /// One axis of the product's rows.
  struct RowAxis {
    Dim position, extent;
  };
  RowAxis takeRowAxis(Dim position);
  RowAxis acrossRow; ///< along which `layout.across` moves
  void skipUnitRowAxes();

  const GemmProduct &product;
  int64_t stepBytes, bytes; ///< of an element
  WindowLayout layout;
  SmallVector<Dim> extents; ///< of the parts of k
  Index parts;              ///< of k
  size_t matchedTaps = 0, nextRowAxis = 0;
  std::string reason;
};

bool WindowMatcher::match() {
  // Of a pair of products whose rows' moments are stored, gemm_tma computes too few columns at a time.
  if ((product.products() > 1 && product.storesMoments()) || !product.batches.isConstant(1))
    return fail("it is no product of one matrix of weights");
  MatmulOp matmul = product.matmuls.front();
  Value image = matmul.getLhs();
  while (Operation *op = image.getDefiningOp())
    image = sourceOf(op);
  TensorType type = tensorType(image);
  if (type.getRank() < 3 || type.getRank() > 4)
    return fail("images have one or two axes besides channels");
  std::optional<int64_t> channels = type.getDim(type.getRank() - 1).asConstant();
  if (!channels || *channels == 0)
    return fail("the number of channels is open");
  if (!splitDepth(*channels))
    return false;
  Index index(product.rowIndex);
  index.push_back(linearize(parts, extents, type.getContext()));
  FailureOr<InputElement> element = layout.space.throughPaddedViews(matmul.getLhs(), index);
  return succeeded(element) && matchPosition(*element) && matchZeros(*element) &&
         matchSteps(*element);
}

/// k becomes taps and channels.
bool WindowMatcher::splitDepth(int64_t channels) {
  MLIRContext *context = product.lhs.getContext();
  extents = tapsOf(product);
  extents.push_back(Dim::constant(context, channels));
  if (smelt::product(extents, context) != product.depth)
    return fail("its rows are more than windows of one image");
  layout.space = product.space;
  parts = layout.space.addFlat(context, "k", extents);
  layout.channels = channels;
  return true;
}

bool WindowMatcher::matchPosition(const InputElement &element) {
  TensorType type = tensorType(element.input);
  size_t last = type.getRank() - 1;
  RowAxis image = takeRowAxis(element.index.front());
  layout.images = type.getDim(0);
  layout.image = image.position;
  layout.channel = parts.back();
  if (element.index.front() != image.position || image.extent != layout.images ||
      element.index.back() != layout.channel)
    return fail("its images do not lie one after the other, with their channels last");
  MLIRContext *context = type.getContext();
  if (last == 3) {
    if (!matchAxis(layout.down, element.index[1], type.getDim(1)))
      return false;
  } else { // one row
    layout.down.size = Dim::constant(context, 1);
    layout.down.first = layout.down.offset = Dim::constant(context, 0);
  }
  if (!matchAxis(layout.across, element.index[last - 1], type.getDim(last - 1)))
    return false;
  skipUnitRowAxes();
  return (nextRowAxis == product.rowIndex.size() && matchedTaps + 1 == parts.size()) ||
         fail("its rows or taps move along no axis of the images");
}

void WindowMatcher::skipUnitRowAxes() {
  while (nextRowAxis < product.rowIndex.size() && !product.rowIndex[nextRowAxis].asSymbol())
    ++nextRowAxis;
}

/// The next axis where `position` moves along it, else one of a single row. Axes are taken in the order in
/// which a map's copy visits pixels: it is that of the rows.
WindowMatcher::RowAxis WindowMatcher::takeRowAxis(Dim position) {
  skipUnitRowAxes();
  if (nextRowAxis < product.rowIndex.size() &&
      dependsOn(position, *product.rowIndex[nextRowAxis].asSymbol())) {
    Dim extent = product.output.getDim(static_cast<int64_t>(nextRowAxis));
    return {product.rowIndex[nextRowAxis++], extent};
  }
  MLIRContext *context = position.getContext();
  return {Dim::constant(context, 0), Dim::constant(context, 1)};
}

bool WindowMatcher::matchAxis(WindowAxis &axis, Dim position, Dim size) {
  axis.size = size;
  acrossRow = takeRowAxis(position);
  auto [row, count] = acrossRow;
  Dim rest = position;
  if (std::optional<StringRef> symbol = row.asSymbol()) {
    std::optional<Dim> factor = linearFactor(position, *symbol);
    std::optional<int64_t> stride = factor ? factor->asConstant() : std::nullopt;
    if (!stride || *stride < 1 || *stride > kLongestStride)
      return fail("its windows are not a constant stride of at most " + Twine(kLongestStride) +
                  " apart");
    axis.stride = *stride;
    rest = rest - row * *stride;
  }
  if (!matchTaps(axis, position, rest))
    return false;
  std::optional<int64_t> lower = rest.asConstant();
  if (!lower || *lower < kLowestCorner || *lower > kHighestCorner)
    return fail("its windows begin at no constant place up to " + Twine(-kLowestCorner) +
                " pixels from the image's edge");
  axis.lower = static_cast<int>(*lower);
  axis.first = row * axis.stride + *lower;
  return matchCorners(axis, count);
}

/// The tap that moves along the axis, if there is one: takes it from `rest`.
bool WindowMatcher::matchTaps(WindowAxis &axis, Dim position, Dim &rest) {
  axis.offset = Dim::constant(position.getContext(), 0);
  for (auto [tap, extent] : llvm::zip(ArrayRef(parts).drop_back(), extents)) {
    std::optional<StringRef> symbol = tap.asSymbol();
    std::optional<Dim> factor = symbol ? linearFactor(position, *symbol) : std::nullopt;
    std::optional<int64_t> dilation = factor ? factor->asConstant() : std::nullopt;
    std::optional<int64_t> taps = extent.asConstant();
    if (dilation == 0)
      continue;
    bool isSecond = !axis.offset.isConstant(0);
    if (!dilation || !taps || isSecond)
      return fail("its taps lie on no grid along the image's axes");
    if (*dilation < 0 || *dilation * (*taps - 1) > kFarthestTap)
      return fail("its windows are wider than " + Twine(kFarthestTap + 1) + " pixels");
    axis.offset = tap * *dilation;
    rest = rest - axis.offset;
    ++matchedTaps;
  }
  return true;
}

/// Between the corners lie `count` places, a stride apart.
bool WindowMatcher::matchCorners(WindowAxis &axis, Dim count) {
  Dim stride = Dim::constant(count.getContext(), axis.stride);
  for (int64_t upper = kLowestCorner; upper <= kHighestCorner; ++upper)
    if ((axis.size + (upper - 1 - axis.lower)).floorDiv(stride) + 1 == count) {
      axis.upper = static_cast<int>(upper);
      return true;
    }
  return fail("its last window begins at no constant place up to " + Twine(-kLowestCorner) +
              " pixels from the image's edge");
}

/// Zeros are read where the image ends, and nowhere else.
bool WindowMatcher::matchZeros(const InputElement &element) {
  TensorType type = tensorType(element.input);
  return llvm::all_of(element.guards, [&](const InputElement::Guard &guard) {
    for (int64_t axis = 1; axis + 1 < type.getRank(); ++axis)
      if (guard.position == element.index[axis] && guard.size == type.getDim(axis))
        return true;
    return fail("its zeros lie elsewhere than around the images");
  });
}

bool WindowMatcher::matchSteps(const InputElement &element) {
  layout.pixelStride = Dim::constant(product.lhs.getContext(), layout.channels);
  layout.rowStride = layout.pixelStride * layout.across.size;
  layout.imageStride = layout.rowStride * layout.down.size;
  layout.rowBytes = static_cast<int>(stepBytes);
  return layout.channels * bytes % stepBytes == 0 || mergeRowsOfTaps(element) ||
         fail(Twine(layout.channels) + " channels are no multiple of " + Twine(stepBytes / bytes));
}

/// The taps of a row, neighbours in memory, become the channels of one pixel, in an image of as many columns
/// as the result has; where rows and pixels begin at multiples of 16 bytes.
bool WindowMatcher::mergeRowsOfTaps(const InputElement &element) {
  WindowAxis &across = layout.across;
  constexpr int64_t kUnit = 16;
  size_t last = parts.size() - 1; // of the channel
  bool isPadded = llvm::any_of(element.guards, [&](const InputElement::Guard &guard) {
    return guard.position == element.index[element.index.size() - 2];
  });
  if (isPadded || last == 0 || across.offset != parts[last - 1] || across.lower != 0 ||
      across.stride * layout.channels * bytes % kUnit != 0 ||
      knownDivisor(layout.rowStride * bytes, Lanes()) % kUnit != 0)
    return false;
  int64_t merged = *extents[last - 1].asConstant() * layout.channels, rowBytes = merged * bytes;
  if (rowBytes != stepBytes && rowBytes != stepBytes / 2 && rowBytes != stepBytes / 4)
    return false;
  MLIRContext *context = product.lhs.getContext();
  Dim none = Dim::constant(context, 0), tap = last > 1 ? parts[0] : none;
  std::optional<int64_t> dilation =
      last > 1 ? linearFactor(layout.down.offset, *tap.asSymbol())->asConstant() : 0;
  extents.truncate(last - 1);
  extents.push_back(Dim::constant(context, merged));
  layout.space = product.space;
  parts = layout.space.addFlat(context, "k", extents);
  layout.down.offset = last > 1 ? parts[0] * *dilation : none;
  layout.channel = parts.back();
  layout.pixelStride = layout.pixelStride * across.stride;
  layout.channels = merged;
  layout.rowBytes = static_cast<int>(rowBytes);
  across = {acrossRow.extent, /*stride=*/1, /*lower=*/0, /*upper=*/0, acrossRow.position, none};
  return true;
}

/// Definitions of those parts of `name` that a printer has printed.
std::string definitionsOf(const IterationSpace &space, StringRef name, DimPrinter &printer) {
  std::string text;
  for (const IterationSpace::Definition &definition :
       space.definitions([&](StringRef symbol) { return printer.uses(symbol); }, name))
    text += "const int " + definition.symbol.substr(1) + " = " + printer.print(definition.value) +
            ";\n";
  return text;
}

} // namespace

bool opensWindows(const GemmProduct &product) { return !tapsOf(product).empty(); }

WindowsOrReason describeWindows(const GemmProduct &product, int64_t stepBytes) {
  return WindowMatcher(product, stepBytes).run();
}

TensorMap mapOf(const WindowLayout &windows, unsigned input, Type element, int pixels) {
  const WindowAxis &across = windows.across, &down = windows.down;
  int64_t bytes = elementBytes(element);
  TensorMap map;
  map.buffer = {LaunchBuffer::input, input, {}};
  map.elementType = element;
  map.sizes = {Dim::constant(windows.images.getContext(), windows.channels), across.size, down.size,
               windows.images};
  map.byteStrides = {windows.pixelStride * bytes, windows.rowStride * bytes,
                     windows.imageStride * bytes};
  map.elementStrides = {1, static_cast<unsigned>(across.stride), static_cast<unsigned>(down.stride),
                        1};
  map.windows = {static_cast<unsigned>(windows.rowBytes / bytes),
                 static_cast<unsigned>(pixels),
                 {across.lower, down.lower},
                 {across.upper, down.upper}};
  map.swizzle = windows.rowBytes == 128  ? plan::Swizzle::bytes_128
                : windows.rowBytes == 64 ? plan::Swizzle::bytes_64
                                         : plan::Swizzle::bytes_32;
  map.l2Promotion = plan::L2Promotion::bytes_256;
  return map;
}

std::string windowMembers(const WindowLayout &windows, std::set<std::string> &sizes) {
  const Bounds &bounds = windows.space.getBounds();
  DimPrinter places(bounds), offsets(bounds);
  std::string column = places.print(windows.across.first), row = places.print(windows.down.first),
              image = places.print(windows.image);
  std::string channel = offsets.print(windows.channel),
              right = offsets.print(windows.across.offset),
              down = offsets.print(windows.down.offset);
  std::string text = format(kMembers, {{"placeParts", definitionsOf(windows.space, "m", places)},
                                       {"column", column},
                                       {"row", row},
                                       {"image", image},
                                       {"offsetParts", definitionsOf(windows.space, "k", offsets)},
                                       {"channel", channel},
                                       {"right", right},
                                       {"down", down}});
  for (const DimPrinter *printer : {&places, &offsets})
    sizes.insert(printer->sizes().begin(), printer->sizes().end());
  return text;
}

} // namespace smelt::codegen
