// What the kernels of a model take on one architecture, for commands that keep no plan.
#pragma once

#include "tools/smelt/kernel_facts.h"
#include "tools/smelt/model_flags.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// A kernel launch of a compiled model.
struct LaunchCode {
  size_t kernel;      ///< its number
  std::string number; ///< plan::launchNumber()
  std::string name;
  std::string
      sizes; ///< at which it runs, "33 to 256 rows"; "" at all that no launch before it takes
  std::optional<KernelFacts> facts; ///< nothing for copies, sets and PTX
};

/// Compiles a model after Model::fuse(), for one architecture. Fails as build() does.
Result<std::vector<LaunchCode>> compileAndMeasureCode(Model &fused, const BuildFlags &flags);

/// The launches, those of layers that are alike once, to stdout.
void printLaunchCode(const std::vector<LaunchCode> &launches);

/// Adds "launches" to each kernel of the list, which has them at their numbers.
void addLaunchCode(llvm::json::Array &kernels, const std::vector<LaunchCode> &launches);

} // namespace smelt::tools
