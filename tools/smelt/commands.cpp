#include "tools/smelt/commands.h"

namespace smelt::tools {

void addJson(Command &command, bool &json) {
  command.flag("--json", json, "Print the result as one JSON object");
}

void addValues(Command &command, std::vector<std::string> &values) {
  command.texts("--value", values, "NAME=@FILE.npy|@FILE.npz|@FOLDER",
                "Value of an input that is compiled for where the model's structure depends on it, "
                "such as a list of axes (repeatable), @FILE.npz of several, or @FOLDER of ONNX "
                "test data");
}

void addMissing(Command &command, ModelFlags &flags) {
  command.seed(
      "--random-weights", [&flags](uint64_t value) { flags.randomWeights = value; },
      "Draw weights whose file is missing, by this seed (structure-only models)");
  command.flag("--repair-types", flags.repairTypes,
               "Insert the casts that an export in half precision lacks: floats that meet another "
               "float type become that of most inputs, or the narrower one; each is named");
}

void addPrecision(Command &command, FloatPrecision &precision) {
  command.choice(
      "--precision", precision,
      {{nameOf(FloatPrecision::fp32), FloatPrecision::fp32},
       {nameOf(FloatPrecision::tf32), FloatPrecision::tf32},
       {nameOf(FloatPrecision::fp16), FloatPrecision::fp16},
       {nameOf(FloatPrecision::bf16), FloatPrecision::bf16}},
      "fp32|tf32|fp16|bf16",
      "Of float32 values: fp32 (as the model says), tf32 (products at ten bits of "
      "mantissa), fp16 or bf16 (16 bits for all but what needs more); inputs and outputs "
      "keep their types");
}

void addDevice(Command &command, DeviceChoice &device) {
  auto take = [&device](const std::string &text) {
    Result<DeviceChoice> choice = parseDevice(text);
    if (choice.isOk())
      device = *choice;
    return choice.status().message();
  };
  command.parsed(
      "--device", take, "auto|cpu|cuda|N",
      "auto (cuda where there is a GPU), cpu (the interpreter), cuda, or a GPU's number");
}

void addDimensions(Command &command, std::vector<std::string> &dimensions) {
  command.texts("--dim", dimensions, "NAME=8",
                "Size of an open dimension in every input that has it, NAME=8 (repeatable)");
}

void addModel(Command &command, const char *takes, OpenFlags &flags) {
  command.argument("model", flags.model.path, takes);
  addDevice(command, flags.device);
  addPrecision(command, flags.precision);
  addMissing(command, flags.model);
}

void addInputs(Command &command, InputFlags &flags) {
  command.texts("--shape", flags.shapes, "NAME=1x128",
                "Shape of an input, NAME=1x128 (repeatable). Dimensions that none sets: 1 where "
                "they lead a shape, else 128");
  addDimensions(command, flags.dimensions);
  command.texts("--input", flags.inputs, "NAME=@FILE.npy|@FILE.npz|@FOLDER",
                "Value of an input, NAME=@FILE.npy (repeatable), @FILE.npz of several by their "
                "names, or @FOLDER of ONNX test data");
  command.seed(
      "--seed", [&flags](uint64_t value) { flags.seed = value; },
      "Seed of the inputs that are not given: floats from N(0, 1), row indices "
      "within their table, other integers from {0, 1}");
}

} // namespace smelt::tools
