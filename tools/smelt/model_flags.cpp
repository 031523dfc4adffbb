#include "tools/smelt/model_flags.h"

#include "runtime/text.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/interrupts.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/npz.h"
#include "tools/smelt/report.h"
#include "tools/smelt/test_data.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <unistd.h>

namespace smelt::tools {

static std::optional<int64_t> parseExtent(std::string_view text) {
  if (text == "?")
    return kAnyExtent;
  int64_t extent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber && extent >= 0 ? std::optional(extent) : std::nullopt;
}

static std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    size_t cross = text.find('x');
    std::optional<int64_t> extent = parseExtent(text.substr(0, cross));
    bool endsInCross = cross == text.size() - 1;
    if (!extent || endsInCross)
      return std::nullopt;
    shape.push_back(*extent);
    text = cross == std::string_view::npos ? "" : text.substr(cross + 1);
  }
  return shape;
}

Result<NamedShapes> parseShapes(const std::vector<std::string> &flags) {
  NamedShapes shapes;
  for (const std::string &flag : flags) {
    size_t equals = flag.rfind('=');
    std::optional<std::vector<int64_t>> shape;
    if (equals != std::string::npos && equals > 0)
      shape = parseShape(std::string_view(flag).substr(equals + 1));
    if (!shape)
      return Status(StatusCode::kUsage, joinText("'", flag, "' is no shape; write NAME=1x128"));
    if (!shapes.emplace(flag.substr(0, equals), *shape).second)
      return Status(StatusCode::kUsage,
                    joinText("the shape of '", flag.substr(0, equals), "' is given twice"));
  }
  return shapes;
}

Result<ModelOptions> modelOptions(const ModelFlags &flags) {
  ModelOptions options;
  options.path = flags.path;
  SMELT_ASSIGN_OR_RETURN(options.shapes, parseShapes(flags.shapes));
  SMELT_ASSIGN_OR_RETURN(options.runShapes, parseShapes(flags.runShapes));
  SMELT_ASSIGN_OR_RETURN(options.smallest, parseShapes(flags.minShapes));
  SMELT_ASSIGN_OR_RETURN(options.largest, parseShapes(flags.maxShapes));
  options.randomWeights = flags.randomWeights;
  options.onActivity = [](const std::string &what) { setActivity(oneLine(what)); };
  options.repairTypes = flags.repairTypes;
  options.refit = flags.refit;
  options.exposesAll = flags.exposesAll;
  options.onDiagnostic = [path = flags.path, isSilent = flags.isSilent](const Problem &problem) {
    if (!problem.isError && !isSilent) // errors become the command's own
      note("warning: " + problemText(problem, path));
  };
  return options;
}

std::shared_ptr<ProgressLine> showReading(ModelOptions &options) {
  auto line = std::make_shared<ProgressLine>();
  options.onRead = [line](uint64_t done, uint64_t total) {
    line->showBytes("reading weights", done, total);
  };
  options.onDiagnostic = [line, say = options.onDiagnostic](const Problem &problem) {
    line->clear();
    say(problem);
  };
  return line;
}

Result<std::optional<Array>> readValue(const std::vector<std::string> &flags,
                                       const std::string &name, size_t number) {
  for (const std::string &flag : flags) {
    if (flag.starts_with("@") && isNpz(flag)) {
      SMELT_ASSIGN_OR_RETURN(NpzFile file, NpzFile::open(flag.substr(1)));
      if (llvm::is_contained(file.names(), name)) {
        SMELT_ASSIGN_OR_RETURN(Array array, file.read(name));
        return std::optional(std::move(array));
      }
    } else if (flag.starts_with("@")) {
      SMELT_ASSIGN_OR_RETURN(TestData data, readTestData(flag.substr(1)));
      if (number < data.inputs.size())
        return std::optional(std::move(data.inputs[number]));
    } else if (flag.starts_with(name + "=@")) {
      SMELT_ASSIGN_OR_RETURN(Array array, readArray(flag.substr(name.size() + 2), name));
      return std::optional(std::move(array));
    }
  }
  return std::optional<Array>();
}

static Status checkValueFlags(const std::vector<std::string> &flags) {
  for (const std::string &flag : flags)
    if (!flag.starts_with("@") && (flag.find("=@") == std::string::npos || flag.starts_with("=")))
      return Status(
          StatusCode::kUsage,
          joinText("'", flag, "' is no value; write NAME=@FILE.npy, @FILE.npz or @FOLDER"));
  return {};
}

Status giveValues(ModelOptions &options, const std::vector<std::string> &flags, Status &unread) {
  SMELT_RETURN_IF_ERROR(checkValueFlags(flags));
  if (flags.empty())
    return {};
  options.valueOf = [&flags, &unread](const std::string &name,
                                      size_t number) -> std::optional<InputValue> {
    Result<std::optional<Array>> value = readValue(flags, name, number);
    if (!value.isOk())
      unread = value.status();
    if (!value.isOk() || !*value)
      return std::nullopt;
    const Array &array = **value;
    const char *bytes = reinterpret_cast<const char *>(array.bytes.data());
    return InputValue{array.type, array.shape, std::string(bytes, array.bytes.size())};
  };
  options.shapeOf = [&flags](const std::string &name,
                             size_t number) -> std::optional<std::vector<int64_t>> {
    Result<std::optional<Array>> value = readValue(flags, name, number);
    return value.isOk() && *value ? std::optional((*value)->shape) : std::nullopt;
  };
  return {};
}

/// What `read` makes of the flags.
static Result<std::unique_ptr<Model>>
readModel(const ModelFlags &flags,
          llvm::function_ref<Result<std::unique_ptr<Model>>(const ModelOptions &)> read) {
  SMELT_ASSIGN_OR_RETURN(ModelOptions options, modelOptions(flags));
  Status unread;
  SMELT_RETURN_IF_ERROR(giveValues(options, flags.values, unread));
  std::shared_ptr<ProgressLine> line = showReading(options);
  Result<std::unique_ptr<Model>> model = read(options);
  line->clear();
  SMELT_RETURN_IF_ERROR(unread);
  return model;
}

Result<std::unique_ptr<Model>> importModel(const ModelFlags &flags) {
  Result<std::unique_ptr<Model>> model = readModel(flags, Model::import);
  if (model.isOk() && !flags.isSilent)
    for (const auto &[name, number] : (*model)->signature().fixed)
      note(joinText("input '", name, "' is a constant: the model is compiled for the value given"));
  return model;
}

Result<std::unique_ptr<Model>> reopenModel(const ModelFlags &flags, const std::string &ir) {
  return readModel(flags, [&](const ModelOptions &options) { return Model::reopen(options, ir); });
}

Status fuse(Model &model, FuseOptions options) {
  options.reproducer = joinText("smelt-reproducer-", getpid(), ".mlir");
  options.onPasses = setLastWords;
  ProgressLine line;
  options.progress = [&](const Progress &progress) {
    if (progress.total > 1) // others are over at once
      line.show("measuring what 16 bits would cost", progress.done, progress.total);
    return true;
  };
  return model.fuse(options);
}

Status build(Model &model, const BuildFlags &flags, const std::string &path) {
  ProgressLine line;
  PlanOptions options;
  options.architectures = flags.architectures;
  options.tf32 = flags.precision == FloatPrecision::tf32;
  options.tuning = flags.tuning;
  options.cacheDirectory = cacheDirectory();
  options.nvrtcPath = nvrtcPath();
  options.compiled = flags.compiled;
  options.given = flags.given;
  options.progress = [&](const Progress &progress) {
    if (progress.phase == "weights")
      line.showBytes("writing weights", progress.done, progress.total);
    else
      line.show(joinText("compiling ", progress.phase), progress.done, progress.total);
    return true;
  };
  return compiler::buildPlan(model, options, path);
}

} // namespace smelt::tools
