#include "tools/smelt/dump_kernels.h"

#include "codegen/embedded_headers.h"
#include "codegen/nvrtc.h"
#include "codegen/output_file.h"
#include "compiler/folder.h"
#include "runtime/text.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/kernel_facts.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <thread>

namespace smelt::tools {

using codegen::ListedKernel;

Result<std::vector<ListedKernel>> generateKernels(Model &model, const std::string &architecture,
                                                  const codegen::Selection &selection) {
  auto kernels = codegen::generateKernels(model.module(), architecture, selection);
  if (kernels.isOk())
    return kernels;
  return model.diagnostics().asStatus(kernels.status().code(), kernels.status().message());
}

std::string textOf(const ListedKernel &kernel) {
  return joinText("// kernel ", llvm::join(kernel.numbers, ", "), ": ",
                  kernel.kernel.text.description, "\n", kernel.kernel.text.text);
}

std::string KernelDumps::pathOf(const std::string &architecture, const ListedKernel &kernel) const {
  return joinText(folder, "/", architecture, "/", kernel.numbers.front(), "_",
                  kernel.kernel.text.entry);
}

/// What compiles the dumped text at `path`, in its folder.
static std::string commandOf(const std::string &path, const std::string &architecture) {
  llvm::StringRef name = llvm::sys::path::filename(path);
  bool isPtx = codegen::Target::isPtx(architecture);
  return joinText("smelt kernel ", name.str(), ".cu --arch ", architecture,
                  " --headers ../include -o ", name.str(), isPtx ? ".ptx" : ".cubin");
}

static Status writeHeaders(const std::string &folder) {
  for (const codegen::EmbeddedHeader &header : codegen::embeddedHeaders()) {
    std::string path = joinText(folder, "/", header.name);
    SMELT_RETURN_IF_ERROR(createFolder(llvm::sys::path::parent_path(path).str()));
    SMELT_RETURN_IF_ERROR(codegen::writeText(header.text, path));
  }
  return {};
}

Status KernelDumps::writeTexts(Model &model, const std::vector<std::string> &architectures) const {
  SMELT_RETURN_IF_ERROR(writeHeaders(folder + "/include"));
  for (const std::string &architecture : architectures) {
    SMELT_RETURN_IF_ERROR(createFolder(folder + "/" + architecture));
    SMELT_ASSIGN_OR_RETURN(auto kernels, generateKernels(model, architecture, selection));
    for (const ListedKernel &each : kernels) {
      std::string path = pathOf(architecture, each), text = textOf(each);
      text.insert(text.find('\n') + 1, "// alone, here: " + commandOf(path, architecture) + "\n");
      SMELT_RETURN_IF_ERROR(codegen::writeText(text, path + ".cu"));
    }
  }
  return {};
}

/// "[ceildiv(batch * 17, 64), 1, 1] blocks of 128 threads".
static std::string launchText(const codegen::GeneratedKernel &kernel) {
  std::string grid;
  for (const Dim &extent : kernel.grid)
    grid += (grid.empty() ? "" : ", ") + extent.toString();
  return joinText("[", grid, "] blocks of ", kernel.block[0], " threads");
}

/// What a kernel became, a line each.
static std::string codeText(const codegen::GeneratedKernel &kernel,
                            const codegen::CompiledKernel &compiled,
                            const codegen::Target &target) {
  if (codegen::Target::isPtx(target.arch))
    return "code          PTX, which the driver translates: registers are known then\n";
  auto facts = factsOf(std::as_bytes(std::span(compiled.code)), kernel.text.entry, target,
                       kernel.block[0] * kernel.block[1] * kernel.block[2], kernel.sharedBytes);
  if (!facts)
    return "";
  const codegen::Occupancy &occupancy = facts->occupancy;
  return joinText("registers     ", facts->needs.registers, " of a thread\nspills        ",
                  compiled.spillBytes, " bytes stored and loaded, ", facts->localBytes,
                  " bytes of a thread's stack\nshared memory ", facts->needs.staticSharedBytes,
                  " bytes static, ", facts->needs.dynamicSharedBytes,
                  " bytes dynamic\noccupancy     ", occupancy.blocks,
                  occupancy.blocks == 1 ? " block" : " blocks", " on a multiprocessor, ",
                  numberText(100 * occupancy.threads, 0), " % of its threads, limited by ",
                  occupancy.limitedBy, "\n");
}

static std::string factsPage(const ListedKernel &kernel, const codegen::CompiledKernel &compiled,
                             const codegen::Target &target, const std::string &path) {
  std::string text = joinText(
      "kernel        ", llvm::join(kernel.numbers, ", "), ": ", kernel.kernel.name,
      "\ncomputes      ", kernel.kernel.text.description, "\nlaunch        ",
      launchText(kernel.kernel), "\n", codeText(kernel.kernel, compiled, target), "alone, here   ",
      commandOf(path, target.arch), "\nNVRTC's flags ", codegen::Nvrtc::flags(target.arch), "\n");
  for (const std::string &why : kernel.why)
    text += "\nwhy this tile: " + why;
  return text;
}

/// "compute_90a" of sm_90a.
static std::string virtualArchitecture(const std::string &architecture) {
  return "compute_" + llvm::StringRef(architecture).split('_').second.str();
}

/// PTX as a text.
static std::string withoutFinalZero(const std::string &code) {
  return llvm::StringRef(code).rtrim('\0').str();
}

/// In the order of `kernels`.
static Result<std::vector<codegen::CompiledKernel>>
compilePtx(const std::vector<ListedKernel> &kernels, const std::string &architecture) {
  auto nvrtc = codegen::Nvrtc::open(nvrtcPath());
  if (!nvrtc)
    return Status(StatusCode::kEnvironment, llvm::toString(nvrtc.takeError()));
  std::vector<codegen::KernelText> texts;
  texts.reserve(kernels.size());
  for (const ListedKernel &kernel : kernels)
    texts.push_back(kernel.kernel.text);
  ProgressLine line;
  auto compiled = codegen::compileKernels(
      **nvrtc, codegen::KernelCache(cacheDirectory()), texts, virtualArchitecture(architecture),
      std::max(1u, std::thread::hardware_concurrency()), [&](size_t done, size_t total) {
        line.show("compiling PTX", done, total);
        return true;
      });
  if (!compiled)
    return Status(StatusCode::kInternal, llvm::toString(compiled.takeError()));
  return std::move(*compiled);
}

Status KernelDumps::writeCodeFor(const std::string &architecture,
                                 const std::vector<ListedKernel> &kernels) const {
  setActivity("compiling PTX for the dumps of " + architecture);
  SMELT_ASSIGN_OR_RETURN(auto ptx, compilePtx(kernels, architecture));
  codegen::Target target = *codegen::Target::named(architecture);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const ListedKernel &kernel = kernels[i];
    const codegen::CompiledKernel &code = compiled.at(architecture).at(kernel.kernel.text.entry);
    std::string path = pathOf(architecture, kernel);
    if (!codegen::Target::isPtx(architecture))
      SMELT_RETURN_IF_ERROR(codegen::writeText(code.code, path + ".cubin"));
    SMELT_RETURN_IF_ERROR(codegen::writeText(withoutFinalZero(ptx[i].code), path + ".ptx"));
    SMELT_RETURN_IF_ERROR(codegen::writeText(factsPage(kernel, code, target, path), path + ".txt"));
  }
  return {};
}

Status KernelDumps::writeCode(Model &model, const std::vector<std::string> &architectures) const {
  for (const std::string &architecture : architectures) {
    SMELT_ASSIGN_OR_RETURN(auto kernels, generateKernels(model, architecture, selection));
    SMELT_RETURN_IF_ERROR(writeCodeFor(architecture, kernels));
  }
  return {};
}

} // namespace smelt::tools
