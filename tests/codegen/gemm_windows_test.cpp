// What the code generator tells the hardware about a convolution's windows: a model of how the driver's documentation
// says that maps of images are read must find, of every row and step, what the convolution reads.
#include "codegen/kernels/gemm/gemm_windows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

constexpr int64_t kStepBytes = 128, kStepChannels = 64, kTileRows = 128;

struct Axis {
  int64_t size, taps = 1, stride = 1, dilation = 1, before = 0, after = 0;
  int64_t count() const { return (size + before + after - (taps - 1) * dilation - 1) / stride + 1; }
};

struct Convolution {
  Axis down, across;
  int64_t channels = 64;
  std::string images = "3";
};

/// The fusion of a convolution over images [image, row, column, channel], as simplify-channels-last and
/// fuse-gemm leave it.
class ConvolutionText {
public:
  explicit ConvolutionText(const Convolution &of)
      : shape{of.images, std::to_string(of.down.size), std::to_string(of.across.size),
              std::to_string(of.channels)} {
    std::string input = typed(shape);
    pad(1, of.down), pad(2, of.across);
    std::vector<int> outer{0}, inner;
    open(of.down, outer, inner), open(of.across, outer, inner);
    int64_t depth = of.down.taps * of.across.taps * of.channels;
    order(outer, inner);
    std::vector<std::string> rows{of.images, std::to_string(of.down.count()),
                                  std::to_string(of.across.count()), std::to_string(depth)};
    unary("reshape", "", rows);
    std::string weights = typed({std::to_string(depth), "64"}), left = typed(rows);
    rows.back() = "64";
    std::string result = typed(rows);
    text = "func.func @f(%x: !smelt.tensor" + input + ", %w: !smelt.tensor" + weights +
           ") -> !smelt.tensor" + result + " {\n%r = smelt.fusion gemm(%x, %w) : (!smelt.tensor" +
           input + ", !smelt.tensor" + weights + ") -> !smelt.tensor" + result +
           " {\n^bb0(%v0: !smelt.tensor" + input + ", %b: !smelt.tensor" + weights +
           "):\n%zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>\n" + text +
           "%m = smelt.matmul %v" + std::to_string(values) + ", %b : " + left + ", " + weights +
           " -> " + result + "\nsmelt.yield %m : !smelt.tensor" + result +
           "\n}\nreturn %r : !smelt.tensor" + result + "\n}\n";
  }
  std::string text;

private:
  static std::string typed(const std::vector<std::string> &shape) {
    std::string sizes;
    for (const std::string &size : shape)
      sizes += (sizes.empty() ? "" : ", ") + size;
    return "<[" + sizes + "], f16>";
  }
  void unary(const std::string &op, const std::string &attributes, std::vector<std::string> to) {
    std::string from = typed(shape);
    shape = std::move(to);
    std::string source = " %v" + std::to_string(values++);
    text += "%v" + std::to_string(values) + " = smelt." + op + source + attributes + " : " + from +
            " -> " + typed(shape) + "\n";
  }
  void pad(size_t axis, const Axis &of) {
    if (of.before + of.after == 0)
      return;
    std::vector<std::string> parts{"%v" + std::to_string(values)},
        types{"!smelt.tensor" + typed(shape)};
    for (int64_t zeros : {of.before, of.after}) {
      if (zeros == 0)
        continue;
      std::vector<std::string> ofZeros(shape);
      ofZeros[axis] = std::to_string(zeros);
      std::string name = "%z" + std::to_string(values) + "x" + std::to_string(parts.size());
      text += name + " = smelt.expand %zero : <[], f16> -> " + typed(ofZeros) + "\n";
      bool isBefore = parts.size() == 1 && of.before != 0;
      parts.insert(isBefore ? parts.begin() : parts.end(), name);
      types.insert(isBefore ? types.begin() : types.end(), "!smelt.tensor" + typed(ofZeros));
    }
    shape[axis] = std::to_string(of.size + of.before + of.after);
    text += "%v" + std::to_string(++values) + " = smelt.concat ";
    for (size_t i = 0; i < parts.size(); ++i)
      text += (i ? ", " : "") + parts[i];
    text += " axis " + std::to_string(axis) + " : ";
    for (size_t i = 0; i < types.size(); ++i)
      text += (i ? ", " : "") + types[i];
    text += " -> " + typed(shape) + "\n";
  }
  void open(const Axis &of, std::vector<int> &outer, std::vector<int> &inner) {
    int at = static_cast<int>(outer.size() + inner.size());
    std::vector<std::string> to(shape);
    to[at] = std::to_string(of.count());
    outer.push_back(at);
    if (of.taps == 1 && of.stride > 1) {
      std::string starts, steps;
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        starts += (axis ? ", " : "") + std::string("#smelt.dim<0>");
        steps += (axis ? ", " : "") + std::to_string(axis == at ? of.stride : 1);
      }
      unary("slice", " starts [" + starts + "] steps [" + steps + "]", to);
    } else if (of.taps > 1) {
      to.insert(to.begin() + at + 1, std::to_string(of.taps));
      inner.push_back(at + 1);
      unary("windows",
            " axis " + std::to_string(at) + " stride " + std::to_string(of.stride) + " dilation " +
                std::to_string(of.dilation),
            to);
    }
  }
  void order(std::vector<int> axes, const std::vector<int> &inner) {
    if (inner.empty())
      return;
    axes.insert(axes.end(), inner.begin(), inner.end());
    axes.push_back(static_cast<int>(axes.size()));
    std::string list;
    std::vector<std::string> to;
    for (int axis : axes) {
      list += (list.empty() ? "" : ", ") + std::to_string(axis);
      to.push_back(shape[axis]);
    }
    unary("transpose", " [" + list + "]", to);
  }

  std::vector<std::string> shape;
  int values = 0;
};

struct GemmWindows : testing::Test {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  void SetUp() override { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  FusionOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    FusionOp found;
    if (module)
      module->walk([&](FusionOp fusion) { found = fusion; });
    return found;
  }
  WindowsOrReason describe(const std::string &text) {
    FusionOp fusion = parse(text);
    if (!fusion) {
      ADD_FAILURE() << text;
      return {};
    }
    llvm::SmallVector<MatmulOp, 2> matmuls(fusion.getBlock().getOps<MatmulOp>());
    return describeWindows(GemmProduct(fusion, matmuls), kStepBytes);
  }
  WindowsOrReason describe(const Convolution &of) { return describe(ConvolutionText(of).text); }
  void expectRefused(const Convolution &of, const std::string &reason) {
    WindowsOrReason found = describe(of);
    EXPECT_FALSE(found.windows);
    EXPECT_EQ(found.reason, reason);
  }
};

/// The value of a position at a row and a depth.
int64_t valueOf(Dim dim, const IterationSpace &space, int64_t m, int64_t k) {
  auto definitions = space.definitions([](llvm::StringRef) { return true; });
  auto flat = [&](llvm::StringRef symbol) -> std::optional<int64_t> {
    return symbol == "%m" ? m : k;
  };
  return *dim.evaluate([&](llvm::StringRef symbol) -> std::optional<int64_t> {
    for (const auto &definition : definitions)
      if (definition.symbol == symbol)
        return definition.value.evaluate(flat);
    return flat(symbol);
  });
}

/// The hardware, by the driver's documentation: pixels one after the other between the corners.
class Copy {
public:
  Copy(const TensorMap &map, const WindowLayout &of, int64_t row, int64_t depth) : map(map) {
    auto value = [&](Dim dim) { return valueOf(dim, of.space, row, depth); };
    channel = value(of.channel);
    place = {value(of.across.first), value(of.down.first), value(of.image)};
    offset = {value(of.across.offset), value(of.down.offset), 0};
  }
  void advance() {
    for (int axis = 0; axis < 2; ++axis) {
      place[axis] += map.elementStrides[axis + 1];
      if (place[axis] < size(axis) + map.windows->upperCorner[axis])
        return;
      place[axis] = map.windows->lowerCorner[axis];
    }
    ++place[2];
  }
  /// The first channel's element in memory; -1: a zero.
  int64_t element() const {
    int64_t at = 0;
    for (int axis = 2; axis >= 0; --axis) {
      int64_t position = place[axis] + offset[axis];
      if (position < 0 || position >= size(axis))
        return -1;
      at = at * size(axis) + position;
    }
    return at * *map.sizes[0].asConstant() + channel;
  }

private:
  int64_t size(int axis) const { return *map.sizes[axis + 1].asConstant(); }

  const TensorMap &map;
  int64_t channel;
  std::array<int64_t, 3> place, offset; ///< across, down, image
};

/// What the convolution reads; -1: a zero.
int64_t expectedElement(const Convolution &of, int64_t m, int64_t k) {
  auto position = [](const Axis &axis, int64_t pixel, int64_t tap) {
    int64_t at = pixel * axis.stride - axis.before + tap * axis.dilation;
    return at < axis.size ? at : -1;
  };
  int64_t columns = of.across.count(), rows = of.down.count(), tap = k / of.channels,
          x = position(of.across, m % columns, tap % of.across.taps),
          y = position(of.down, m / columns % rows, tap / of.across.taps);
  if (x < 0 || y < 0 || m >= 3 * rows * columns)
    return -1;
  return ((m / (columns * rows) * of.down.size + y) * of.across.size + x) * of.channels +
         k % of.channels;
}

TEST_F(GemmWindows, AreWhatTheConvolutionReads) {
  Axis same{14, 3, 1, 1, 1, 1};
  for (const Convolution &of :
       std::initializer_list<Convolution>{{same, same},
                                          {{13, 3, 1, 1, 1, 1}, {17, 3, 1, 1, 1, 1}},
                                          {{14, 3, 2, 1, 1, 1}, {14, 3, 2, 1, 1, 1}},
                                          {{13, 3, 2, 1, 1, 1}, {17, 3, 3, 1, 1, 1}},
                                          {{14, 3, 2, 1, 1, 0}, {17, 3, 3, 1, 0, 1}},
                                          {{14}, {14, 7, 1, 1, 3, 3}},
                                          {{14, 7, 1, 1, 3, 3}, {14}},
                                          {{14, 3, 1, 2, 2, 2}, {14, 3, 1, 3, 3, 3}},
                                          {{13, 4, 3, 2, 5, 1}, {17, 2, 2, 3, 1, 4}, 128},
                                          {{14, 3}, {14, 3}},
                                          {{15, 1, 2}, {14, 1, 2}},
                                          {{3, 3}, {9, 3}},
                                          {{7, 3, 1, 1, 1, 1}, {7}, 192}}) {
    WindowsOrReason found = describe(of);
    ASSERT_TRUE(found.windows) << found.reason;
    const WindowLayout &windows = *found.windows;
    TensorMap map = mapOf(windows, 0, mlir::Float16Type::get(&context), kTileRows);
    EXPECT_EQ(map.windows->channels, 64u);
    EXPECT_EQ(map.windows->pixels, 128u);
    int64_t rows = 3 * of.down.count() * of.across.count(),
            depth = of.down.taps * of.across.taps * of.channels, wrong = 0;
    for (int64_t tile = 0; tile < rows; tile += kTileRows)
      for (int64_t k = 0; k < depth; k += kStepChannels) {
        Copy copy(map, windows, tile, k);
        for (int64_t row = tile; row < tile + kTileRows; ++row, copy.advance())
          wrong += copy.element() != expectedElement(of, row, k);
      }
    EXPECT_EQ(wrong, 0) << ConvolutionText(of).text;
  }
}

/// A first layer, whose image is padded in memory: the taps of a row are one pixel of 64 bytes, or 32.
TEST_F(GemmWindows, OfFewChannelsAreRowsOfTaps) {
  for (int64_t taps : {8, 4}) {
    WindowsOrReason found = describe(Convolution{{230, 7, 2}, {230, taps, 2}, 4});
    ASSERT_TRUE(found.windows) << found.reason;
    TensorMap map = mapOf(*found.windows, 0, mlir::Float16Type::get(&context), kTileRows);
    int64_t pixels = (230 - taps) / 2 + 1;
    EXPECT_EQ(found.windows->rowBytes, taps * 8);
    EXPECT_EQ(map.sizes[0].asConstant(), taps * 4);
    EXPECT_EQ(map.sizes[1].asConstant(), pixels);
    EXPECT_EQ(map.byteStrides[0].asConstant(), 16);
    EXPECT_EQ(map.byteStrides[1].asConstant(), 1840);
    EXPECT_EQ(map.byteStrides[2].asConstant(), 230 * 1840);
    EXPECT_EQ(map.windows->channels, taps * 4);
    EXPECT_EQ(map.windows->lowerCorner, (llvm::SmallVector<int>{0, 0}));
    EXPECT_EQ(map.windows->upperCorner[0], 0);
    EXPECT_EQ(map.elementStrides, (llvm::SmallVector<unsigned>{1, 1, 2, 1}));
    int64_t m = 5 * pixels + 9, k = 3 * taps * 4; // row 5, column 9, tap 3 down
    auto value = [&](Dim dim) { return valueOf(dim, found.windows->space, m, k); };
    EXPECT_EQ(value(found.windows->across.first), 9);
    EXPECT_EQ(value(found.windows->down.first), 10);
    EXPECT_EQ(value(found.windows->down.offset), 3);
    EXPECT_EQ(value(found.windows->channel), 0);
  }
  std::string reason = "4 channels are no multiple of 64";
  expectRefused({{230, 7, 2}, {230, 8, 1}, 4}, reason);          // 8 bytes apart
  expectRefused({{230, 7, 2}, {231, 8, 2}, 4}, reason);          // rows of 1848 bytes
  expectRefused({{230, 7, 2}, {230, 7, 2}, 4}, reason);          // 56 bytes
  expectRefused({{230, 7, 2}, {230, 8, 2, 2}, 4}, reason);       // no neighbours
  expectRefused({{230, 7, 2}, {230, 8, 2, 1, 2, 2}, 4}, reason); // not padded in memory
}

TEST_F(GemmWindows, OfAnyNumberOfImagesAreTheSame) {
  Axis same{28, 3, 2, 1, 1, 1};
  WindowsOrReason found = describe(Convolution{same, same, 64, "n"});
  ASSERT_TRUE(found.windows) << found.reason;
  TensorMap map = mapOf(*found.windows, 2, mlir::Float16Type::get(&context), 128);
  EXPECT_EQ(map.buffer.index, 2u);
  EXPECT_EQ(map.sizes.back().toString(), "n");
  EXPECT_EQ(map.byteStrides.back().toString(), "100352");
  EXPECT_EQ(map.elementStrides, (llvm::SmallVector<unsigned>{1, 2, 2, 1}));
  EXPECT_EQ(map.windows->lowerCorner, (llvm::SmallVector<int>{-1, -1}));
}

TEST_F(GemmWindows, ThatTheHardwareCannotFindAreGatheredForAReason) {
  Axis same{14, 3, 1, 1, 1, 1};
  expectRefused({same, same, 96}, "96 channels are no multiple of 64");
  expectRefused({same, {64, 3, 9, 1, 1, 1}},
                "its windows are not a constant stride of at most 8 apart");
  expectRefused({same, {600, 3, 1, 200, 1, 1}}, "its windows are wider than 256 pixels");
  expectRefused({same, {300, 3, 1, 1, 129, 1}},
                "its windows begin at no constant place up to 128 pixels from the image's edge");
  expectRefused(
      {same, {300, 1, 1, 1, 0, 129}},
      "its last window begins at no constant place up to 128 pixels from the image's edge");
}

TEST_F(GemmWindows, AreNotForOtherProducts) {
  constexpr char kTransposed[] = R"(
func.func @f(%x: !smelt.tensor<[3, 64, 14, 14], f16>, %w: !smelt.tensor<[64, 64], f16>) -> !smelt.tensor<[3, 14, 14, 64], f16> {
  %r = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[3, 64, 14, 14], f16>, !smelt.tensor<[64, 64], f16>) -> !smelt.tensor<[3, 14, 14, 64], f16> {
  ^bb0(%a: !smelt.tensor<[3, 64, 14, 14], f16>, %b: !smelt.tensor<[64, 64], f16>):
    %1 = smelt.transpose %a [0, 2, 3, 1] : <[3, 64, 14, 14], f16> -> <[3, 14, 14, 64], f16>
    %2 = smelt.matmul %1, %b : <[3, 14, 14, 64], f16>, <[64, 64], f16> -> <[3, 14, 14, 64], f16>
    smelt.yield %2 : !smelt.tensor<[3, 14, 14, 64], f16>
  }
  return %r : !smelt.tensor<[3, 14, 14, 64], f16>
})";
  EXPECT_FALSE(describe(std::string(kTransposed)).windows);
}

} // namespace
} // namespace smelt::codegen
