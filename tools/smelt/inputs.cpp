#include "tools/smelt/inputs.h"

#include "compiler/resolve_shapes.h"
#include "runtime/text.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/npz.h"
#include "tools/smelt/test_data.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace smelt::tools {

static constexpr int64_t kDefaultBound = 2;

static Status usage(const std::string &message) { return Status(StatusCode::kUsage, message); }

/// The generator of one input: it depends on the seed and the name, not on the other inputs.
static std::mt19937_64 generatorFor(const std::string &name, uint64_t seed) {
  std::vector<uint32_t> words = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  words.insert(words.end(), name.begin(), name.end());
  std::seed_seq sequence(words.begin(), words.end());
  return std::mt19937_64(sequence);
}

Result<Array> drawInput(const Port &port, const std::vector<int64_t> &shape, uint64_t seed) {
  SMELT_ASSIGN_OR_RETURN(Array array, Array::zeros(port.type, shape));
  std::mt19937_64 generator = generatorFor(port.name, seed);
  std::normal_distribution<double> normal;
  int64_t bound = std::max<int64_t>(port.bound.value_or(kDefaultBound), 1);
  std::uniform_int_distribution<int64_t> index(0, bound - 1);
  bool isScale = port.type == ElementType::f8e8m0; // which have no sign
  for (size_t i = 0; i < array.elementCount(); ++i) {
    double value = isFloat(port.type) ? normal(generator) : static_cast<double>(index(generator));
    array.set(i, isScale ? std::abs(value) : value);
  }
  return array;
}

static Status checkType(const Port &port, const Array &array, const std::string &source) {
  if (array.type == port.type)
    return {};
  return usage(joinText("input '", port.name, "' is ", typeText(port), ", but ", source, " holds ",
                        typeName(array.type)));
}

/// Bytes that a file of a small type holds are its codes.
static void readAsCodes(const Port &port, Array &array) {
  bool isBytes = array.type == ElementType::u8 || array.type == ElementType::i8;
  if (!isBytes || !isSmall(port.type))
    return;
  array.type = port.type;
  for (std::byte &element : array.bytes)
    element &= std::byte{codeMask(port.type)};
}

using NamedArrays = std::map<std::string, Array>;

namespace {

/// One input, and the file that it comes from.
struct GivenFile {
  std::string name, path;
};

} // namespace

/// What "name=@file" and "@file.npz" flags name.
static Result<std::vector<GivenFile>> givenFiles(const std::vector<std::string> &flags) {
  std::vector<GivenFile> files;
  for (const std::string &flag : flags) {
    size_t at = flag.find("=@");
    if (flag.starts_with("@")) {
      SMELT_ASSIGN_OR_RETURN(NpzFile file, NpzFile::open(flag.substr(1)));
      for (const std::string &name : file.names())
        files.push_back({name, flag.substr(1)});
    } else if (at == std::string::npos || at == 0) {
      return usage(
          joinText("'", flag, "' is no input; write NAME=@FILE.npy, @FILE.npz or @FOLDER"));
    } else {
      files.push_back({flag.substr(0, at), flag.substr(at + 2)});
    }
  }
  return files;
}

/// Reads "name=@file" and "@file.npz" flags.
static Result<NamedArrays> readFiles(const Signature &signature,
                                     const std::vector<std::string> &flags) {
  NamedArrays arrays;
  SMELT_ASSIGN_OR_RETURN(std::vector<GivenFile> files, givenFiles(flags));
  for (const GivenFile &file : files) {
    const std::string &name = file.name, &path = file.path;
    auto isNamed = [&](const auto &fixed) { return fixed.first == name; };
    if (std::any_of(signature.fixed.begin(), signature.fixed.end(), isNamed))
      continue;
    auto port = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                             [&](const Port &input) { return input.name == name; });
    if (port == signature.inputs.end())
      return unknownInput(signature, name);
    SMELT_ASSIGN_OR_RETURN(Array array, readArray(path, name));
    readAsCodes(*port, array);
    SMELT_RETURN_IF_ERROR(checkType(*port, array, path));
    if (!arrays.emplace(name, std::move(array)).second)
      return usage(joinText("input '", name, "' is given twice"));
  }
  return arrays;
}

/// The arrays of a test data folder, by name; `expected` receives its outputs.
static Result<NamedArrays> readFolder(const Signature &signature, const std::string &folder,
                                      std::vector<Array> &expected) {
  SMELT_ASSIGN_OR_RETURN(TestData data, readTestData(folder));
  size_t wanted = signature.inputs.size() + signature.fixed.size(), next = 0;
  if (data.inputs.size() != wanted)
    return usage(
        joinText(folder, " has ", data.inputs.size(), " inputs, the model takes ", wanted));
  NamedArrays arrays;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    auto isNumbered = [&](const auto &fixed) { return fixed.second == i; };
    if (std::any_of(signature.fixed.begin(), signature.fixed.end(), isNumbered))
      continue;
    const Port &port = signature.inputs[next++];
    SMELT_RETURN_IF_ERROR(checkType(port, data.inputs[i], joinText(folder, "/input_", i, ".pb")));
    arrays.emplace(port.name, std::move(data.inputs[i]));
  }
  if (!data.outputs.empty() && data.outputs.size() != signature.outputs.size())
    return usage(joinText(folder, " has ", data.outputs.size(), " outputs, the model gives ",
                          signature.outputs.size()));
  expected = std::move(data.outputs);
  return arrays;
}

static bool isFolderFlag(const std::string &flag) { return flag.starts_with("@") && !isNpz(flag); }

static Result<NamedArrays> readGiven(const Signature &signature,
                                     const std::vector<std::string> &flags,
                                     std::vector<Array> &expected) {
  if (std::none_of(flags.begin(), flags.end(), isFolderFlag))
    return readFiles(signature, flags);
  if (flags.size() > 1)
    return usage("a folder of test data gives all inputs; give no other --input beside it");
  return readFolder(signature, flags[0].substr(1), expected);
}

/// The shapes of given arrays count as if they were asked for; a --shape beside them must agree.
static Status addShapes(const NamedArrays &arrays, NamedShapes &shapes) {
  for (const auto &[name, array] : arrays) {
    auto [entry, isNew] = shapes.emplace(name, array.shape);
    if (!isNew && entry->second != array.shape)
      return usage(joinText("--shape says ", shapeText(entry->second), " for '", name,
                            "', but its file holds ", shapeText(array.shape)));
  }
  return {};
}

Result<RunInputs> makeInputs(const Signature &signature, const InputFlags &flags) {
  RunInputs run;
  SMELT_ASSIGN_OR_RETURN(NamedShapes shapes, parseShapes(flags.shapes));
  SMELT_ASSIGN_OR_RETURN(NamedArrays arrays, readGiven(signature, flags.inputs, run.expected));
  SMELT_RETURN_IF_ERROR(addShapes(arrays, shapes));
  SMELT_ASSIGN_OR_RETURN(auto resolved, resolveShapes(signature, shapes));
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const Port &port = signature.inputs[i];
    if (auto given = arrays.find(port.name); given != arrays.end()) {
      run.inputs.push_back(std::move(given->second));
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(Array drawn, drawInput(port, resolved[i], flags.seed));
    run.inputs.push_back(std::move(drawn));
  }
  return run;
}

} // namespace smelt::tools
