#include "tools/smelt/onnxruntime.h"

#include "runtime/text.h"
#include "tools/smelt/temporary_file.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

namespace smelt::tools {

// How the script ends.
constexpr int kMissing = 10, kWrongTypes = 11, kFailed = 12;

/// Arguments: the model, a .npz of inputs by their names, and where the outputs go, by their numbers.
/// What it prints is the version, or what went wrong.
static constexpr const char *kScript = R"python(
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # nothing of the working directory
import ctypes, zipfile
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: ends where smelt does

def end(code, text):
    print(text)
    sys.exit(code)

try:
    import numpy
    import onnxruntime
except ImportError as error:
    end(10, error)

TYPES = {"float", "float16", "double", "bool"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}

def run(model, inputs, outputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for value in [*session.get_inputs(), *session.get_outputs()]:
        if value.type not in {f"tensor({kind})" for kind in TYPES}:
            end(11, f"'{value.name}' is {value.type}")
    with numpy.load(inputs) as given:
        results = session.run(None, {name: given[name] for name in given.files})
    with zipfile.ZipFile(outputs, "w") as archive:
        for number, result in enumerate(results):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, numpy.ascontiguousarray(result).reshape(result.shape))

try:
    run(*sys.argv[1:])
except Exception as error:
    end(12, error)
print(f"ONNX Runtime {onnxruntime.__version__}, CPUExecutionProvider")
)python";

static std::string contents(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  return file ? (*file)->getBuffer().trim().str() : "";
}

static Status failure(int code, const std::string &python, const std::string &said) {
  if (code == kMissing)
    return Status(StatusCode::kEnvironment,
                  joinText("--against onnxruntime runs Python's package, which ", python,
                           " lacks: ", said,
                           "; install it (pip install onnxruntime), or put a "
                           "python3 that has it first in PATH"));
  if (code == kWrongTypes)
    return Status(StatusCode::kUsage,
                  joinText("--against onnxruntime passes NumPy's types alone: ", said));
  return Status(StatusCode::kRunFailed, joinText("ONNX Runtime does not run the model: ", said));
}

static Result<std::vector<Array>> readOutputs(const std::string &path,
                                              const std::vector<Port> &ports) {
  SMELT_ASSIGN_OR_RETURN(NpzFile file, NpzFile::open(path));
  if (file.names().size() != ports.size())
    return Status(StatusCode::kRunFailed, joinText("ONNX Runtime gives ", file.names().size(),
                                                   " outputs, the model has ", ports.size()));
  std::vector<Array> outputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(Array output, file.read(std::to_string(i)));
    if (output.type != ports[i].type)
      return Status(StatusCode::kRunFailed,
                    joinText("ONNX Runtime gives output '", ports[i].name, "' as ",
                             typeName(output.type), ", the model says ", typeName(ports[i].type)));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<OnnxRuntimeRun> runOnnxRuntime(const std::string &model, std::span<const NamedArray> inputs,
                                      const std::vector<Port> &outputs) {
  auto python = llvm::sys::findProgramByName("python3");
  if (!python)
    return Status(StatusCode::kEnvironment,
                  "--against onnxruntime runs Python's package: there is no python3 in PATH");
  SMELT_ASSIGN_OR_RETURN(TemporaryFile given, TemporaryFile::create("npz"));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile results, TemporaryFile::create("npz"));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile said, TemporaryFile::create("txt"));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile errors, TemporaryFile::create("txt"));
  SMELT_RETURN_IF_ERROR(writeNpz(given.path(), inputs));
  llvm::StringRef arguments[] = {*python, "-c", kScript, model, given.path(), results.path()};
  std::optional<llvm::StringRef> streams[] = {"", said.path(), errors.path()};
  std::string problem;
  int code = llvm::sys::ExecuteAndWait(*python, arguments, std::nullopt, streams, 0, 0, &problem);
  if (code == kMissing || code == kWrongTypes || code == kFailed)
    return failure(code, *python, contents(said.path()));
  if (code != 0)
    return failure(code, *python,
                   joinText("its process ended with ", code, problem.empty() ? "" : ", ", problem,
                            "\n", contents(errors.path())));
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> arrays, readOutputs(results.path(), outputs));
  return OnnxRuntimeRun{contents(said.path()), std::move(arrays)};
}

} // namespace smelt::tools
