// The kernels of a model in the folder that --dump-dir names, each to be read and compiled alone.
//
//   include/             the device headers, as the kernels include them
//   ARCH/N_ENTRY.cu      the CUDA text, with the command that compiles it; N is the number of the launch that runs it first
//   ARCH/N_ENTRY.txt     what it became: registers, shared memory, spills, occupancy; and why it has its tiling
//   ARCH/N_ENTRY.cubin   its machine code, as in the plan
//   ARCH/N_ENTRY.ptx     its PTX
//
// Code and what follows from it are there where a plan was made.
#pragma once

#include "codegen/compile.h"
#include "compiler/model.h"

#include <map>
#include <string>

namespace smelt::tools {

/// Kernels for one architecture. On failure the messages of diagnostics are in the status.
Result<std::vector<codegen::ListedKernel>> generateKernels(compiler::Model &model,
                                                           const std::string &architecture,
                                                           const codegen::Selection &selection);

/// The CUDA text, under a comment of the launches that run it.
std::string textOf(const codegen::ListedKernel &kernel);

class KernelDumps {
public:
  KernelDumps(std::string folder, codegen::Selection selection)
      : folder(std::move(folder)), selection(std::move(selection)) {}

  /// Notes what a kernel became.
  void add(const std::string &architecture, const std::string &entry,
           const codegen::CompiledKernel &kernel) {
    compiled[architecture][entry] = kernel;
  }

  /// Writes the headers and the CUDA text of every kernel.
  Status writeTexts(compiler::Model &model, const std::vector<std::string> &architectures) const;
  /// Writes what add() was told of, PTX compiled for it, facts and reasons.
  Status writeCode(compiler::Model &model, const std::vector<std::string> &architectures) const;

private:
  Status writeCodeFor(const std::string &architecture,
                      const std::vector<codegen::ListedKernel> &kernels) const;
  std::string pathOf(const std::string &architecture, const codegen::ListedKernel &kernel) const;

  std::string folder;
  codegen::Selection selection;
  std::map<std::string, std::map<std::string, codegen::CompiledKernel>> compiled;
};

} // namespace smelt::tools
