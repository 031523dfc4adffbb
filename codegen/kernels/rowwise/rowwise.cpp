// Emits row-wise kernels (kernels/rowwise/rowwise.cuh): chooses how a row is spread over threads.
#include "codegen/kernels/rowwise/rowwise.h"

#include "codegen/kernel_text.h"
#include "codegen/kernels/rowwise/row_passes.h"
#include "codegen/printer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxWidth = 8;
/// Of kernels that only read rows.
constexpr int64_t kMaxReadWidth = 16;
constexpr int64_t kWarp = 32;
constexpr int64_t kMaxThreads = 1024;
/// Columns that one thread holds; about three such values fit its registers.
constexpr int64_t kMaxColumnsPerThread = 32;
/// Threads of a block of short rows: two warps, so that few rows still reach many multiprocessors; of
/// rows of a few threads, of which there are many, more: blocks take time to start.
constexpr int64_t kShortRowThreads = 64, kTinyRowThreads = 256;
constexpr int64_t kTinyRow = 16; // threads
/// Threads of a row of unknown length.
constexpr int64_t kStreamThreads = 128;

constexpr char kText[] = R"(
$include$
namespace smelt {
struct Problem {
  static constexpr int kThreadsPerRow = $threadsPerRow$;
  static constexpr int kRowsPerBlock = $rowsPerBlock$;
  $members$

  __device__ int rows() const { return $rows$; }
  template <class Tile> __device__ __forceinline__ void run(const Tile &tile, int row) const {
    $body$
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$$residency$) $entry$($parameters$) {
  smelt::rowwise(smelt::Problem{$arguments$});
}
)";

RowConfig chooseConfig(std::optional<int64_t> columns, int64_t width) {
  if (!columns || *columns > kMaxThreads * kMaxColumnsPerThread)
    return {width, kStreamThreads, 0};
  int64_t vectors = llvm::divideCeil(std::max<int64_t>(*columns, 1), width);
  int64_t threads = std::min<int64_t>(llvm::PowerOf2Ceil(vectors), kWarp);
  while (static_cast<int64_t>(llvm::divideCeil(vectors, threads)) * width > kMaxColumnsPerThread)
    threads *= 2;
  return {width, threads, static_cast<int64_t>(llvm::divideCeil(vectors, threads))};
}

/// The widest vector of which the narrowest input or result takes no more than 16 bytes; of results
/// there may be one a row, which is no vector.
int64_t largestWidth(FusionOp fusion, Dim columns, Dim elements) {
  int64_t bytes = kVectorBytes, most = kMaxWidth;
  auto consider = [&](Value value) {
    bytes = std::min(bytes, elementBytes(tensorType(value).getElementType()));
  };
  for (Value output : fusion.getOutputs())
    if (tensorType(output).getNumElements() == elements)
      consider(output);
  if (bytes == kVectorBytes) { // sums alone: nothing but the inputs is held
    llvm::for_each(fusion.getInputs(), consider);
    most = kMaxReadWidth;
  }
  int64_t width = std::min(most, kVectorBytes / bytes);
  while (knownDivisor(columns, Lanes()) % width != 0)
    width /= 2;
  return width;
}

GeneratedKernel finish(FusionOp fusion, RowPasses &passes, const RowConfig &config) {
  int64_t blockThreads = config.threadsPerRow > kTinyRow ? kShortRowThreads : kTinyRowThreads;
  int64_t rowsPerBlock = std::max<int64_t>(1, blockThreads / config.threadsPerRow);
  int64_t threads = rowsPerBlock * config.threadsPerRow;
  std::string body = passes.body(), rows = passes.printer().print(passes.getRows());
  const std::set<std::string> &used = passes.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kText, {{"include", includeTemplate("rowwise")},
                     {"threadsPerRow", std::to_string(config.threadsPerRow)},
                     {"rowsPerBlock", std::to_string(rowsPerBlock)},
                     {"members", problemMembers(fusion, sizes) + kDirectionMember.str()},
                     {"rows", rows},
                     {"body", body},
                     {"threads", std::to_string(threads)},
                     {"residency", config.isTight() && threads < kMaxThreads ? ", 2" : ""},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes) + kDirectionParameter.str()},
                     {"arguments", entryArguments(fusion, sizes) + kDirectionArgument.str()}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  Dim one = Dim::constant(context, 1);
  kernel.grid = {passes.getRows().ceilDiv(Dim::constant(context, rowsPerBlock)), one, one};
  kernel.block = {static_cast<unsigned>(threads), 1, 1};
  finishKernel(kernel, fusion, std::move(text), config.describe(), used);
  kernel.arguments.push_back(KernelArgument::direction());
  return kernel;
}

} // namespace

FailureOr<GeneratedKernel> emitRowwise(FusionOp fusion) {
  RowReduction first = *fusion.getBlock().getOps<RowReduction>().begin();
  SmallVector<Dim> shape = tensorType(first.getReduced()).getShape();
  int64_t axis = *first.getFirstReducedAxis();
  Dim columns = product(ArrayRef(shape).drop_front(axis), fusion.getContext());
  Dim elements = product(shape, fusion.getContext());
  for (int64_t width = largestWidth(fusion, columns, elements);; width /= 2) {
    RowConfig config = chooseConfig(columns.asConstant(), width);
    RowPasses passes(fusion, shape, axis, config);
    if (failed(passes.run()))
      return failure();
    if (passes.isRegular() || width == 1)
      return finish(fusion, passes, config);
  }
}

} // namespace smelt::codegen
