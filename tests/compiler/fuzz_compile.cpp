// Fuzzing from bytes to CUDA text: whatever a file holds, compiling it for shapes that it takes ends with a report of what is
// wrong with it or with kernels for every fusion, never with a defect's.
#include "codegen/compile.h"
#include "compiler/model.h"
#include "tests/support/fuzz_choice.h"
#include "tests/support/memory_file.h"

using namespace smelt;
using namespace smelt::compiler;

/// Each open dimension stays open, or gets an extent that suits a kernel or just misses to.
static NamedShapes chooseShapes(const Signature &signature, test::FuzzChoice &choose) {
  constexpr int64_t kExtents[] = {0, 1, 2, 3, 4, 5, 8, 17, 32, 64, 100};
  std::map<std::string, int64_t> symbols;
  NamedShapes shapes;
  for (const Port &input : signature.inputs)
    for (const Extent &extent : input.shape) {
      int64_t chosen = choose.one({0, 1}) ? kAnyExtent : choose.one(kExtents);
      chosen = symbols.emplace(extent.text, chosen).first->second;
      shapes[input.name].push_back(extent.isSymbol() ? chosen : kAnyExtent);
    }
  return shapes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::MemoryFile file({data, size});
  test::FuzzChoice choose({data, size});
  ModelOptions options;
  options.path = file.path();
  Result<std::unique_ptr<Model>> model = Model::import(options);
  if (model.isOk() && choose.one({0, 1})) {
    options.shapes = chooseShapes((*model)->signature(), choose);
    model = Model::import(options);
  }
  test::requireReport(model.status());
  if (!model.isOk())
    return 0;
  Status fused = (*model)->fuse({});
  test::requireReport(fused);
  if (!fused.isOk())
    return 0;
  auto kernels = codegen::generateKernels((*model)->module(), choose.one({"sm_90a", "sm_80"}),
                                          {.tf32 = choose.one({0, 1}) != 0});
  test::requireReport(kernels.status());
  return 0;
}
