// Correctness and speed of the GEMM templates on a GPU.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/kernels/gpu_check.h"

namespace smelt::kernel_tests {

namespace {

/// GemmTestProblem of gemm_problem.cuh, as the kernel's parameter.
struct GemmParameters {
  CUdeviceptr a, b, bias, residual, c;
  int m, n, k, batches;
};

std::string describe(const GemmShape &s) {
  std::ostringstream out;
  out << s.m << 'x' << s.n << 'x' << s.k;
  if (s.batches > 1)
    out << " b" << s.batches;
  return out.str();
}

template <class T> std::vector<char> bytesOf(const T &value) {
  std::vector<char> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

unsigned tiles(int size, int block) { return unsigned((size + block - 1) / block); }

/// Largest error norm allowed: rounding of the result for 16 bits, of the sums for float.
double tolerance(const GemmVariant &variant) {
  if (variant.usesTf32()) // tensor cores cut low bits of sums when they align them
    return 1e-5;
  switch (variant.element) {
  case Element::kHalf:
    return 5e-4;
  case Element::kBfloat16:
    return 4e-3;
  case Element::kFloat:
    return 2e-6;
  }
  return 0;
}

/// The problem and, behind it, the maps of its operands.
struct MappedParameters {
  GemmParameters problem;
  CUtensorMap a, b;
};

MappedParameters mapped(const Gpu &gpu, const GemmVariant &variant, const GemmShape &s,
                        const GemmParameters &parameters) {
  constexpr unsigned kBoxColumns = 64;
  auto size = [](int value) { return uint64_t(value); };
  MatrixMap a{parameters.a, size(s.m), size(s.k), unsigned(variant.blockM()), kBoxColumns};
  MatrixMap b{parameters.b, size(s.k), size(s.n), kBoxColumns, kBoxColumns};
  if (variant.bTransposed)
    b = {parameters.b, size(s.n), size(s.k), unsigned(variant.blockN()), kBoxColumns};
  return {parameters, gpu.encode(a), gpu.encode(b)};
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
  if (!variant.usesTensorMaps()) {
    launch.parameters = bytesOf(parameters);
    return launch;
  }
  launch.grid[0] = std::min(launch.grid[0], unsigned(gpu.multiprocessors()));
  launch.parameters = bytesOf(mapped(gpu, variant, s, parameters));
  launch.offsets = {0, offsetof(MappedParameters, a), offsetof(MappedParameters, b)};
  return launch;
}

} // namespace

void Checker::checkGemm(const GemmVariant &variant, const GemmShape &s) {
  KernelText kernel = variant.kernel();
  Element element = variant.element;
  size_t weights = variant.bConstant ? 1 : size_t(s.batches);
  size_t outputs = size_t(s.batches) * s.m * s.n;
  Buffer a = randomBuffer(element, size_t(s.batches) * s.m * s.k, 1);
  Buffer b = randomBuffer(element, weights * s.k * s.n, 0.1f);
  Buffer bias = randomBuffer(element, size_t(s.n), 1);
  Buffer residual = randomBuffer(element, outputs, 1);
  Buffer c = gpu_.buffer(outputs * elementBytes(element));
  Buffer reference = gpu_.buffer(outputs * sizeof(double));
  c.poison();
  GemmParameters parameters{a.data(), b.data(), bias.data(), residual.data(), c.data(),
                            s.m,      s.n,      s.k,         s.batches};
  gpu_.run(launchOf(gpu_, kernel, load(kernel, "kernel"), variant, s, parameters));

  struct {
    GemmParameters problem;
    CUdeviceptr out;
    bool tf32;
  } arguments{parameters, reference.data(), variant.usesTf32()};
  Launch check;
  check.function = load(gemmReferenceText(element), variant.referenceName());
  check.grid[0] = unsigned((outputs + 255) / 256);
  check.threads = 256;
  check.parameters = bytesOf(arguments);
  check.offsets = {0, offsetof(decltype(arguments), out), offsetof(decltype(arguments), tf32)};
  gpu_.run(check);

  std::vector<double> expected(outputs);
  reference.download(expected.data());
  Errors errors = compare(download(c, element), expected);
  Result result{kernel.name, describe(s)};
  result.error = errors.norm;
  result.worst = errors.worst;
  bool guards = a.guardsIntact() && b.guardsIntact() && bias.guardsIntact() &&
                residual.guardsIntact() && c.guardsIntact();
  if (!guards)
    result.remark = "wrote outside a buffer";
  result.passed =
      guards && errors.norm <= tolerance(variant) && errors.worst <= 20 * tolerance(variant);
  add(result);
}

void Checker::checkGemms() {
  for (const GemmCase &c : gemmChecks())
    for (const GemmShape &shape : c.shapes) {
      bool isSmall = double(shape.m) * shape.n * shape.k * shape.batches < 2e7;
      if (selected(c.variant.kernel()) && (isSmall || !options_.small))
        checkGemm(c.variant, shape);
    }
}

void Checker::timeGemm(const GemmVariant &variant, const GemmShape &s) {
  constexpr double kRotatedBytes = 160e6; // weights of one graph: far more than L2 holds
  constexpr size_t kMaxLaunches = 128, kMinLaunches = 8;
  KernelText kernel = variant.kernel();
  Element element = variant.element;
  size_t weightCount = size_t(s.k) * s.n, outputs = size_t(s.m) * s.n;
  size_t sets = std::clamp(size_t(kRotatedBytes / double(weightCount * elementBytes(element))),
                           size_t(2), kMaxLaunches);
  Buffer a = randomBuffer(element, size_t(s.m) * s.k, 1);
  Buffer bias = randomBuffer(element, size_t(s.n), 1);
  Buffer residual = randomBuffer(element, outputs, 1);
  Buffer c = gpu_.buffer(outputs * elementBytes(element));
  Buffer weights = randomBuffer(element, weightCount * sets, 0.1f);
  CUfunction function = load(kernel, "kernel");
  std::vector<Launch> launches;
  for (size_t i = 0; i < std::max(sets, kMinLaunches); ++i) {
    CUdeviceptr set = weights.data() + i % sets * weightCount * elementBytes(element);
    launches.push_back(
        launchOf(gpu_, kernel, function, variant, s,
                 {a.data(), set, bias.data(), residual.data(), c.data(), s.m, s.n, s.k, 1}));
  }
  Result result{kernel.name, describe(s)};
  result.timing = true;
  result.plainTime = gpu_.timeChain(launches, false);
  result.programmaticTime = gpu_.timeChain(launches, true);
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
