// What the texts of all kernels have in common: parameters, names, traffic.
//
// The parameters of a kernel are its fusion's inputs, then its outputs (device pointers), then the
// size symbols that the text uses, each an int.
#pragma once

#include "codegen/cuda_text.h"
#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel's name in the text until finishKernel() puts the label and a hash of the text there.
inline constexpr llvm::StringRef kEntryName = "KERNEL_ENTRY";

/// The text's first line, which includes the template "pointwise".
std::string includeTemplate(llvm::StringRef name);

/// "pointwise+add+gelu": the kind and the ops of a region that compute something.
std::string fusionLabel(FusionOp fusion);

/// Members of a Problem: "  const half *in0; // [batch, seq, 768]" and so on, a line each.
std::string problemMembers(FusionOp fusion, llvm::ArrayRef<std::string> sizes);
/// "const smelt::half *in0, smelt::half *out0, int size_seq", the parameters of an entry.
std::string entryParameters(FusionOp fusion, llvm::ArrayRef<std::string> sizes);
/// "in0, out0, size_seq".
std::string entryArguments(FusionOp fusion, llvm::ArrayRef<std::string> sizes);

/// What kernels that go either way have behind these: a member, a parameter and an argument for KernelArgument::direction().
inline constexpr llvm::StringLiteral kDirectionMember = "int reversed;\n",
                                     kDirectionParameter = ", int reversed",
                                     kDirectionArgument = ", reversed";

/// `text` as far as it decides the machine code: without line comments, and with sizes numbered as
/// they occur ("size_0"; no other name begins so, and different kernels stay different). Equal
/// kernels of different layers, and of different exports of a model, differ in nothing else.
std::string canonicalText(llvm::StringRef text);

/// Fills in what follows from the fusion and its text: text, name, arguments, bytes and flops.
/// `config` is the kernel's configuration, for people. Flops beyond those of the elementwise ops
/// are the caller's to add.
void finishKernel(GeneratedKernel &kernel, FusionOp fusion, std::string text,
                  llvm::StringRef config, const std::set<std::string> &sizes);

/// Elements of the fusion's input that it reads, each counted once.
Dim elementsRead(FusionOp fusion, unsigned input);
/// One operation for each element of each elementwise op.
Dim elementwiseFlops(FusionOp fusion);

} // namespace smelt::codegen
