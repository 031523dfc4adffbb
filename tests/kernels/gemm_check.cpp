// Correctness and speed of the GEMM templates on a GPU.
#include <algorithm>
#include <sstream>

#include "tests/kernels/gpu_check.h"

namespace smelt::kernel_tests {

namespace {

/// GemmTestProblem of gemm_problem.cuh, as the kernel's parameter.
struct GemmParameters {
  CUdeviceptr a, b, bias, residual, c, moments, rowMoments;
  int m, n, k, batches, reversed;
};

constexpr size_t kMomentsGroup = 32; // columns, as in device/moments.cuh

/// An operand of rows x columns in memory; `isTransposed`: read along its columns.
struct Matrix {
  Layout layout;
  long long rows, columns;
  bool isTransposed;

  size_t elements(size_t count) const {
    return size_t(isTransposed ? elementsOf(layout, columns, rows, (long long)count)
                               : elementsOf(layout, rows, columns, (long long)count));
  }
  Strides strides() const {
    if (!isTransposed)
      return stridesOf(layout, rows, columns);
    Strides s = stridesOf(layout, columns, rows);
    std::swap(s.row, s.column);
    return s;
  }
};

/// Mean and sum of squared deviations of every group of columns.
std::vector<double> momentsOf(const std::vector<double> &values) {
  std::vector<double> moments;
  for (size_t first = 0; first < values.size(); first += kMomentsGroup) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < kMomentsGroup; ++i)
      mean += values[first + i] / kMomentsGroup;
    for (size_t i = 0; i < kMomentsGroup; ++i)
      squares += (values[first + i] - mean) * (values[first + i] - mean);
    moments.push_back(mean);
    moments.push_back(squares);
  }
  return moments;
}

std::string describe(const GemmShape &s) {
  std::ostringstream out;
  out << s.m << 'x' << s.n << 'x' << s.k;
  if (s.batches > 1)
    out << " b" << s.batches;
  return out.str();
}

unsigned tiles(int size, int block) { return unsigned((size + block - 1) / block); }

/// Largest error norm allowed: rounding of the result for 16 bits, of the sums for float.
double tolerance(const GemmVariant &variant) {
  if (isInteger(variant.element))
    return 0;
  if (variant.usesTf32()) // tensor cores cut low bits of sums when they align them
    return 1e-5;
  switch (variant.element) {
  case Element::kHalf:
  case Element::kFloat8E4M3:
  case Element::kFloat8E5M2:
    return 5e-4;
  case Element::kBfloat16:
    return 4e-3;
  default:
    return 2e-6;
  }
}

/// The problem and, behind it, the maps of its operands.
struct MappedParameters {
  GemmParameters problem;
  CUtensorMap a, b;
};

/// The corners are those of the driver's documentation, not those that the compiler computes.
WindowedImages windowed(const GemmVariant &variant, const GemmShape &s, CUdeviceptr images) {
  const ImageWindows &windows = *variant.windows;
  const ImageAxis &down = windows.down, &across = windows.across;
  const auto bytes = unsigned(elementBytes(variant.element));
  WindowedImages map = {images,
                        uint64_t(windows.channels),
                        uint64_t(across.size),
                        uint64_t(down.size),
                        uint64_t(s.m / windows.rowsOfImage()),
                        uint64_t(windows.channels),
                        uint64_t(windows.channels) * across.size,
                        {-across.before, -down.before},
                        {across.upperCorner(), down.upperCorner()},
                        {unsigned(across.stride), unsigned(down.stride)},
                        windows.rowBytes(int(bytes)) / bytes,
                        unsigned(variant.blockM()),
                        bytes};
  if (windows.mergesRows) { // pixels that overlap, one for each of the result
    map.channels = map.stepChannels, map.columns = uint64_t(across.count());
    map.pixelStride *= uint64_t(across.stride);
    map.lower[0] = map.upper[0] = 0, map.strides[0] = 1;
  }
  return map;
}

/// Unfold of window_problem.cuh.
struct UnfoldParameters {
  struct Axis {
    int size, taps, stride, dilation, before, count;
    explicit Axis(const ImageAxis &a)
        : size(a.size), taps(a.taps), stride(a.stride), dilation(a.dilation), before(a.before),
          count(a.count()) {}
  };
  CUdeviceptr images, matrix;
  int imageCount, channels;
  Axis down, across;
};

MappedParameters mapped(const Gpu &gpu, const GemmVariant &variant, const GemmShape &s,
                        const GemmParameters &parameters) {
  const auto bytes = unsigned(elementBytes(variant.element)), boxColumns = kWgmmaStepBytes / bytes;
  auto matrix = [&](CUdeviceptr data, int rows, int columns, unsigned boxRows) {
    return BoxedTensor{data,
                       {uint64_t(columns), uint64_t(rows)},
                       {uint64_t(columns)},
                       {boxColumns, boxRows},
                       bytes};
  };
  BoxedTensor a = matrix(parameters.a, s.m, s.k, unsigned(variant.blockM()));
  BoxedTensor b = variant.bTransposed ? matrix(parameters.b, s.n, s.k, unsigned(variant.blockN()))
                                      : matrix(parameters.b, s.k, s.n, boxColumns);
  if (!variant.bTransposed)
    b.box[0] = unsigned(panelColumns(variant.blockN()));
  return {parameters,
          variant.windows ? gpu.encode(windowed(variant, s, parameters.a)) : gpu.encode(a),
          gpu.encode(b)};
}

Launch launchOf(const Gpu &gpu, const KernelText &kernel, CUfunction function,
                const GemmVariant &variant, const GemmShape &s, const GemmParameters &parameters) {
  Launch launch;
  launch.function = function;
  launch.grid[0] = tiles(s.m, variant.blockM()) * tiles(s.n, variant.blockN());
  launch.grid[1] = unsigned(kernel.clusterK);
  launch.grid[2] = unsigned(std::min(s.batches, 65535));
  launch.clusterY = unsigned(kernel.clusterK);
  launch.threads = unsigned(kernel.threads);
  launch.sharedBytes = unsigned(kernel.sharedBytes);
  const auto *tiling = std::get_if<GemmTmaTiling>(&variant.tiling);
  if (!tiling) {
    launch.parameters = bytesOf(parameters);
    return launch;
  }
  unsigned atOnce = unsigned(gpu.multiprocessors());
  if (tiling->residentSteps > 0)
    atOnce = unsigned(wholeColumns(atOnce, tiles(s.n, variant.blockN())));
  if (tiling->clusterK == 1 && !tiling->oneTile) // blocks take tiles in turn
    launch.grid[0] = std::min(launch.grid[0], atOnce);
  launch.parameters = bytesOf(mapped(gpu, variant, s, parameters));
  launch.offsets = {0, offsetof(MappedParameters, a), offsetof(MappedParameters, b)};
  return launch;
}

} // namespace

/// Random images, whose windows become the rows of `a`.
Buffer Checker::imagesOf(const GemmVariant &variant, const GemmShape &s, Buffer &a) {
  const ImageWindows &windows = *variant.windows;
  int count = s.m / windows.rowsOfImage();
  size_t pixels = size_t(count) * windows.down.size * windows.across.size;
  Buffer images = randomBuffer(variant.element, pixels * windows.channels, 1);
  KernelText text = unfoldText(variant.element);
  Launch unfold;
  unfold.function = load(text, "kernel");
  unfold.grid[0] = unsigned((size_t(s.m) * s.k + 255) / 256);
  unfold.threads = unsigned(text.threads);
  unfold.parameters = bytesOf(UnfoldParameters{images.data(), a.data(), count, windows.channels,
                                               UnfoldParameters::Axis(windows.down),
                                               UnfoldParameters::Axis(windows.across)});
  gpu_.run(unfold);
  return images;
}

void Checker::checkGemm(const GemmVariant &variant, const GemmShape &s) {
  KernelText kernel = variant.kernel();
  Element element = variant.element, stored = variant.storedElement();
  size_t weights = variant.bConstant ? 1 : size_t(s.batches);
  size_t outputs = size_t(s.batches) * s.m * s.n / variant.products;
  Matrix left{variant.a, s.m, s.k, false}, right{variant.b, s.k, s.n, variant.bTransposed};
  Buffer a = randomBuffer(element, left.elements(s.batches), 1);
  Buffer b = randomBuffer(variant.rightElement(), right.elements(weights), 0.1f);
  Buffer bias = randomBuffer(stored, size_t(s.n), 1);
  Buffer residual = randomBuffer(stored, outputs, 1);
  Buffer c = gpu_.buffer(outputs * elementBytes(stored));
  size_t groups = variant.storesMoments ? outputs / kMomentsGroup : 1;
  Buffer moments = gpu_.buffer(groups * 2 * sizeof(float));
  size_t rowGroups = size_t(s.batches) * s.m * std::max(variant.rowGroups, 1);
  Buffer rowMoments = randomBuffer(Element::kFloat, rowGroups * 2, 1);
  Buffer reference = gpu_.buffer(outputs * sizeof(double));
  c.poison();
  moments.poison();
  std::optional<Buffer> images;
  if (variant.windows)
    images.emplace(imagesOf(variant, s, a));
  GemmParameters parameters{images ? images->data() : a.data(),
                            b.data(),
                            bias.data(),
                            residual.data(),
                            c.data(),
                            moments.data(),
                            rowMoments.data(),
                            s.m,
                            s.n,
                            s.k,
                            s.batches,
                            s.m % 2}; // either way
  gpu_.run(launchOf(gpu_, kernel, load(kernel, "kernel"), variant, s, parameters));
  parameters.a = a.data();

  struct {
    GemmParameters problem;
    CUdeviceptr out;
    bool tf32;
    Strides a, b;
    int rowGroups;
    bool activation, residual;
  } arguments{parameters,      reference.data(),  variant.usesTf32(), left.strides(),
              right.strides(), variant.rowGroups, variant.activation, variant.residual};
  if (variant.bConstant)
    arguments.b.batch = 0;
  Launch check;
  check.function =
      load(gemmReferenceText(element, variant.rightElement()), variant.referenceName());
  check.grid[0] = unsigned((outputs + 255) / 256);
  check.threads = 256;
  check.parameters = bytesOf(arguments);
  check.offsets = {0,
                   offsetof(decltype(arguments), out),
                   offsetof(decltype(arguments), tf32),
                   offsetof(decltype(arguments), a),
                   offsetof(decltype(arguments), b),
                   offsetof(decltype(arguments), rowGroups),
                   offsetof(decltype(arguments), activation),
                   offsetof(decltype(arguments), residual)};
  gpu_.run(check);

  std::vector<double> expected(outputs);
  reference.download(expected.data());
  Errors errors = compare(download(c, stored), expected);
  Result result{kernel.name, describe(s)};
  result.error = errors.norm;
  result.worst = errors.worst;
  bool guards = a.guardsIntact() && b.guardsIntact() && bias.guardsIntact() &&
                residual.guardsIntact() && c.guardsIntact() && moments.guardsIntact() &&
                rowMoments.guardsIntact() && (!images || images->guardsIntact());
  if (!guards)
    result.remark = "wrote outside a buffer";
  result.passed =
      guards && errors.norm <= tolerance(variant) && errors.worst <= 20 * tolerance(variant);
  if (variant.storesMoments) {
    Errors ofMoments = compare(download(moments, Element::kFloat), momentsOf(download(c, element)));
    result.passed &= ofMoments.norm <= 1e-5 && ofMoments.worst <= 1e-3;
    if (ofMoments.norm > 1e-5 || ofMoments.worst > 1e-3)
      result.remark = "the moments of its rows are wrong";
  }
  add(result);
}

void Checker::checkGemms() {
  for (const GemmCase &c : gemmChecks())
    for (const GemmShape &shape : c.shapes) {
      bool isSmall = double(shape.m) * shape.n * shape.k * shape.batches < 2e7;
      if (isInPart(c.variant.kernel(), isSmall))
        checkGemm(c.variant, shape);
    }
}

void Checker::timeGemm(const GemmVariant &variant, const GemmShape &s) {
  constexpr double kRotatedBytes = 160e6; // weights of one graph: far more than L2 holds
  constexpr size_t kMaxLaunches = 128, kMinLaunches = 8;
  KernelText kernel = variant.kernel();
  Element element = variant.element, stored = variant.storedElement();
  size_t weightCount = size_t(s.k) * s.n, outputs = size_t(s.m) * s.n;
  size_t sets = std::clamp(size_t(kRotatedBytes / double(weightCount * elementBytes(element))),
                           size_t(2), kMaxLaunches);
  Buffer a = randomBuffer(element, size_t(s.m) * s.k, 1);
  Buffer bias = randomBuffer(stored, size_t(s.n), 1);
  Buffer residual = randomBuffer(stored, outputs, 1);
  Buffer c = gpu_.buffer(outputs * elementBytes(stored));
  Buffer moments = gpu_.buffer(outputs / kMomentsGroup * 2 * sizeof(float));
  Buffer rowMoments =
      randomBuffer(Element::kFloat, size_t(s.m) * std::max(variant.rowGroups, 1) * 2, 1);
  Buffer weights = randomBuffer(variant.rightElement(), weightCount * sets, 0.1f);
  CUfunction function = load(kernel, "kernel");
  std::vector<Launch> launches;
  for (size_t i = 0; i < std::max(sets, kMinLaunches); ++i) {
    CUdeviceptr set = weights.data() + i % sets * weightCount * elementBytes(element);
    launches.push_back(launchOf(gpu_, kernel, function, variant, s,
                                {a.data(), set, bias.data(), residual.data(), c.data(),
                                 moments.data(), rowMoments.data(), s.m, s.n, s.k, 1, 0}));
  }
  Result result{kernel.name, describe(s)};
  result.timing = true;
  result.plainTime = gpu_.timeChain(launches, false, options_.load);
  result.programmaticTime = gpu_.timeChain(launches, true, options_.load);
  result.teraflops = 2e-6 * s.m * s.n * s.k / std::min(result.plainTime, result.programmaticTime);
  add(result);
}

void Checker::timeGemms() {
  for (const GemmCase &c : gemmTimings())
    for (const GemmShape &shape : c.shapes)
      if (selected(c.variant.kernel()))
        timeGemm(c.variant, shape);
}

} // namespace smelt::kernel_tests
