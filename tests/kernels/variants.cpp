#include "tests/kernels/variants.h"

#include <set>
#include <sstream>

namespace smelt::kernel_tests {

const char *elementName(Element element) {
  switch (element) {
  case Element::kHalf:
    return "half";
  case Element::kBfloat16:
    return "bfloat16";
  case Element::kFloat:
    return "float";
  case Element::kFloat8E4M3:
    return "f8e4m3fn";
  case Element::kFloat8E5M2:
    return "f8e5m2";
  case Element::kInt8:
    return "int8_t";
  case Element::kUint8:
    return "uint8_t";
  case Element::kInt32:
    return "int32_t";
  }
  return "";
}

const char *layoutName(Layout layout) {
  static constexpr const char *kNames[] = {"Unit",        "Offset",   "Strided",
                                           "ZeroColumns", "ZeroRows", "Transposed"};
  return kNames[int(layout)];
}

Strides stridesOf(Layout layout, long long rows, long long columns) {
  switch (layout) {
  case Layout::kUnit:
    return {rows * columns, columns, 1, 0};
  case Layout::kOffset:
    return {rows * columns, columns, 1, 1};
  case Layout::kStrided:
    return {3 * rows * columns, 3 * columns, 3, 0};
  case Layout::kZeroColumns:
    return {rows, 1, 0, 0};
  case Layout::kZeroRows:
    return {columns, 0, 1, 0};
  case Layout::kTransposed:
    return {rows * columns, 1, rows, 0};
  }
  return {};
}

long long elementsOf(Layout layout, long long rows, long long columns, long long count) {
  Strides s = stridesOf(layout, rows, columns);
  return s.start + (count - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column + 1;
}

int elementBytes(Element element) {
  switch (element) {
  case Element::kHalf:
  case Element::kBfloat16:
    return 2;
  case Element::kFloat:
  case Element::kInt32:
    return 4;
  case Element::kFloat8E4M3:
  case Element::kFloat8E5M2:
  case Element::kInt8:
  case Element::kUint8:
    return 1;
  }
  return 0;
}

bool isInteger(Element element) { return element >= Element::kInt8; }

bool isFloat8(Element element) {
  return element == Element::kFloat8E4M3 || element == Element::kFloat8E5M2;
}

namespace {

/// "a<separator>b<separator>c"
std::string join(const std::vector<int> &values, const char *separator) {
  std::ostringstream out;
  for (size_t i = 0; i < values.size(); ++i)
    out << (i ? separator : "") << values[i];
  return out.str();
}

std::vector<int> numbers(const GemmTiling &t) {
  return {t.blockM, t.blockN, t.blockK, t.warpsM, t.warpsN, t.stages, t.clusterK, t.warpsK};
}
std::vector<int> numbers(const GemmSplitTiling &t) {
  return {t.blockM, t.blockN, t.blockK, t.warpsM, t.warpsN, t.stages, t.clusterK};
}
std::vector<int> numbers(const GemmWgmmaTiling &t) {
  return {t.blockM, t.blockN, t.stages, t.clusterK, t.helpers};
}
std::vector<int> numbers(const GemmTmaTiling &t) {
  return {t.blockM, t.blockN, t.stages, t.pingPong, t.clusterK, t.oneTile, t.residentSteps};
}
std::vector<int> numbers(const GemmSimtTiling &t) {
  return {t.blockM, t.blockN, t.blockK, t.threadM, t.threadN, t.stages, t.clusterK};
}
std::vector<int> numbers(const AttentionTiling &t) {
  return {t.blockQ, t.blockKV, t.warps, t.stages};
}
std::vector<int> numbers(const AttentionDecodeTiling &t) {
  return {t.blockQ, t.blockKV, t.warps, t.stages, t.parts};
}
std::vector<int> numbers(const AttentionTmaTiling &t) {
  std::vector<int> numbers = {t.blockKV, t.groups, t.stages, t.querySlots};
  if (!t.takesHeads)
    numbers.push_back(t.biasStages);
  return numbers;
}
std::vector<int> numbers(const AttentionSimtTiling &t) { return {t.blockQ, t.blockKV, t.stages}; }

/// Include, problem and configuration of a kernel that calls `function` of `header`, with maps of
/// its operands where it takes them.
std::string kernelText(const std::string &header, const char *problemHeader,
                       const std::string &problem, const std::string &config, const char *function,
                       std::vector<std::string> maps = {}, const char *left = "") {
  std::ostringstream text;
  text << "#include \"kernels/" << header << "\"\n#include \"" << problemHeader << "\"\n"
       << "namespace smelt {\nusing Problem = " << problem << ";\nusing Config = " << config
       << ";\n"
       << "extern \"C\" __global__ void __launch_bounds__(Config::kThreads, Config::kMinBlocks)\n"
       << "kernel(const __grid_constant__ Problem problem";
  for (const std::string &map : maps)
    text << ", const __grid_constant__ TensorMap " << map;
  text << ") {\n  extern __shared__ __align__(1024) char shared[];\n  " << function << "<Config"
       << left << ">(problem, ";
  for (const std::string &map : maps)
    text << map << ", ";
  text << "shared);\n}\n}\n";
  return text.str();
}

std::string gemmProblemType(const GemmVariant &v) {
  std::ostringstream out;
  out << "GemmTestProblem<" << elementName(v.element) << ", " << elementName(v.rightElement())
      << ", " << v.aVector << ", " << v.bVector << ", " << v.bTransposed << ", " << v.bConstant
      << ", " << v.width << ", " << v.n << ", " << v.k << ", "
      << (v.activation && !isInteger(v.element)) << ", " << v.residual << ", " << v.linear
      << ", Layout::k" << layoutName(v.a) << ", Layout::k" << layoutName(v.b) << ", "
      << v.storesMoments << ", " << v.rowGroups << ", " << v.products << ", " << v.padded << ", "
      << v.storesBytes << ">";
  return out.str();
}

/// "WindowTestProblem<..., 64, 1, 1, 1, 56, ...>"
std::string windowProblemType(const GemmVariant &v) {
  const ImageAxis &down = v.windows->down;
  ImageAxis across = v.windows->across;
  int channels = v.windows->channels;
  if (v.windows->mergesRows) {
    channels *= across.taps;
    across = {across.count()};
  }
  return "WindowTestProblem<" + gemmProblemType(v) + ", " +
         join({channels, down.stride, down.dilation, down.before, down.count(), across.taps,
               across.stride, across.dilation, across.before, across.count()},
              ", ") +
         ">";
}

/// "_c64i56x56w3x3s1x1d1x1b1x1e1x1": channels, sizes, windows, strides, dilations, zeros before and behind.
std::string nameOf(const ImageWindows &windows) {
  const ImageAxis &down = windows.down, &across = windows.across;
  auto pair = [](const char *what, int first, int second) {
    return what + std::to_string(first) + 'x' + std::to_string(second);
  };
  return "_c" + std::to_string(windows.channels) + pair("i", down.size, across.size) +
         pair("w", down.taps, across.taps) + pair("s", down.stride, across.stride) +
         pair("d", down.dilation, across.dilation) + pair("b", down.before, across.before) +
         pair("e", down.after, across.after);
}

} // namespace

namespace {

/// Names of a GEMM template: in file names, its configuration, its function, what kernel names add.
struct GemmTemplate {
  const char *file, *config, *function, *suffix = "";
};
GemmTemplate templateOf(const GemmTiling &) { return {"gemm", "GemmConfig", "gemm"}; }
GemmTemplate templateOf(const GemmSplitTiling &) {
  return {"gemm", "GemmSplitConfig", "gemm", "_split"};
}
GemmTemplate templateOf(const GemmWgmmaTiling &) {
  return {"gemm_wgmma", "GemmWgmmaConfig", "gemmWgmma"};
}
GemmTemplate templateOf(const GemmTmaTiling &t) {
  return t.oneTile ? GemmTemplate{"gemm_tma_tile", "GemmTmaConfig", "gemmTmaTile"}
                   : GemmTemplate{"gemm_tma", "GemmTmaConfig", "gemmTma"};
}
GemmTemplate templateOf(const GemmSimtTiling &) {
  return {"gemm_simt", "GemmSimtConfig", "gemmSimt"};
}

template <class Tiling> int tilesOfMoments(const Tiling &) { return 1; }
int tilesOfMoments(const GemmTmaTiling &t) { return t.tilesOfMoments(); }

int sharedBytesOf(const GemmTiling &t, Element e) { return t.sharedBytes(elementBytes(e)); }
int sharedBytesOf(const GemmWgmmaTiling &t, Element) { return t.sharedBytes(); }
int sharedBytesOf(const GemmTmaTiling &t, Element) { return t.sharedBytes(); }
int sharedBytesOf(const GemmSimtTiling &t, Element) { return t.sharedBytes(); }

} // namespace

KernelText GemmVariant::kernel() const {
  return std::visit(
      [this](const auto &t) {
        GemmTemplate used = templateOf(t);
        std::ostringstream name;
        name << used.file << used.suffix << '_' << elementName(element) << '_';
        if (elementB)
          name << elementName(*elementB) << '_';
        name << join(numbers(t), "x") << "_a" << aVector << "_b" << bVector << "_w" << width
             << (bTransposed ? "_nk" : "_kn") << (bConstant ? "_const" : "") << "_n" << n << "_k"
             << k << (activation ? "_gelu" : "") << (residual ? "_add" : "")
             << (linear ? "" : "_scattered");
        if (a != Layout::kUnit || b != Layout::kUnit)
          name << "_a" << layoutName(a) << "_b" << layoutName(b);
        name << (storesMoments ? "_moments" : "") << (products > 1 ? "_pair" : "")
             << (storesBytes ? "_bytes" : "") << (padded ? "_padded" : "");
        if (rowGroups > 0)
          name << "_groups" << rowGroups;
        if (windows)
          name << "_windows" << nameOf(*windows);
        std::string left;
        if (windows)
          left = ", WindowRows<" + std::to_string(windows->rowBytes(elementBytes(element))) + ">";
        KernelText result;
        result.name = name.str();
        result.text = kernelText(
            "gemm/" + std::string(used.file) + ".cuh",
            windows ? "window_problem.cuh" : "gemm_problem.cuh",
            windows ? windowProblemType(*this) : gemmProblemType(*this),
            std::string(used.config) + "<" + join(numbers(t), ", ") + ">", used.function,
            usesTensorMaps() ? std::vector<std::string>{"a", "b"} : std::vector<std::string>(),
            left.c_str());
        result.threads = t.threads();
        int momentsBytes =
            rowGroups > 0 ? tilesOfMoments(t) * blockM() * 8 : 0; // mean and variance of each row
        result.sharedBytes = sharedBytesOf(t, element) + momentsBytes;
        result.clusterK = t.clusterK;
        result.needsHopper =
            t.clusterK > 1 || usesTensorMaps() || std::holds_alternative<GemmWgmmaTiling>(tiling);
        return result;
      },
      tiling);
}

int GemmVariant::blockM() const {
  return std::visit([](const auto &t) { return t.blockM; }, tiling);
}

int GemmVariant::blockN() const {
  return std::visit([](const auto &t) { return t.blockN; }, tiling);
}

bool GemmVariant::usesTf32() const {
  return element == Element::kFloat && std::holds_alternative<GemmTiling>(tiling);
}

std::string GemmVariant::referenceName() const {
  return std::string("reference_") + (bTransposed ? "nk" : "kn") + (bConstant ? "_const" : "") +
         (products > 1 ? "_pair" : "") + (storesBytes ? "_bytes" : "") + (padded ? "_padded" : "");
}

KernelText gemmReferenceText(Element a, Element b) {
  std::ostringstream text;
  text << "#include \"gemm_problem.cuh\"\nnamespace smelt {\n";
  int kinds = isInteger(a) ? 12 : 6;
  for (bool transposed : {false, true})
    for (int kind = 0; kind < kinds; ++kind) {
      GemmVariant v;
      v.element = a, v.elementB = b;
      v.aVector = v.bVector = v.width = 1;
      v.bTransposed = transposed;
      v.bConstant = kind % 3 > 0;
      v.products = kind % 3 == 2 ? 2 : 1;
      v.padded = kind % 6 >= 3;
      v.storesBytes = kind >= 6;
      text << "extern \"C\" __global__ void " << v.referenceName() << "(const __grid_constant__ "
           << gemmProblemType(v)
           << " problem, double *out, bool tf32, Strides a, Strides b, int rowGroups, bool "
              "activation, "
              "bool residual) {\n"
           << "  gemmReference(problem, out, tf32, a, b, rowGroups, activation, residual);\n}\n";
    }
  text << "}\n";
  return {std::string("gemm_reference_") + elementName(a) + '_' + elementName(b),
          text.str(),
          256,
          0,
          1,
          false};
}

KernelText unfoldText(Element element) {
  std::string name = elementName(element);
  return {"unfold_" + name,
          "#include \"window_problem.cuh\"\nnamespace smelt {\nextern \"C\" __global__ void kernel("
          "const __grid_constant__ Unfold<" +
              name + "> windows) {\n  windows.run();\n}\n}\n",
          256,
          0,
          1,
          false};
}

std::string AttentionVariant::problemType(int vectorWidth) const {
  static constexpr const char *kBiasNames[] = {"kNone", "kPerKey", "kFull", "kPerHead", "kShared"};
  std::ostringstream out;
  out << "AttentionTestProblem<" << elementName(element) << ", " << headSize << ", " << valueSize
      << ", " << vectorWidth << ", " << causal << ", TestBias::" << kBiasNames[int(bias)] << ", "
      << softcap << ", " << zeroMaskedRows << ", " << heads << ", " << kvHeads << ", "
      << elementName(output.value_or(element)) << ">";
  return out.str();
}

std::string AttentionVariant::problemName() const {
  static constexpr const char *kBiasNames[] = {"", "_bias1", "_bias2", "_bias3", "_bias4"};
  std::ostringstream out;
  out << elementName(element) << "_d" << headSize << 'x' << valueSize << (causal ? "_causal" : "")
      << "_h" << heads << 'x' << kvHeads << kBiasNames[int(bias)] << (softcap ? "_cap" : "")
      << (zeroMaskedRows ? "_zero" : "");
  if (output)
    out << "_to_" << elementName(*output);
  return out.str();
}

namespace {

constexpr char kCombinationText[] = R"(
extern "C" __global__ void __launch_bounds__(smelt::Config::kCombineThreads)
combination(const __grid_constant__ smelt::Problem problem, int parts) {
  smelt::attentionCombine<smelt::Config>(problem, parts);
}
)";

struct AttentionTemplate {
  const char *header, *config, *function;
};
AttentionTemplate templateOf(const AttentionTiling &) {
  return {"attention", "AttentionConfig", "attention"};
}
AttentionTemplate templateOf(const AttentionDecodeTiling &) {
  return {"attention_decode", "AttentionDecodeConfig", "attentionDecode"};
}
AttentionTemplate templateOf(const AttentionTmaTiling &t) {
  if (t.takesHeads)
    return {"attention_tma_heads", "AttentionTmaHeadsConfig", "attentionTmaHeads"};
  return {"attention_tma", "AttentionTmaConfig", "attentionTma"};
}
AttentionTemplate templateOf(const AttentionSimtTiling &) {
  return {"attention_simt", "AttentionSimtConfig", "attentionSimt"};
}

} // namespace

KernelText AttentionVariant::kernel() const {
  return std::visit(
      [this](const auto &t) {
        AttentionTemplate of = templateOf(t);
        std::vector<int> config = numbers(t);
        if (steps > 0)
          config.push_back(steps);
        std::vector<std::string> maps;
        if (tensorMaps())
          maps = {"q", "k", "v"};
        if (tensorMaps() && tensorMaps()->biasStages > 0)
          maps.push_back("bias");
        KernelText result;
        result.name = std::string(of.header) + '_' + join(config, "x") + '_' + problemName() +
                      "_v" + std::to_string(vector);
        result.text =
            kernelText(std::string("attention/") + of.header + ".cuh", "attention_problem.cuh",
                       problemType(vector), std::string(of.config) + "<" + join(config, ", ") + ">",
                       of.function, maps);
        result.threads = t.threads();
        result.sharedBytes = t.sharedBytes(headSize, valueSize);
        result.needsHopper = tensorMaps() != nullptr;
        if (decode() && decode()->parts == 0)
          result.text += kCombinationText;
        else if (decode() && decode()->parts > 1)
          result.clusterK = decode()->parts, result.needsHopper = true;
        return result;
      },
      tiling);
}

KernelText AttentionVariant::referenceKernel() const {
  std::ostringstream text;
  text << "#include \"attention_problem.cuh\"\nnamespace smelt {\nextern \"C\" __global__ void "
       << "kernel(const __grid_constant__ " << problemType(1)
       << " problem, double *out, double *scores) {\n  attentionReference(problem, out, scores);\n"
       << "}\n}\n";
  return {"attention_reference_" + problemName(), text.str(), 128, 0, 1, false};
}

int AttentionVariant::blockQ() const {
  if (const AttentionTmaTiling *t = tensorMaps())
    return t->blockQ();
  if (decode())
    return decode()->blockQ;
  const auto *simt = std::get_if<AttentionSimtTiling>(&tiling);
  return simt ? simt->blockQ : std::get<AttentionTiling>(tiling).blockQ;
}

std::vector<KernelText> allKernels(bool withTimings) {
  std::vector<KernelText> kernels;
  std::set<std::string> seen;
  auto add = [&](KernelText kernel) {
    if (seen.insert(kernel.name).second)
      kernels.push_back(std::move(kernel));
  };
  for (const GemmCase &c : gemmChecks()) {
    add(gemmReferenceText(c.variant.element, c.variant.rightElement()));
    add(c.variant.kernel());
    if (c.variant.windows)
      add(unfoldText(c.variant.element));
  }
  for (const AttentionCase &c : attentionChecks()) {
    add(c.variant.referenceKernel());
    add(c.variant.kernel());
  }
  for (const ReductionCase &c : reductionChecks())
    add(c.variant.kernel());
  if (withTimings) {
    for (const GemmCase &c : gemmTimings())
      add(c.variant.kernel());
    for (const AttentionCase &c : attentionTimings())
      add(c.variant.kernel());
  }
  return kernels;
}

} // namespace smelt::kernel_tests
