// The kernels that the tests instantiate: templates x configurations, as CUDA text, and the shapes
// that they are run with.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/kernels/attention/attention_config.cuh"
#include "codegen/kernels/gemm/gemm_config.cuh"

namespace smelt::kernel_tests {

/// Element type of a kernel's operands; the last one only of what follows a product of bytes.
enum class Element { kHalf, kBfloat16, kFloat, kFloat8E4M3, kFloat8E5M2, kInt8, kUint8, kInt32 };

const char *elementName(Element element); // as in device text
int elementBytes(Element element);
bool isInteger(Element element);
bool isFloat8(Element element);

/// A kernel's text and what its launch needs to know.
struct KernelText {
  std::string name, text;
  int threads = 0, sharedBytes = 0, clusterK = 1;
  bool needsHopper = false; // clusters or wgmma
};

/// How a matrix whose rows are read in vectors lies in memory: as it is; behind one more element,
/// so that nothing is aligned; every third element; every row one element that all columns share;
/// one row that all rows share; transposed.
enum class Layout { kUnit, kOffset, kStrided, kZeroColumns, kZeroRows, kTransposed };
const char *layoutName(Layout layout);

/// Distances in elements, as in device text.
struct Strides {
  long long batch, row, column, start;
};
Strides stridesOf(Layout layout, long long rows, long long columns);
/// Elements of `count` matrices.
long long elementsOf(Layout layout, long long rows, long long columns, long long count);

/// One axis of images, in zeros, and the windows along it: as device text has it, but for the zeros behind.
struct ImageAxis {
  int size, taps = 1, stride = 1, dilation = 1, before = 0, after = 0;

  /// Pixels of the result.
  int count() const { return (size + before + after - (taps - 1) * dilation - 1) / stride + 1; }
  /// The upper corner of cuTensorMapEncodeIm2col.
  int upperCorner() const { return after - (taps - 1) * dilation; }
};

/// The left operand is made of windows of images [image, row, column, channel].
struct ImageWindows {
  int channels;
  ImageAxis down, across;
  bool mergesRows = false; // the taps of a row stand for channels of one pixel

  int rowBytes(int elementBytes) const { // of a pixel that one copy moves
    return mergesRows ? across.taps * channels * elementBytes : 128;
  }
  int rowsOfImage() const { return down.count() * across.count(); }
  int depth() const { return down.taps * across.taps * channels; }
};

/// A GEMM: the tiling selects the template. 0 in `n` and `k` means a size known at run time only.
struct GemmVariant {
  Element element = Element::kHalf;
  std::optional<Element> elementB; // of B, where it is another
  std::variant<GemmTiling, GemmSplitTiling, GemmWgmmaTiling, GemmTmaTiling, GemmSimtTiling> tiling;
  int aVector = 8, bVector = 8, width = 8;
  bool bTransposed = false, bConstant = true;
  int n = 0, k = 0;
  bool activation = true, residual = true; // integers have no activation
  bool linear = true;                      // the addresses are said to be linear
  Layout a = Layout::kUnit, b = Layout::kUnit;
  bool storesMoments = false;          // of C's rows; n is a multiple of 32
  int rowGroups = 0;                   // of moments that the epilogue reads for each row
  int products = 1;                    // whose columns take turns in B
  bool storesBytes = false;            // of integers: the low 8 bits of results
  bool padded = false;                 // zeros of A have no address; not where addresses are linear
  std::optional<ImageWindows> windows; // A; by tensor maps alone

  KernelText kernel() const;
  /// Name, in the reference text, of the kernel for the same problem.
  std::string referenceName() const;
  /// Rows, columns of C that one block computes.
  int blockM() const;
  int blockN() const;
  bool usesTf32() const;
  Element rightElement() const { return elementB.value_or(element); }
  /// Of the bias, the residual and C.
  Element storedElement() const {
    if (isFloat8(element))
      return Element::kHalf;
    if (isInteger(element))
      return storesBytes ? Element::kInt8 : Element::kInt32;
    return element;
  }
  /// The kernel takes maps of A and B behind its problem.
  bool usesTensorMaps() const { return std::holds_alternative<GemmTmaTiling>(tiling); }
};

struct GemmShape {
  int m, n, k, batches;
};

struct GemmCase {
  GemmVariant variant;
  std::vector<GemmShape> shapes;
};

enum class Bias { kNone, kPerKey, kFull, kPerHead, kShared };

/// An attention: the tiling selects the template.
struct AttentionVariant {
  Element element = Element::kHalf;
  std::variant<AttentionTiling, AttentionDecodeTiling, AttentionTmaTiling, AttentionSimtTiling>
      tiling;
  int steps = 0; ///< of keys, at most; 0: any number
  int headSize = 64, valueSize = 64, vector = 8;
  bool causal = false;
  Bias bias = Bias::kNone;
  int softcap = 0;
  bool zeroMaskedRows = false;
  int heads = 1, kvHeads = 1;
  std::optional<Element> output; ///< where it is another than that of the operands

  /// The text of a decode tiling of any number of parts holds "combination", too.
  KernelText kernel() const;
  /// Text of the double-precision reference kernel for the same problem.
  KernelText referenceKernel() const;
  int blockQ() const;
  /// The kernel takes maps of Q, K and V behind its problem.
  const AttentionTmaTiling *tensorMaps() const { return std::get_if<AttentionTmaTiling>(&tiling); }
  /// Blocks take the queries of all heads that read the same keys, and parts of the keys.
  const AttentionDecodeTiling *decode() const {
    return std::get_if<AttentionDecodeTiling>(&tiling);
  }

private:
  std::string problemType(int vectorWidth) const;
  std::string problemName() const;
};

/// `maskedKeys`: that many keys at the end of each batch have a bias of -infinity; all of them in
/// the last batch if `maskLastBatch`. `biasLowest`: the lowest finite number instead of -infinity.
/// `parts`: of the keys, where a tiling leaves that open.
struct AttentionShape {
  int batches, queries, keys, causalOffset;
  int maskedKeys = 0;
  bool maskLastBatch = false, biasLowest = false;
  int parts = 5;
};

struct AttentionCase {
  AttentionVariant variant;
  std::vector<AttentionShape> shapes;
};

/// A split reduction: the sum, or the largest element, of each row, by vectors of `width`. Its text
/// holds two kernels, "parts" and "combination".
struct ReductionVariant {
  static constexpr int kThreads = 256, kCombiningThreads = 128;
  Element element = Element::kHalf;
  bool takesLargest = false;
  int width = 8;

  KernelText kernel() const;
};

/// `width` divides the columns.
struct ReductionShape {
  int rows, columns, parts;
};

struct ReductionCase {
  ReductionVariant variant;
  std::vector<ReductionShape> shapes;
};

/// Tilings beyond those that selection chooses from: panels of all widths, clusters, helpers.
inline constexpr GemmWgmmaTiling kMoreWgmmaTilings[] = {
    {64, 48, 5, 1, 1},  {64, 48, 6, 4},   {64, 96, 5, 8},
    {128, 64, 4, 8, 1}, {128, 128, 3, 1}, {128, 192, 4, 1},
};

/// Adds `v` with each operand in each layout, the other one as it is, at edges that no tile divides and at width 1.
void addLayouts(std::vector<GemmCase> &cases, GemmVariant v);

/// What is checked for correctness: every tiling, element type, layout, alignment and odd size.
std::vector<GemmCase> gemmChecks();
std::vector<GemmCase> windowChecks();   // among them
std::vector<GemmCase> residentChecks(); // among them
std::vector<GemmCase> byteChecks();     // among them
std::vector<AttentionCase> attentionChecks();
std::vector<ReductionCase> reductionChecks();

/// What is timed: the shapes of transformers, each with the tilings that may suit it.
std::vector<GemmCase> gemmTimings();
std::vector<GemmCase> byteTimings(); // among them
std::vector<AttentionCase> attentionTimings();

/// Text of the double-precision reference kernels for operands of these element types.
KernelText gemmReferenceText(Element a, Element b);
/// Text of the kernel that lays windows of images out as a matrix.
KernelText unfoldText(Element element);

/// Every kernel of the lists above, without duplicates.
std::vector<KernelText> allKernels(bool withTimings);

} // namespace smelt::kernel_tests
