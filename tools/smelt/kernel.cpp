// smelt kernel: one CUDA text of a dump, compiled alone.
#include "codegen/nvrtc.h"
#include "codegen/output_file.h"
#include "runtime/text.h"
#include "runtime/verify_cubin.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/report.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace smelt::tools {

namespace {
struct Flags {
  std::string path, headers, output;
  std::string arch = codegen::kDefaultArchitecture;
  bool json = false;
};
} // namespace

static Result<codegen::CompiledKernel> compileText(const Flags &flags) {
  auto text = llvm::MemoryBuffer::getFile(flags.path);
  if (!text)
    return Status(StatusCode::kUsage,
                  joinText(flags.path, " cannot be read: ", text.getError().message()));
  if (!flags.headers.empty() && !llvm::sys::fs::is_directory(flags.headers))
    return Status(StatusCode::kUsage, joinText("--headers: ", flags.headers, " is no folder"));
  if (mlir::failed(codegen::Target::named(flags.arch)))
    return Status(StatusCode::kUsage, joinText("unknown architecture '", flags.arch,
                                               "'; known are ", codegen::Target::names()));
  setActivity(joinText("compiling ", flags.path, " for ", flags.arch));
  auto nvrtc = codegen::Nvrtc::open(nvrtcPath());
  if (!nvrtc)
    return Status(StatusCode::kEnvironment, llvm::toString(nvrtc.takeError()));
  codegen::KernelText kernel{llvm::sys::path::stem(flags.path).str(), (*text)->getBuffer().str(),
                             flags.path};
  auto compiled = flags.headers.empty()
                      ? (*nvrtc)->compile(kernel, flags.arch)
                      : (*nvrtc)->compileWithHeaders(kernel, flags.arch, flags.headers);
  if (!compiled)
    return Status(StatusCode::kInvalidModel, llvm::toString(compiled.takeError()));
  return std::move(*compiled);
}

/// What the kernels of the text take: of PTX nothing is known yet.
static llvm::json::Array kernelsJson(const codegen::CompiledKernel &compiled,
                                     const std::string &arch) {
  llvm::json::Array kernels;
  std::span<const std::byte> code = std::as_bytes(std::span(compiled.code));
  if (codegen::Target::isPtx(arch) || !runtime::verifyCubin(code).isOk())
    return kernels;
  for (const std::string &entry : runtime::kernelsOf(code))
    if (auto resources = runtime::resourcesOf(code, entry))
      kernels.push_back(
          llvm::json::Object{{"entry", entry},
                             {"registers", static_cast<int64_t>(resources->registers)},
                             {"local_bytes", static_cast<int64_t>(resources->localBytes)}});
  return kernels;
}

static Status compileKernel(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(codegen::CompiledKernel compiled, compileText(flags));
  if (!flags.output.empty()) {
    bool isPtx = codegen::Target::isPtx(flags.arch); // which ends in a NUL
    SMELT_RETURN_IF_ERROR(codegen::writeText(
        isPtx ? llvm::StringRef(compiled.code).rtrim('\0').str() : compiled.code, flags.output));
  }
  llvm::json::Array kernels = kernelsJson(compiled, flags.arch);
  auto spilled = static_cast<int64_t>(compiled.spillBytes);
  if (flags.json) {
    printJson(llvm::json::Object{{"schema", "smelt.kernel/1"},
                                 {"arch", flags.arch},
                                 {"code_bytes", static_cast<int64_t>(compiled.code.size())},
                                 {"spill_bytes", spilled},
                                 {"kernels", std::move(kernels)}});
    return {};
  }
  for (const llvm::json::Value &kernel : kernels)
    print(joinText(kernel.getAsObject()->getString("entry")->str(), ": ",
                   *kernel.getAsObject()->getInteger("registers"), " registers, ", spilled,
                   " bytes spilled"));
  if (kernels.empty())
    print(joinText("PTX for ", flags.arch, ": registers are known when a driver translates it"));
  return {};
}

void addKernel(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command =
      line.add("kernel", "Compile the CUDA text of one dumped kernel alone; needs no GPU",
               [flags] { return compileKernel(*flags); });
  command.argument("text", flags->path, "The .cu file, as compile --dump-dir wrote it");
  command.text("--arch", flags->arch, "The architecture, or compute_80 for PTX (default: sm_90a)");
  command.text("--headers", flags->headers,
               "Folder of the device headers: the dump's include, changed or not (default: Smelt's "
               "own)");
  command.text("-o,--output", flags->output, "File for the machine code (default: none)");
  addJson(command, flags->json);
  command.footer("example:\n"
                 "  smelt compile model.onnx --dump-dir dump && cd dump/sm_90a\n"
                 "  smelt kernel 3_attention_95956a76.cu --headers ../include");
}

} // namespace smelt::tools
