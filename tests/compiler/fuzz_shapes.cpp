// Fuzzing of what a user says beside the model: shapes, limits and values of its inputs that may be of any rank, size and name.
// Import, shape inference and the passes end with a report or with a module, never with a defect's.
#include "compiler/model.h"
#include "tests/support/fuzz_choice.h"
#include "tests/support/memory_file.h"

#include <limits>

using namespace smelt;
using namespace smelt::compiler;

static int64_t chooseExtent(test::FuzzChoice &choose) {
  constexpr int64_t kUsual[] = {kAnyExtent, 0, 1, 2, 3, 4, 5, 7, 12, 128};
  constexpr int64_t kOdd[] = {int64_t{1} << 16, std::numeric_limits<int32_t>::max(),
                              int64_t{1} << 31, int64_t{1} << 32,
                              int64_t{1} << 62, std::numeric_limits<int64_t>::max()};
  return choose.below(8) == 0 ? choose.one(kOdd) : choose.one(kUsual);
}

/// Shapes for some inputs, mostly of the rank that they have.
static NamedShapes chooseShapes(const Signature &signature, test::FuzzChoice &choose) {
  NamedShapes shapes;
  for (const Port &input : signature.inputs) {
    if (choose.one({0, 1}))
      continue;
    std::vector<int64_t> &shape = shapes[input.name];
    shape.resize(choose.below(16) ? input.shape.size() : choose.below(9));
    for (int64_t &extent : shape)
      extent = chooseExtent(choose);
  }
  if (choose.below(32) == 0)
    shapes["no such input"] = {1, 2};
  return shapes;
}

/// Small integers, of a shape that may not be the input's.
static std::optional<InputValue> chooseValue(test::FuzzChoice &choose) {
  if (choose.below(4) == 0)
    return std::nullopt;
  constexpr int64_t kNumbers[] = {
      0, 1, 2, 3, -1, -2, int64_t{1} << 40, std::numeric_limits<int64_t>::min()};
  InputValue value;
  value.type = choose.below(8) ? ElementType::i64 : ElementType::i32;
  value.shape.assign(choose.below(2), static_cast<int64_t>(choose.below(5)));
  size_t count = value.shape.empty() ? 1 : static_cast<size_t>(value.shape[0]);
  for (size_t i = 0; i < count; ++i) {
    int64_t number = choose.one(kNumbers);
    value.bytes.append(reinterpret_cast<const char *>(&number), plan::elementBytes(value.type));
  }
  return value;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::MemoryFile file({data, size});
  test::FuzzChoice choose({data, size});
  ModelOptions options;
  options.path = file.path();
  options.randomWeights = choose.below(1000);
  options.valueOf = [&](const std::string &, size_t) { return chooseValue(choose); };
  Result<std::unique_ptr<Model>> model = Model::import(options);
  if (model.isOk()) {
    Signature signature = (*model)->signature();
    options.shapes = chooseShapes(signature, choose);
    options.runShapes = chooseShapes(signature, choose);
    options.smallest = chooseShapes(signature, choose);
    options.largest = chooseShapes(signature, choose);
    model = Model::import(options);
  }
  test::requireReport(model.status());
  if (!model.isOk())
    return 0;
  Status fused = (*model)->fuse({});
  test::requireReport(fused);
  return 0;
}
