// Fuzzing of what a user gives `smelt run` beside the model: .npy and .npz files, ONNX test data, and the texts of shape and input flags.
// The first byte of the input says which; each ends with the arrays that the model takes or with a usage error.
#include "tests/support/fuzz_choice.h"
#include "tests/support/memory_file.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/npy.h"
#include "tools/smelt/npz.h"
#include "tools/smelt/test_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

using namespace smelt;
using namespace smelt::tools;

/// What was read is whole: as many bytes as its shape says.
static void checkArray(const Result<Array> &array) {
  if (array.isOk())
    test::require(byteCount(array->type, array->shape) == array->bytes.size(),
                  "an array's bytes are not its shape's");
  else
    test::require(array.status().code() == StatusCode::kUsage, array.status().message());
}

static void readArrayFile(std::span<const uint8_t> bytes) {
  test::MemoryFile file(bytes);
  checkArray(readNpy(file.path()));
}

static void readArchive(std::span<const uint8_t> bytes) {
  test::MemoryFile file(bytes);
  Result<NpzFile> archive = NpzFile::open(file.path());
  if (!archive.isOk())
    return test::require(archive.status().code() == StatusCode::kUsage, archive.status().message());
  for (const std::string &name : archive->names())
    checkArray(archive->read(name));
}

/// A folder of one input.
static void readTestDataFolder(std::span<const uint8_t> bytes) {
  std::string folder = std::filesystem::temp_directory_path() / "smelt_fuzz_XXXXXX";
  test::require(mkdtemp(folder.data()) != nullptr, "no folder for test data can be made");
  std::ofstream(folder + "/input_0.pb", std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  Result<TestData> data = readTestData(folder);
  std::filesystem::remove_all(folder);
  test::require(data.isOk() || data.status().code() == StatusCode::kUsage, data.status().message());
  for (size_t i = 0; data.isOk() && i < data->inputs.size(); ++i)
    checkArray(data->inputs[i]);
}

/// ids [n, 3] of rows, and x [n] of floats.
static Signature signatureOfTwo() {
  Signature signature;
  Extent n{"n", {}};
  signature.inputs.push_back({"ids", ElementType::i64, {n, {"3", 3}}, 10});
  signature.inputs.push_back({"x", ElementType::f32, {n}, {}});
  return signature;
}

/// Whether nothing is asked for that takes long to draw.
static bool isSmall(const NamedShapes &shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const auto &named) {
    return std::all_of(named.second.begin(), named.second.end(),
                       [](int64_t extent) { return extent <= 1 << 16; });
  });
}

/// Each line is a flag: of a shape, or of an input where it begins with '>'.
static void parseFlags(std::string_view text) {
  InputFlags flags;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    bool isInput = line.starts_with('>');
    (isInput ? flags.inputs : flags.shapes).push_back(line.substr(isInput));
  }
  Result<NamedShapes> shapes = parseShapes(flags.shapes);
  if (shapes.isOk() && !isSmall(*shapes))
    return;
  Result<RunInputs> inputs = makeInputs(signatureOfTwo(), flags);
  test::require(inputs.isOk() || inputs.status().code() == StatusCode::kUsage,
                inputs.status().message());
  if (inputs.isOk())
    test::require(inputs->inputs.size() == 2, "an input is missing");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  switch (data[0] % 4) {
  case 0:
    readArrayFile(rest);
    return 0;
  case 1:
    readTestDataFolder(rest);
    return 0;
  case 2:
    readArchive(rest);
    return 0;
  default:
    parseFlags({reinterpret_cast<const char *>(rest.data()), rest.size()});
    return 0;
  }
}
