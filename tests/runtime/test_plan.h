// Hand-made plans for the runtime's tests.
#pragma once

#include "codegen/write_plan.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace smelt::test {

/// Adds dims to a plan's metadata and returns their indices.
class DimBuilder {
public:
  explicit DimBuilder(plan::MetadataT &metadata) : metadata(metadata) {}

  uint32_t constant(int64_t value);
  /// The symbol of this name, added when it is new.
  uint32_t symbol(const std::string &name);
  uint32_t apply(plan::DimOpcode opcode, uint32_t left, uint32_t right);

private:
  uint32_t add(std::vector<plan::DimInstruction> program);

  plan::MetadataT &metadata;
};

/// The only launch of the only variant of a program's step, and the kernel that it launches.
plan::LaunchT &launchOf(plan::ProgramT &program, size_t step);
plan::KernelNodeT &kernelOf(plan::ProgramT &program, size_t step);

/// An ELF file without sections, followed by `text`: what a plan's reader takes for a cubin.
std::string minimalCubin(const std::string &text);

/// An ELF file whose attributes say that the kernel `entry` takes so many parameters of 8 bytes.
std::string cubinWithParameters(const std::string &entry, size_t count);

/// PTX for `target` ("sm_80") and a final NUL: the kernel add with so many parameters, of which the
/// last has 4 bytes and the others 8, and scale with four like them.
std::string ptxOfAddAndScale(const std::string &target, size_t addParameters = 4);

/// out = (x + y) * gain, over float tensors [batch, seq], in two kernels:
///   add(x, y, sum, int n)         sum lies in the arena
///   scale(sum, gain, out, int n)  gain is the first of the plan's weights
/// for sm_90a and sm_80. A second weight of 80 KiB lets tests cut and damage a file of some size.
struct TestPlan {
  TestPlan();

  plan::ProgramT &program(size_t index) { return *contents.metadata.programs[index]; }
  /// Turns the program into one of PTX for 8.0 and later.
  void usePtx(size_t program, std::string text);

  codegen::PlanContents contents;
  std::string cubin = minimalCubin("add and scale");
  std::string source = "// add and scale\n";
  std::string ptx;
  std::array<float, 1> gain = {3.0f};
  std::vector<float> table;
};

/// The bytes of the file that writePlan makes of `contents`.
std::vector<std::byte> planBytes(codegen::PlanContents &contents);

/// An empty folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::vector<std::string> names() const;

private:
  std::filesystem::path folder;
};

std::vector<std::byte> readBytes(const std::string &path);

} // namespace smelt::test
