// The split reductions and shapes of the kernel tests.
#include "tests/kernels/variants.h"

#include <sstream>

namespace smelt::kernel_tests {

KernelText ReductionVariant::kernel() const {
  const char *type = elementName(element), *op = takesLargest ? "Max" : "Sum";
  std::ostringstream name, text;
  name << "split_reduction_" << type << "_" << op << "_" << width;
  text << "#include \"reduction_problem.cuh\"\nnamespace smelt {\n"
       << "using Arguments = ReductionTestArguments<" << type << ">;\n"
       << "extern \"C\" __global__ void __launch_bounds__(" << kThreads
       << ") parts(const __grid_constant__ Arguments arguments) {\n  reduceParts<" << kThreads
       << ", " << width << ">(ReductionTestParts<" << type << ", " << op << ", " << width
       << ">{arguments}, arguments.columns);\n}\n"
       << "extern \"C\" __global__ void __launch_bounds__(" << kCombiningThreads
       << ") combination(const __grid_constant__ Arguments arguments) {\n  combineParts<"
       << kCombiningThreads << ">(ReductionTestCombination<" << type << ", " << op
       << ">{arguments}, arguments.parts);\n}\n}\n";
  KernelText result;
  result.name = name.str();
  result.text = text.str();
  result.threads = kThreads;
  return result;
}

std::vector<ReductionCase> reductionChecks() {
  std::vector<ReductionCase> cases;
  for (Element element : {Element::kHalf, Element::kBfloat16, Element::kFloat})
    for (bool takesLargest : {false, true})
      for (int width = 16 / elementBytes(element); width >= 1; width /= 2)
        // Rows, columns, parts: one part; more parts than vectors, some of them empty; uneven parts;
        // more parts than the combining block has threads; whole rounds of the unrolled loop.
        cases.push_back({{element, takesLargest, width},
                         {{1, width, 1},
                          {5, 100 * width, 1},
                          {3, 12 * width, 37},
                          {7, 10007 * width, 13},
                          {1, 30011 * width, 528},
                          {2, 16 * 1024 * width, 16}}});
  return cases;
}

} // namespace smelt::kernel_tests
