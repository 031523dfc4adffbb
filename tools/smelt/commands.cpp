#include "tools/smelt/commands.h"

#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

CLI::Validator oneOf(const std::map<std::string, int> &values) {
  auto replace = [values](std::string &text) {
    if (auto known = values.find(text); known != values.end())
      return text = std::to_string(known->second), std::string();
    std::string names;
    for (const auto &[name, value] : values)
      names += (names.empty() ? "" : ", ") + name;
    return "'" + text + "' is none of " + names;
  };
  return CLI::Validator(replace, "");
}

/// Seeds are drawn from as they are: none is rounded or wrapped.
static CLI::Validator seedNumber() {
  auto check = [](const std::string &text) {
    uint64_t seed;
    return llvm::to_integer(text, seed, 10) ? std::string()
                                            : "'" + text + "' is no integer from 0 to 2^64 - 1";
  };
  return CLI::Validator(check, "");
}

void addJson(CLI::App &command, bool &json) {
  command.add_flag("--json", json, "Print the result as one JSON object");
}

void addRandomWeights(CLI::App &command, std::optional<uint64_t> &seed) {
  command
      .add_option("--random-weights", seed,
                  "Draw weights whose file is missing, by this seed (structure-only models)")
      ->check(seedNumber());
}

void addTf32(CLI::App &command, bool &tf32) {
  command.add_flag("--tf32", tf32,
                   "Let float32 products use tensor cores, at ten bits of mantissa");
}

void addModel(CLI::App &command, const char *takes, OpenFlags &flags) {
  static const std::map<std::string, int> kDevices = {
      {"auto", static_cast<int>(DeviceChoice::kAuto)},
      {"cpu", static_cast<int>(DeviceChoice::kCpu)},
      {"cuda", static_cast<int>(DeviceChoice::kCuda)}};
  command.add_option("model", flags.model.path, takes)->required();
  command
      .add_option("--device", flags.device,
                  "auto (cuda where there is a GPU), cpu (the interpreter) or cuda")
      ->transform(oneOf(kDevices))
      ->option_text("auto|cpu|cuda");
  addTf32(command, flags.tf32);
  addRandomWeights(command, flags.model.randomWeights);
}

void addInputs(CLI::App &command, InputFlags &flags) {
  command
      .add_option("--shape", flags.shapes,
                  "Shape of an input, NAME=1x128 (repeatable). Dimensions that none sets: 1 where "
                  "they lead a "
                  "shape, else 128")
      ->option_text("NAME=1x128")
      ->allow_extra_args(false);
  command
      .add_option("--input", flags.inputs,
                  "Value of an input, NAME=@FILE.npy (repeatable), or @FOLDER of ONNX test data")
      ->option_text("NAME=@FILE.npy|@FOLDER")
      ->allow_extra_args(false);
  command
      .add_option("--seed", flags.seed,
                  "Seed of the inputs that are not given: floats from N(0, 1), row indices "
                  "within their table, other integers from {0, 1}")
      ->check(seedNumber());
}

} // namespace smelt::tools
