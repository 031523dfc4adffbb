// smelt run: one inference, from files or random inputs, with what came out.
#include "compiler/folder.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/npy.h"
#include "tools/smelt/npz.h"
#include "tools/smelt/open.h"
#include "tools/smelt/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace smelt::tools {

namespace {

struct Flags {
  OpenFlags open;
  InputFlags inputs;
  std::vector<std::string> outputs;
  std::string outputDir;
  std::optional<double> tolerance;
  bool json = false;
};

/// What an output holds, at a glance.
struct Summary {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double mean = 0;
  size_t nan = 0;
};

} // namespace

static Summary summarize(const Array &array) {
  Summary summary;
  for (size_t i = 0; i < array.elementCount(); ++i) {
    double value = array.at(i);
    summary.nan += std::isnan(value);
    summary.smallest = std::min(summary.smallest, value);
    summary.largest = std::max(summary.largest, value);
    summary.mean += value / static_cast<double>(array.elementCount());
  }
  return summary;
}

/// The name of an output with `_` for what no file's name should hold: a `/`, control characters.
static std::string fileNameOf(const Port &output) {
  std::string name = output.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; },
      '_');
  return name;
}

/// Of "@FILE.npz", which stands for all outputs; "" of other flags.
static std::string archiveOf(const std::string &flag) {
  return flag.starts_with("@") && isNpz(flag) ? flag.substr(1) : "";
}

/// Output name -> file, from --output NAME=@FILE.npy and --output-dir.
static Result<std::map<std::string, std::string>> outputFiles(const Flags &flags,
                                                              const Signature &signature) {
  std::map<std::string, std::string> files;
  std::set<std::string> taken;
  for (const Port &output : signature.outputs) {
    if (flags.outputDir.empty())
      break;
    std::string name = fileNameOf(output);
    if (!taken.insert(name).second)
      return Status(StatusCode::kUsage, joinText("two outputs would be written to ", name,
                                                 ".npy; name their files with --output"));
    files[output.name] = flags.outputDir + "/" + name + ".npy";
  }
  for (const std::string &flag : flags.outputs) {
    if (!archiveOf(flag).empty())
      continue;
    size_t at = flag.find("=@");
    std::string name = flag.substr(0, at);
    auto isAsked = [&](const Port &output) { return output.name == name; };
    if (at == std::string::npos)
      return Status(StatusCode::kUsage,
                    joinText("'", flag, "' is no output; write NAME=@FILE.npy or @FILE.npz"));
    if (std::none_of(signature.outputs.begin(), signature.outputs.end(), isAsked))
      return Status(StatusCode::kUsage, joinText("the model has no output '", name, "'"));
    files[name] = flag.substr(at + 2);
  }
  return files;
}

static Status writeOutputs(const Flags &flags, const std::map<std::string, std::string> &files,
                           const Signature &signature, const std::vector<Array> &outputs) {
  if (!flags.outputDir.empty())
    SMELT_RETURN_IF_ERROR(createFolder(flags.outputDir));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (auto file = files.find(signature.outputs[i].name); file != files.end())
      SMELT_RETURN_IF_ERROR(writeNpy(file->second, outputs[i]));
  std::vector<NamedArray> named;
  for (size_t i = 0; i < outputs.size(); ++i)
    named.emplace_back(signature.outputs[i].name, &outputs[i]);
  for (const std::string &flag : flags.outputs)
    if (std::string archive = archiveOf(flag); !archive.empty())
      SMELT_RETURN_IF_ERROR(writeNpz(archive, named));
  return {};
}

static Status checkFiles(const std::map<std::string, std::string> &files, const Flags &flags,
                         const OpenModel &model) {
  std::vector<std::string> own = {flags.open.model.path};
  if (model.model)
    own = model.model->filePaths();
  for (const auto &[output, file] : files)
    SMELT_RETURN_IF_ERROR(refuseToReplace(own, file));
  for (const std::string &flag : flags.outputs)
    if (std::string archive = archiveOf(flag); !archive.empty())
      SMELT_RETURN_IF_ERROR(refuseToReplace(own, archive));
  return {};
}

/// Compares with the outputs of a test data folder; floats within `limit` where there is one.
static Status checkExpected(std::optional<double> limit, const Signature &signature,
                            const std::vector<Array> &outputs, const std::vector<Array> &expected,
                            llvm::json::Array &report) {
  std::string failures;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Port &port = signature.outputs[i];
    if (outputs[i].shape != expected[i].shape || outputs[i].type != expected[i].type) {
      failures += joinText("\noutput '", port.name, "' is ", typeName(outputs[i].type), " ",
                           shapeText(outputs[i].shape), ", expected ", typeName(expected[i].type),
                           " ", shapeText(expected[i].shape));
      continue;
    }
    ErrorStatistics error = compareTensors(outputs[i], expected[i]);
    double tolerance = foreignTolerance(port.type);
    if (limit && tolerance > 0)
      tolerance = *limit;
    report.push_back(llvm::json::Object{{"name", port.name},
                                        {"relative_norm", jsonNumber(error.relativeNorm)},
                                        {"max_absolute", jsonNumber(error.maxAbsolute)},
                                        {"tolerance", tolerance}});
    if (!(error.relativeNorm <= tolerance))
      failures +=
          joinText("\noutput '", port.name, "': relative error ",
                   scientificText(error.relativeNorm), " exceeds ", scientificText(tolerance),
                   "; at ", positionText(error.worstIndex, expected[i].shape), " it is ",
                   shortText(error.worstOutput), ", expected ", shortText(error.worstReference));
  }
  if (failures.empty())
    return {};
  return Status(StatusCode::kAccuracy, "the outputs are not those of the test data:" + failures);
}

static Status report(const Flags &flags, const Session &session, const std::vector<Array> &outputs,
                     const std::map<std::string, std::string> &files, llvm::json::Array expected) {
  llvm::json::Array list;
  Table table({"output", "type", "min", "max", "mean", "file"});
  std::string nan;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = session.signature().outputs[i];
    Summary summary = summarize(outputs[i]);
    auto file = files.find(port.name);
    std::string path = file == files.end() ? "" : file->second;
    table.add({port.name, joinText(typeName(port.type), " ", shapeText(outputs[i].shape)),
               shortText(summary.smallest), shortText(summary.largest), shortText(summary.mean),
               path});
    list.push_back(llvm::json::Object{{"name", port.name},
                                      {"type", std::string(typeName(port.type))},
                                      {"shape", llvm::json::Array(outputs[i].shape)},
                                      {"min", jsonNumber(summary.smallest)},
                                      {"max", jsonNumber(summary.largest)},
                                      {"mean", jsonNumber(summary.mean)},
                                      {"nan", static_cast<int64_t>(summary.nan)},
                                      {"file", path}});
    if (summary.nan)
      nan +=
          joinText(nan.empty() ? "" : "; ", "output '", port.name, "' holds ", summary.nan, " NaN");
  }
  if (flags.json) {
    printJson(llvm::json::Object{{"schema", "smelt.run/1"},
                                 {"model", flags.open.model.path},
                                 {"device", session.deviceName()},
                                 {"outputs", std::move(list)},
                                 {"expected", std::move(expected)}});
  } else {
    print("device: " + session.deviceName());
    table.print();
  }
  return nan.empty() ? Status() : Status(StatusCode::kAccuracy, nan);
}

static Status run(Flags flags) {
  SMELT_RETURN_IF_ERROR(
      nameShapes(flags.open.model.path, flags.inputs.dimensions, flags.inputs.shapes));
  flags.open.model.runShapes = flags.inputs.shapes;
  flags.open.model.values = flags.inputs.inputs;
  SMELT_ASSIGN_OR_RETURN(OpenModel model, openModel(flags.open));
  Session &session = *model.session;
  SMELT_ASSIGN_OR_RETURN(auto files, outputFiles(flags, session.signature()));
  SMELT_RETURN_IF_ERROR(checkFiles(files, flags, model));
  setActivity("reading and drawing the inputs");
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(session.signature(), flags.inputs));
  setActivity("running the model");
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, session.run(inputs.inputs));
  SMELT_RETURN_IF_ERROR(writeOutputs(flags, files, session.signature(), outputs));
  llvm::json::Array comparison;
  Status agreement =
      checkExpected(flags.tolerance, session.signature(), outputs, inputs.expected, comparison);
  Status finite = report(flags, session, outputs, files, std::move(comparison));
  return inputs.expected.empty() ? finite : agreement;
}

void addRun(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add("run", "Run a model once, on given or random inputs",
                             [flags] { return run(*flags); });
  addModel(command, "The .onnx or .plan file", flags->open);
  addInputs(command, flags->inputs);
  command.texts("--output", flags->outputs, "NAME=@FILE.npy|@FILE.npz",
                "File for an output, NAME=@FILE.npy (repeatable), or @FILE.npz for all of them");
  command.text("--output-dir", flags->outputDir,
               "Folder for all outputs, one NAME.npy each ('/' and zero bytes become '_')");
  command.tolerance("--tolerance", flags->tolerance,
                    "Largest ||out - ref|| / ||ref|| of floats against a folder's outputs");
  addJson(command, flags->json);
  command.footer(
      "examples:\n"
      "  smelt run model.onnx --shape input_ids=1x128\n"
      "  smelt run model.plan --input ids=@ids.npy --output logits=@logits.npy\n"
      "  smelt run model.onnx --input @inputs.npz --output @outputs.npz\n"
      "  smelt run model.onnx --input @test_data_set_0      compares with the folder's outputs");
}

} // namespace smelt::tools
