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
  }
  return "";
}

int elementBytes(Element element) { return element == Element::kFloat ? 4 : 2; }

namespace {

std::string tilingName(const GemmTiling &t) {
  std::ostringstream out;
  out << t.blockM << 'x' << t.blockN << 'x' << t.blockK << "_w" << t.warpsM << 'x' << t.warpsN
      << "_s" << t.stages << "_c" << t.clusterK;
  return out.str();
}

std::string problemType(Element element, int aVector, int bVector, bool bTransposed, bool bConstant,
                        int width, int n, int k) {
  std::ostringstream out;
  out << "GemmTestProblem<" << elementName(element) << ", " << aVector << ", " << bVector << ", "
      << bTransposed << ", " << bConstant << ", " << width << ", " << n << ", " << k << ">";
  return out.str();
}

} // namespace

KernelText GemmVariant::kernel() const {
  std::ostringstream name, text;
  name << "gemm_" << elementName(element) << '_' << tilingName(tiling) << "_a" << aVector << "_b"
       << bVector << "_w" << width << (bTransposed ? "_nk" : "_kn") << (bConstant ? "_const" : "")
       << "_n" << n << "_k" << k;
  const GemmTiling &t = tiling;
  text << "#include \"kernels/gemm.cuh\"\n#include \"gemm_problem.cuh\"\nnamespace smelt {\n"
       << "using Problem = "
       << problemType(element, aVector, bVector, bTransposed, bConstant, width, n, k) << ";\n"
       << "using Config = GemmConfig<" << t.blockM << ", " << t.blockN << ", " << t.blockK << ", "
       << t.warpsM << ", " << t.warpsN << ", " << t.stages << ", " << t.clusterK << ">;\n"
       << R"(extern "C" __global__ void __launch_bounds__(Config::kThreads)
kernel(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(128) char shared[];
  gemm<Config>(problem, shared);
}
}
)";
  return {name.str(), text.str(), tiling.clusterK > 1};
}

KernelText gemmReferenceText(Element element) {
  std::ostringstream text;
  text << "#include \"gemm_problem.cuh\"\nnamespace smelt {\n";
  for (bool transposed : {false, true})
    for (bool constant : {false, true})
      text << "extern \"C\" __global__ void reference_" << (transposed ? "nk" : "kn")
           << (constant ? "_const" : "") << "(const __grid_constant__ "
           << problemType(element, 1, 1, transposed, constant, 1, 0, 0)
           << " problem, double *out, bool tf32) {\n  gemmReference(problem, out, tf32);\n}\n";
  text << "}\n";
  return {std::string("gemm_reference_") + elementName(element), text.str()};
}

std::vector<KernelText> allKernels(bool withTimings) {
  std::vector<KernelText> kernels;
  std::set<std::string> seen;
  auto add = [&](KernelText kernel) {
    if (seen.insert(kernel.name).second)
      kernels.push_back(std::move(kernel));
  };
  for (Element element : {Element::kHalf, Element::kBfloat16, Element::kFloat})
    add(gemmReferenceText(element));
  for (const GemmCase &c : gemmChecks())
    add(c.variant.kernel());
  if (withTimings)
    for (const GemmCase &c : gemmTimings())
      add(c.variant.kernel());
  return kernels;
}

} // namespace smelt::kernel_tests
