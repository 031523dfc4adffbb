// smelt trtexec: takes trtexec's flags and prints its figures in its words, for scripts and hands that know it.
#include "runtime/text.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"
#include "tools/smelt/trtexec_flags.h"
#include "tools/smelt/trtexec_report.h"

#include "codegen/compile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>

namespace smelt::tools {

static FloatPrecision precisionOf(const TrtexecFlags &flags) {
  if (flags.fp16 || flags.best)
    return FloatPrecision::fp16;
  if (flags.bf16)
    return FloatPrecision::bf16;
  return flags.noTf32 || flags.stronglyTyped ? FloatPrecision::fp32 : FloatPrecision::tf32;
}

static bool isPercentile(const std::string &text) {
  double percent = 0;
  return llvm::to_float(text, percent) && percent > 0 && percent <= 100;
}

static bool isDuration(const std::string &text) {
  double seconds = 0;
  return llvm::to_float(text, seconds) && seconds >= 0 && std::isfinite(seconds);
}

static Status checkFlags(const TrtexecFlags &flags) {
  if (flags.onnx.empty() == flags.loadEngine.empty())
    return Status(StatusCode::kUsage, "give a model with --onnx=FILE or a plan with "
                                      "--loadEngine=FILE");
  if (!flags.loadEngine.empty() && !flags.saveEngine.empty())
    return Status(StatusCode::kUsage, "--saveEngine keeps what --onnx compiles");
  for (const std::string &percentile : flags.percentiles)
    if (!isPercentile(percentile))
      return Status(StatusCode::kUsage, joinText("'", percentile, "' is no percentile"));
  if (!isDuration(flags.duration))
    return Status(StatusCode::kUsage,
                  joinText("--duration: '", flags.duration, "' is no number of seconds"));
  return {};
}

/// Compiles the model to `path`; for the GPU that is there, or the usual one where none is needed.
static Status compile(const TrtexecFlags &flags, const std::string &path) {
  Result<std::string> architecture = deviceArchitecture(flags.device.number);
  if (!architecture.isOk() && !flags.skipInference)
    return architecture.status();
  if (!architecture.isOk()) {
    note(joinText("compiling for ", codegen::kDefaultArchitecture, ": ",
                  architecture.status().message()));
    architecture = std::string(codegen::kDefaultArchitecture);
  }
  ModelFlags model;
  model.path = flags.onnx;
  model.refit = flags.refit;
  SMELT_ASSIGN_OR_RETURN(model.shapes, shapesOfTrtexec(flags.shapes));
  SMELT_ASSIGN_OR_RETURN(model.minShapes, shapesOfTrtexec(flags.minShapes));
  SMELT_ASSIGN_OR_RETURN(model.maxShapes, shapesOfTrtexec(flags.maxShapes));
  if (!model.minShapes.empty() || !model.maxShapes.empty())
    model.shapes.clear(); // a range, of which --shapes is what runs
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> imported, importModel(model));
  SMELT_RETURN_IF_ERROR(refuseToReplace(imported->filePaths(), path));
  FuseOptions options;
  options.narrowing.to = precisionOf(flags);
  SMELT_RETURN_IF_ERROR(fuse(*imported, options));
  return build(*imported, {{*architecture}, precisionOf(flags)}, path);
}

/// Puts the bytes of the file in the place of the input's drawn values.
static Status loadInput(const std::string &flag, const Signature &signature,
                        std::vector<Array> &inputs) {
  size_t colon = flag.find(':');
  std::string name = flag.substr(0, colon);
  size_t index = 0;
  while (index < signature.inputs.size() && signature.inputs[index].name != name)
    ++index;
  if (colon == std::string::npos)
    return Status(StatusCode::kUsage, joinText("'", flag, "' is no input; write NAME:FILE"));
  if (index == signature.inputs.size())
    return unknownInput(signature, name);
  std::string path = flag.substr(colon + 1);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return Status(StatusCode::kUsage,
                  joinText(path, " cannot be read: ", file.getError().message()));
  std::vector<std::byte> &bytes = inputs[index].bytes;
  if ((*file)->getBufferSize() != bytes.size())
    return Status(StatusCode::kUsage,
                  joinText(path, " has ", (*file)->getBufferSize(), " bytes, input '", name, "' ",
                           shapeText(inputs[index].shape), " takes ", bytes.size()));
  std::memcpy(bytes.data(), (*file)->getBufferStart(), bytes.size());
  return {};
}

static Result<std::vector<Array>> inputsOf(const TrtexecFlags &flags, const Signature &signature) {
  InputFlags given;
  const auto &shapes = flags.shapes.empty() ? flags.optShapes : flags.shapes;
  SMELT_ASSIGN_OR_RETURN(given.shapes, shapesOfTrtexec(shapes));
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(signature, given));
  for (const std::string &flag : flags.loadInputs)
    SMELT_RETURN_IF_ERROR(loadInput(flag, signature, inputs.inputs));
  return std::move(inputs.inputs);
}

/// Measures the plan at `path`, and runs it where outputs are asked for.
static Status infer(const TrtexecFlags &flags, const std::string &path) {
  OpenModel model;
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(path, flags.device.number));
  model.cuda = session.get();
  model.session = std::move(session);
  print("[I] Selected Device: " + model.session->deviceName());
  const Signature &signature = model.session->signature();
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> inputs, inputsOf(flags, signature));
  MeasureOptions options{.seconds = std::stod(flags.duration),
                         .warmupSeconds = 1e-3 * static_cast<double>(flags.warmupMilliseconds),
                         .iterations = flags.iterations,
                         .streams = flags.streams};
  SMELT_ASSIGN_OR_RETURN(Measurement measured, measure(model, inputs, options));
  SMELT_RETURN_IF_ERROR(reportAsTrtexec(flags, measured));
  if (!flags.dumpOutput && flags.exportOutput.empty())
    return {};
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, model.session->run(inputs));
  return reportOutputs(flags, signature, outputs);
}

/// Compiles the plan at `path` where none is given, and measures it.
static Status compileAndInfer(const TrtexecFlags &flags, const std::string &path) {
  if (flags.loadEngine.empty())
    SMELT_RETURN_IF_ERROR(compile(flags, path));
  if (!flags.skipInference)
    SMELT_RETURN_IF_ERROR(infer(flags, path));
  print("&&&& PASSED smelt trtexec");
  return {};
}

static Status trtexec(const TrtexecFlags &flags) {
  SMELT_RETURN_IF_ERROR(checkFlags(flags));
  for (const std::string &ignored : flags.ignored)
    note(ignored);
  std::string path = flags.loadEngine.empty() ? flags.saveEngine : flags.loadEngine;
  if (!path.empty())
    return compileAndInfer(flags, path);
  SMELT_ASSIGN_OR_RETURN(TemporaryFile plan, TemporaryFile::create("plan"));
  return compileAndInfer(flags, plan.path());
}

void addTrtexec(CommandLine &line) {
  auto flags = std::make_shared<TrtexecFlags>();
  Command command = line.add("trtexec", "Take trtexec's flags, and print its figures in its words",
                             [flags] { return trtexec(*flags); });
  addTrtexecFlags(command, *flags);
  command.footer("examples:\n"
                 "  smelt trtexec --onnx=model.onnx --saveEngine=model.plan --fp16\n"
                 "  smelt trtexec --loadEngine=model.plan --shapes=input_ids:8x512 --dumpProfile");
}

} // namespace smelt::tools
