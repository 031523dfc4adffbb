// Correctness and speed of the attention templates on a GPU.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "tests/kernels/gpu_check.h"

namespace smelt::kernel_tests {

namespace {

/// AttentionTestProblem of attention_problem.cuh, as the kernel's parameter.
struct AttentionParameters {
  CUdeviceptr q, k, v, bias, out, parts;
  int batches, queries, keys, causalOffset, reversed;
};

std::string describe(const AttentionShape &s) {
  std::ostringstream out;
  out << 'b' << s.batches << ' ' << s.queries << 'x' << s.keys;
  return out.str();
}

double tolerance(Element element) {
  switch (element) {
  case Element::kHalf:
    return 1e-3;
  case Element::kBfloat16:
    return 8e-3;
  default:
    return 2e-6;
  }
}

/// The problem and, behind it, the maps of its operands.
struct MappedParameters {
  AttentionParameters problem;
  CUtensorMap q, k, v, bias;
};

/// Of biases of single scores; an axis that they do not depend on has one element.
CUtensorMap biasMap(const Gpu &gpu, const AttentionVariant &variant, const AttentionParameters &p) {
  auto keys = uint64_t(p.keys), plane = keys * p.queries;
  uint64_t heads = variant.bias == Bias::kShared ? 1 : variant.heads;
  uint64_t batches = variant.bias == Bias::kFull ? p.batches : 1;
  return gpu.encode(
      {p.bias,
       {keys, uint64_t(p.queries), heads, batches},
       {keys, plane, plane * heads},
       {unsigned(AttentionTmaTiling::kBiasPanel), unsigned(AttentionTmaTiling::kGroupRows), 1, 1}});
}

MappedParameters mapped(const Gpu &gpu, const AttentionVariant &variant,
                        const AttentionParameters &p) {
  const AttentionTmaTiling &tiling = *variant.tensorMaps();
  auto operand = [&](CUdeviceptr data, int rows, int heads, int size, int boxRows) {
    auto row = uint64_t(heads) * size;
    return gpu.encode({data,
                       {uint64_t(size), uint64_t(rows), uint64_t(heads), uint64_t(p.batches)},
                       {row, uint64_t(size), row * rows},
                       {unsigned(AttentionTmaTiling::panel(size)), unsigned(boxRows), 1, 1}});
  };
  MappedParameters parameters{
      p,
      operand(p.q, p.queries, variant.heads, variant.headSize, AttentionTmaTiling::kGroupRows),
      operand(p.k, p.keys, variant.kvHeads, variant.headSize, tiling.blockKV),
      operand(p.v, p.keys, variant.kvHeads, variant.valueSize, tiling.blockKV),
      {}};
  if (tiling.biasStages > 0)
    parameters.bias = biasMap(gpu, variant, p);
  return parameters;
}

/// Blocks along the first axis of a decode kernel's grid.
unsigned decodeBlocks(const AttentionVariant &variant, const AttentionShape &s) {
  int rows = s.queries * (variant.heads / variant.kvHeads), block = variant.blockQ();
  return unsigned(variant.kvHeads * ((rows + block - 1) / block));
}

bool leavesParts(const AttentionVariant &variant) {
  return variant.decode() && variant.decode()->parts == 0;
}

/// Of what the blocks of one batch leave.
size_t partFloats(const AttentionVariant &variant, const AttentionShape &s) {
  return leavesParts(variant) ? size_t(decodeBlocks(variant, s)) * s.parts *
                                    attentionRecord(variant.blockQ(), variant.valueSize)
                              : 0;
}

Launch launchOf(const Gpu &gpu, const KernelText &kernel, CUfunction function,
                const AttentionVariant &variant, const AttentionShape &s,
                const AttentionParameters &parameters) {
  Launch launch;
  launch.function = function;
  int block = variant.blockQ();
  launch.grid[0] = unsigned((parameters.queries + block - 1) / block);
  launch.grid[1] = unsigned(variant.heads);
  launch.grid[2] = unsigned(std::min(parameters.batches, 65535));
  launch.threads = unsigned(kernel.threads);
  launch.sharedBytes = unsigned(kernel.sharedBytes);
  if (const AttentionDecodeTiling *decode = variant.decode()) {
    launch.grid[0] = decodeBlocks(variant, s);
    launch.grid[1] = unsigned(decode->parts > 0 ? decode->parts : s.parts);
    launch.clusterY = unsigned(kernel.clusterK);
  }
  if (!variant.tensorMaps()) {
    launch.parameters = bytesOf(parameters);
    return launch;
  }
  launch.grid[0] = std::min(launch.grid[0] * launch.grid[1] * unsigned(parameters.batches),
                            unsigned(gpu.multiprocessors()));
  launch.grid[1] = launch.grid[2] = 1;
  launch.parameters = bytesOf(mapped(gpu, variant, parameters));
  launch.offsets = {0, offsetof(MappedParameters, q), offsetof(MappedParameters, k),
                    offsetof(MappedParameters, v)};
  if (variant.tensorMaps()->biasStages > 0)
    launch.offsets.push_back(offsetof(MappedParameters, bias));
  return launch;
}

/// `rowsPerBatch` rows of a bias for each key, for each of `batches`.
struct BiasRows {
  size_t batches, rowsPerBatch;
};

BiasRows biasRows(const AttentionVariant &variant, const AttentionShape &s) {
  size_t queries = s.queries, batches = s.batches;
  switch (variant.bias) {
  case Bias::kFull:
    return {batches, variant.heads * queries};
  case Bias::kPerHead:
    return {1, variant.heads * queries};
  case Bias::kShared:
    return {1, queries};
  default:
    return {batches, 1};
  }
}

/// Merges what the blocks have left.
Launch combinationOf(CUfunction function, const AttentionVariant &variant, const AttentionShape &s,
                     const AttentionParameters &parameters) {
  struct Arguments {
    AttentionParameters problem;
    int parts;
  };
  constexpr int kVectors = AttentionDecodeTiling::kCombinedVectors;
  int vectors = variant.blockQ() * variant.valueSize / variant.vector;
  Launch launch;
  launch.function = function;
  launch.grid[0] = unsigned((vectors + kVectors - 1) / kVectors);
  launch.grid[1] = decodeBlocks(variant, s);
  launch.grid[2] = unsigned(std::min(s.batches, 65535));
  launch.threads = AttentionDecodeTiling::kCombineThreads;
  launch.parameters = bytesOf(Arguments{parameters, s.parts});
  launch.offsets = {0, offsetof(Arguments, parts)};
  return launch;
}

/// Overwrites the biases of the masked keys.
void maskBias(Buffer &bias, Element element, const AttentionShape &s, const BiasRows &rows) {
  std::vector<char> bytes(bias.bytes());
  bias.download(bytes.data());
  float value = -std::numeric_limits<float>::infinity();
  if (s.biasLowest)
    value = element == Element::kHalf ? -65504.0f : -3.3895313e38f; // exact in bfloat16 and float
  uint32_t bits = encode(element, value);
  for (size_t batch = 0; batch < rows.batches; ++batch) {
    bool all = s.maskLastBatch && batch + 1 == rows.batches;
    for (size_t row = 0; row < rows.rowsPerBatch; ++row)
      for (int key = all ? 0 : s.keys - s.maskedKeys; key < s.keys; ++key)
        std::memcpy(bytes.data() +
                        ((batch * rows.rowsPerBatch + row) * s.keys + key) * elementBytes(element),
                    &bits, elementBytes(element));
  }
  bias.upload(bytes.data());
}

} // namespace

void Checker::checkAttention(const AttentionVariant &variant, const AttentionShape &s) {
  KernelText kernel = variant.kernel();
  Element element = variant.element;
  size_t rows = size_t(s.batches) * s.queries * variant.heads;
  size_t keyRows = size_t(s.batches) * s.keys * variant.kvHeads;
  size_t outputs = rows * variant.valueSize;
  Element stored = variant.output.value_or(element);
  Buffer q = randomBuffer(element, rows * variant.headSize, 3);
  Buffer k = randomBuffer(element, keyRows * variant.headSize, 3);
  Buffer v = randomBuffer(element, keyRows * variant.valueSize, 1);
  BiasRows biases = biasRows(variant, s);
  Buffer bias = randomBuffer(element, biases.batches * biases.rowsPerBatch * s.keys, 1);
  if (variant.bias != Bias::kNone)
    maskBias(bias, element, s, biases);
  Buffer out = gpu_.buffer(outputs * elementBytes(stored));
  out.poison();
  Buffer parts = gpu_.buffer(partFloats(variant, s) * s.batches * sizeof(float));
  if (leavesParts(variant))
    parts.poison();
  AttentionParameters parameters{q.data(),   k.data(),       v.data(),     bias.data(),
                                 out.data(), parts.data(),   s.batches,    s.queries,
                                 s.keys,     s.causalOffset, s.queries % 2}; // either way
  gpu_.run(launchOf(gpu_, kernel, load(kernel, "kernel"), variant, s, parameters));
  if (leavesParts(variant))
    gpu_.run(combinationOf(load(kernel, "combination"), variant, s, parameters));

  KernelText referenceKernel = variant.referenceKernel();
  unsigned blocks = unsigned(std::min<size_t>(rows, 4096));
  Buffer reference = gpu_.buffer(outputs * sizeof(double));
  Buffer scores = gpu_.buffer(size_t(blocks) * s.keys * sizeof(double));
  struct {
    AttentionParameters problem;
    CUdeviceptr out, scores;
  } arguments{parameters, reference.data(), scores.data()};
  Launch check;
  check.function = load(referenceKernel, "kernel");
  check.grid[0] = blocks;
  check.threads = 128;
  check.parameters = bytesOf(arguments);
  check.offsets = {0, offsetof(decltype(arguments), out), offsetof(decltype(arguments), scores)};
  gpu_.run(check);

  std::vector<double> expected(outputs);
  reference.download(expected.data());
  Errors errors = compare(download(out, stored), expected);
  Result result{kernel.name, describe(s)};
  result.error = errors.norm;
  result.worst = errors.worst;
  bool guards = q.guardsIntact() && k.guardsIntact() && v.guardsIntact() && bias.guardsIntact() &&
                out.guardsIntact() && parts.guardsIntact();
  if (!guards)
    result.remark = "wrote outside a buffer";
  double most = std::max(tolerance(element), tolerance(stored));
  result.passed = guards && errors.norm <= most && errors.worst <= 20 * most;
  add(result);
}

void Checker::checkAttentions() {
  for (const AttentionCase &c : attentionChecks())
    for (const AttentionShape &shape : c.shapes) {
      bool isSmall = double(shape.batches) * c.variant.heads * shape.queries * shape.keys < 2e5;
      if (isInPart(c.variant.kernel(), isSmall))
        checkAttention(c.variant, shape);
    }
}

void Checker::timeAttention(const AttentionVariant &variant, const AttentionShape &s) {
  constexpr int kLaunches = 24;
  KernelText kernel = variant.kernel();
  Element element = variant.element;
  size_t rows = size_t(s.batches) * s.queries * variant.heads;
  size_t keyRows = size_t(s.batches) * s.keys * variant.kvHeads;
  Buffer q = randomBuffer(element, rows * variant.headSize, 3);
  Buffer k = randomBuffer(element, keyRows * variant.headSize, 3);
  Buffer v = randomBuffer(element, keyRows * variant.valueSize, 1);
  BiasRows biases = biasRows(variant, s);
  Buffer bias = randomBuffer(element, biases.batches * biases.rowsPerBatch * s.keys, 1);
  Buffer out = gpu_.buffer(rows * variant.valueSize * elementBytes(element));
  Buffer parts = gpu_.buffer(partFloats(variant, s) * s.batches * sizeof(float));
  AttentionParameters parameters{q.data(),   k.data(),       v.data(),  bias.data(),
                                 out.data(), parts.data(),   s.batches, s.queries,
                                 s.keys,     s.causalOffset, 0};
  std::vector<Launch> launches;
  int launchesOfOne = leavesParts(variant) ? 2 : 1;
  for (int i = 0; i < kLaunches; ++i) {
    launches.push_back(launchOf(gpu_, kernel, load(kernel, "kernel"), variant, s, parameters));
    if (leavesParts(variant))
      launches.push_back(combinationOf(load(kernel, "combination"), variant, s, parameters));
  }
  Result result{kernel.name, describe(s)};
  result.timing = true;
  result.plainTime = launchesOfOne * gpu_.timeChain(launches, false, options_.load);
  result.programmaticTime = launchesOfOne * gpu_.timeChain(launches, true, options_.load);
  double flops = 2.0 * double(rows) * s.keys * (variant.headSize + variant.valueSize) *
                 (variant.causal ? 0.5 : 1.0);
  result.teraflops = 1e-6 * flops / std::min(result.plainTime, result.programmaticTime);
  add(result);
}

void Checker::timeAttentions() {
  for (const AttentionCase &c : attentionTimings())
    for (const AttentionShape &shape : c.shapes)
      if (selected(c.variant.kernel()))
        timeAttention(c.variant, shape);
}

} // namespace smelt::kernel_tests
